"""RunInstances as EC2 does it where moto differs: client tokens, placement groups, and refusals that a test asks for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.exceptions import EC2ClientError, InvalidAMIIdError
from moto.ec2.models.instances import Instance
from moto.ec2.responses import EC2Response

from provisioning.testbeds.aws.rehearsal.cloud.capacity_reservations import free_places, no_capacity, require_room
from provisioning.testbeds.aws.rehearsal.cloud.corrections import require_offered
from provisioning.testbeds.aws.rehearsal.cloud.local_cloud import LAUNCHING, injected, state_dir
from provisioning.testbeds.aws.rehearsal.cloud.moto_patches import instead_of
from provisioning.testbeds.aws.rehearsal.cloud.placement_groups import require_group

HOST_TAG = "host"
LOOK_EVERY_S = 0.05
# told of every new instance before the caller is, and of every one that ends or stops, by id, before it does
LAUNCHED: list[Callable[[Any], None]] = []
ENDING: list[Callable[[str], None]] = []
_lock = threading.Lock()


@instead_of(EC2Response)
def run_instances(moto: Any, self: Any) -> ActionResult:
    """A repeated client token launches nothing more; places that are reserved are there even in a full zone."""
    group, kind, zone = self._get_param("Placement.GroupName"), self._get_param("InstanceType"), _zone(self)
    if group:
        require_group(self.ec2_backend, group)
    if self._get_param("ImageId") in self.ec2_backend.deleted_amis:
        raise InvalidAMIIdError([self._get_param("ImageId")])
    if not self._get_bool_param("DryRun", False):  # which says nothing of what could be launched
        require_offered(self.ec2_backend, kind, zone)
    _apply_faults(self._parse_tag_specification().get("instance", {}).get(HOST_TAG, ""))
    with _lock:  # moto's models aren't made for calls at the same time
        token, launches = self._get_param("ClientToken"), self.ec2_backend.__dict__.setdefault("launches", {})
        if token in launches:
            repeated: ActionResult = launches[token]
            return repeated
        if not (group and free_places(self.ec2_backend, group=group, kind=kind, zone=zone)):
            require_room(zone)
        result: Any = moto(self)
        for instance in result.result.instances:
            instance.placement.group_name = group or ""
        if token:
            launches[token] = result
    for instance in result.result.instances:
        for tell in LAUNCHED:
            tell(instance)
    launched: ActionResult = result
    return launched


@instead_of(EC2Response)
def terminate_instances(moto: Any, self: Any) -> ActionResult:
    """What moto has ended at once is shutting down for a while, as on EC2."""
    delay(lambda: injected().termination_delay_s)
    result: ActionResult = moto(self)
    if injected().ending_s:
        instances = self.ec2_backend.get_multi_instances_by_id(self._get_param("InstanceIds", []))
        _set_state(instances, "shutting-down", 32)
        threading.Thread(target=_end_later, args=[instances], name="shutting-down", daemon=True).start()
    return result


@instead_of(Instance)
def terminate(moto: Any, self: Any) -> Any:
    """Its host ends with it."""
    for tell in ENDING:
        tell(self.id)
    return moto(self)


@instead_of(Instance)
def stop(moto: Any, self: Any) -> Any:
    """Its host ends then too."""
    for tell in ENDING:
        tell(self.id)
    return moto(self)


def delay(in_force_s: Callable[[], float]) -> None:
    """For as long as the fault says, or until it is withdrawn: a test that has seen what it waits for needn't be fast."""
    began_s = time.monotonic()
    while time.monotonic() - began_s < in_force_s():
        time.sleep(LOOK_EVERY_S)


def _end_later(instances: Sequence[Any]) -> None:
    delay(lambda: injected().ending_s)
    _set_state(instances, "terminated", 48)


def _set_state(instances: Sequence[Any], name: str, code: int) -> None:
    for instance in instances:
        instance._state.name, instance._state.code = name, code


def _zone(self: Any) -> str:
    """Where a launch would be: in its subnet's zone, or in the one that it names."""
    interfaces = self._get_param("NetworkInterfaces", [])
    subnet = self._get_param("SubnetId") or next((each.get("SubnetId") for each in interfaces), None)
    if subnet:
        return str(self.ec2_backend.get_subnet(subnet).availability_zone)
    return str(self._get_param("Placement.AvailabilityZone") or "")


def _apply_faults(host: str) -> None:
    faults = injected()
    if host in faults.launch_delay_s:
        (state_dir() / f"{host}{LAUNCHING}").touch()
        delay(lambda: injected().launch_delay_s.get(host, 0.0))
    if host in faults.no_capacity:
        raise no_capacity()
    if host in faults.quota_exceeded:
        raise EC2ClientError(
            "VcpuLimitExceeded",
            "You have requested more vCPU capacity than your current vCPU limit of 32 allows for the instance bucket "
            "that the specified instance type belongs to.",
        )
