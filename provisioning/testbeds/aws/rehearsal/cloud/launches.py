"""RunInstances as EC2 does it where moto differs: client tokens, placement groups, and refusals that a test asks for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.exceptions import EC2ClientError, InvalidAMIIdError
from moto.ec2.responses import EC2Response

from provisioning.testbeds.aws.rehearsal.cloud.capacity_reservations import free_places
from provisioning.testbeds.aws.rehearsal.cloud.local_cloud import LAUNCHING, injected
from provisioning.testbeds.aws.rehearsal.cloud.offerings import require_offered
from provisioning.testbeds.aws.rehearsal.cloud.placement_groups import require_group

HOST_TAG = "host"
LOOK_EVERY_S = 0.05
_lock = threading.Lock()
_moto_run_instances, _moto_terminate_instances = EC2Response.run_instances, EC2Response.terminate_instances


def install(state_dir: Path, launched: Callable[[Any], None] | None) -> None:
    """Puts this RunInstances in the place of moto's. `launched` is told of every new instance before the caller is."""

    def run_instances(self: Any) -> ActionResult:
        group, kind, zone = self._get_param("Placement.GroupName"), self._get_param("InstanceType"), _zone(self)
        if group:
            require_group(self.ec2_backend, group)
        if self._get_param("ImageId") in self.ec2_backend.deleted_amis:
            raise InvalidAMIIdError([self._get_param("ImageId")])
        if not self._get_bool_param("DryRun", False):  # which says nothing of what could be launched
            require_offered(state_dir, self.ec2_backend, kind, zone)
        _apply_faults(state_dir, self._parse_tag_specification().get("instance", {}).get(HOST_TAG, ""))
        with _lock:  # moto's models aren't made for calls at the same time
            token, launches = self._get_param("ClientToken"), self.ec2_backend.__dict__.setdefault("launches", {})
            if token in launches:
                repeated: ActionResult = launches[token]
                return repeated
            if not (group and free_places(self.ec2_backend, group=group, kind=kind, zone=zone)):
                require_room(state_dir, zone)
            result = _moto_run_instances(self)
            reservation: Any = result.result
            for instance in reservation.instances:
                instance.placement.group_name = group or ""
            if token:
                launches[token] = result
        if launched:
            for instance in reservation.instances:
                launched(instance)
        return result

    def terminate_instances(self: Any) -> ActionResult:
        _delay(lambda: injected(state_dir).termination_delay_s)
        result = _moto_terminate_instances(self)
        if injected(state_dir).ending_s:
            ids = self._get_param("InstanceIds", [])
            _shut_down_slowly(self.ec2_backend.get_multi_instances_by_id(ids), lambda: injected(state_dir).ending_s)
        return result

    EC2Response.terminate_instances = terminate_instances  # type: ignore[method-assign]
    EC2Response.run_instances = run_instances  # type: ignore[method-assign]


def require_room(state_dir: Path, zone: str) -> None:
    """Refuses a zone that a test has made full, as EC2 does."""
    if zone in injected(state_dir).full_zones:
        raise _no_capacity()


def _zone(self: Any) -> str:
    """Where a launch would be: in its subnet's zone, or in the one that it names."""
    interfaces = self._get_param("NetworkInterfaces", [])
    subnet = self._get_param("SubnetId") or next((each.get("SubnetId") for each in interfaces), None)
    if subnet:
        return str(self.ec2_backend.get_subnet(subnet).availability_zone)
    return str(self._get_param("Placement.AvailabilityZone") or "")


def _no_capacity() -> EC2ClientError:
    return EC2ClientError(
        "InsufficientInstanceCapacity",
        "We currently do not have sufficient capacity in the Availability Zone you requested. Our system will be "
        "working on provisioning additional capacity.",
    )


def _shut_down_slowly(instances: Sequence[Any], ending_s: Callable[[], float]) -> None:
    """What moto has ended at once is shutting down for a while, as on EC2."""

    def end() -> None:
        _delay(ending_s)
        for instance in instances:
            instance._state.name, instance._state.code = "terminated", 48

    for instance in instances:
        instance._state.name, instance._state.code = "shutting-down", 32
    threading.Thread(target=end, name="shutting-down", daemon=True).start()


def _delay(in_force_s: Callable[[], float]) -> None:
    """For as long as the fault says, or until it is withdrawn: a test that has seen what it waits for needn't be fast."""
    began_s = time.monotonic()
    while time.monotonic() - began_s < in_force_s():
        time.sleep(LOOK_EVERY_S)


def _apply_faults(state_dir: Path, host: str) -> None:
    faults = injected(state_dir)
    if host in faults.launch_delay_s:
        (state_dir / f"{host}{LAUNCHING}").touch()
        _delay(lambda: injected(state_dir).launch_delay_s.get(host, 0.0))
    if host in faults.no_capacity:
        raise _no_capacity()
    if host in faults.quota_exceeded:
        raise EC2ClientError(
            "VcpuLimitExceeded",
            "You have requested more vCPU capacity than your current vCPU limit of 32 allows for the instance bucket "
            "that the specified instance type belongs to.",
        )
