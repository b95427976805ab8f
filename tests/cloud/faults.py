"""The rehearsal's cloud as tests have it: with faults that they inject, and an operator who is held to a policy.

`local_cloud` has the cloud's process change moto further, by this module's functions and those of gate.py, and reads what is in force
from files in the cloud's folder.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from moto.core.responses import ActionResult
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models import EC2Backend
from moto.ec2.responses import EC2Response

from provisioning.testbeds.aws.rehearsal.cloud import local_cloud as real
from provisioning.testbeds.aws.rehearsal.cloud.alarm_clock import AlarmClock
from provisioning.testbeds.aws.rehearsal.cloud.capacity_reservations import reservations, shown
from provisioning.testbeds.aws.rehearsal.cloud.emr_steps import ClusterLife
from provisioning.testbeds.aws.rehearsal.cloud.hosts import HOST_TAG, Hosts
from provisioning.testbeds.aws.rehearsal.cloud.local_cloud import state_dir
from provisioning.testbeds.aws.rehearsal.cloud.moto_patches import PATCHES_VARIABLE, instead_of

PATCHES = "tests.cloud.faults tests.cloud.gate"
FAULTS_FILE = "faults.json"
LAUNCHING = ".launching"
POLICY_FILE = "operator-policy.json"
LOOK_EVERY_S = 0.05
_lock = threading.Lock()


@dataclass(frozen=True)
class Faults:
    """What the cloud refuses, delays or does badly from now on, by host name (the `host` tag of the instance).

    `ending_s` is how long what was told to end takes: an instance shuts down, a cluster terminates while its machines still run.
    `disk_bytes_per_s` makes the disks of instances launched from now on that slow, really, where instances are hosts.
    `full_zones` have room for nothing but what is reserved there already.
    `images_age_days`: how long ago all images were made, whose deprecation is reckoned from that.
    `not_offered`: zone -> the instance types that it doesn't have.
    `clock_ahead_s`: how far the clock by which schedules fire is ahead of this machine's.
    `throttled`: action (ec2:DescribeVpcs) -> how many of the operator's next calls of it are refused as too many.
    `credentials_expired`: the operator's are temporary, and have come to their end.
    """

    no_capacity: tuple[str, ...] = ()
    full_zones: tuple[str, ...] = ()
    quota_exceeded: tuple[str, ...] = ()
    launch_delay_s: Mapping[str, float] = field(default_factory=dict)
    termination_delay_s: float = 0.0
    ending_s: float = 0.0
    disk_bytes_per_s: Mapping[str, int] = field(default_factory=dict)
    images_age_days: float = 0.0
    not_offered: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    clock_ahead_s: float = 0.0
    throttled: Mapping[str, int] = field(default_factory=dict)
    credentials_expired: bool = False


class Cloud(real.Cloud):
    """A running cloud that does what a test wants."""

    def inject(self, faults: Faults) -> None:
        """Replaces the faults in force; `Faults()` ends them all."""
        self._put(FAULTS_FILE, json.dumps(asdict(faults)))

    def hold_operator_to(self, policy: str) -> None:
        """From now on the operator may do what this IAM policy allows and nothing else; before, everything is allowed."""
        self._put(POLICY_FILE, policy)

    def launches_slowly(self, host: str) -> bool:
        """Whether the launch of a host with a delay has been asked for."""
        return (self.state_dir / f"{host}{LAUNCHING}").exists()

    def _put(self, name: str, text: str) -> None:
        partial = self.state_dir / f"{name}.part"
        partial.write_text(text)
        partial.replace(self.state_dir / name)


@contextlib.contextmanager
def local_cloud(folder: Path, *, hosts: bool) -> Iterator[Cloud]:
    """A fresh cloud, as the rehearsal's."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv(PATCHES_VARIABLE, PATCHES)
        with real.local_cloud(folder, hosts=hosts) as started:
            yield Cloud(started.endpoint, started.region, started.environment, started.state_dir)


def injected() -> Faults:
    """The faults in force in the cloud whose process this is."""
    recorded = put_there(FAULTS_FILE)
    return Faults(**json.loads(recorded)) if recorded else Faults()


def put_there(name: str) -> str | None:
    """What a test has put into the cloud's folder."""
    try:
        return (state_dir() / name).read_text()
    except FileNotFoundError:
        return None


@instead_of(EC2Response)
def run_instances(moto: Any, self: Any) -> Any:
    """Refused, or late."""
    kind, zone = self._get_param("InstanceType"), _zone(self)
    if not self._get_bool_param("DryRun", False):  # which says nothing of what could be launched
        _require_offered(self.ec2_backend, kind, zone)
    _refuse_or_delay(self._parse_tag_specification().get("instance", {}).get(HOST_TAG, ""))
    if zone not in injected().full_zones:
        return moto(self)
    with _lock:  # a place is free for one launch
        repeated = self._get_param("ClientToken") in self.ec2_backend.__dict__.get("launches", {})
        group = self._get_param("Placement.GroupName")
        if not repeated and not (group and _free_places(self.ec2_backend, (group, kind, zone))):
            raise _no_capacity()
        return moto(self)


def _zone(self: Any) -> str:
    """Where a launch would be: in its subnet's zone, or in the one that it names."""
    interfaces = self._get_param("NetworkInterfaces", [])
    subnet = self._get_param("SubnetId") or next((each.get("SubnetId") for each in interfaces), None)
    if subnet:
        return str(self.ec2_backend.get_subnet(subnet).availability_zone)
    return str(self._get_param("Placement.AvailabilityZone") or "")


def _free_places(backend: Any, wanted: tuple[str, str, str]) -> int:
    """How many hosts of a type can still be launched into what is reserved for them in a group and zone."""
    free = 0
    for each in (shown(backend, reservation) for reservation in reservations(backend).values()):
        group = each["PlacementGroupArn"].rpartition("/")[2]
        if (group, each["InstanceType"], each["AvailabilityZone"]) == wanted:
            free += each["AvailableInstanceCount"]
    return free


def _require_offered(ec2: Any, kind: str, zone: str) -> None:
    """Refuses a launch of a type in a zone that lacks it, and names the zones that have it, as EC2 does."""
    lacking = injected().not_offered
    if kind not in lacking.get(zone, ()):
        return
    offered = ec2.describe_instance_type_offerings("availability-zone", {"instance-type": [kind]})
    zones = sorted(each["Location"] for each in offered if kind not in lacking.get(each["Location"], ()))
    raise EC2ClientError(
        "Unsupported",
        f"Your requested instance type ({kind}) is not supported in your requested Availability Zone ({zone}). Please retry your "
        f"request by not specifying an Availability Zone or choosing {', '.join(zones)}.",
    )


def _refuse_or_delay(host: str) -> None:
    faults = injected()
    if host in faults.launch_delay_s:
        (state_dir() / f"{host}{LAUNCHING}").touch()
        _delay(lambda: injected().launch_delay_s.get(host, 0.0))
    if host in faults.no_capacity:
        raise _no_capacity()
    if host in faults.quota_exceeded:
        raise EC2ClientError(
            "VcpuLimitExceeded",
            "You have requested more vCPU capacity than your current vCPU limit of 32 allows for the instance bucket "
            "that the specified instance type belongs to.",
        )


def _no_capacity() -> EC2ClientError:
    return EC2ClientError(
        "InsufficientInstanceCapacity",
        "We currently do not have sufficient capacity in the Availability Zone you requested. Our system will be "
        "working on provisioning additional capacity.",
    )


@instead_of(EC2Response)
def create_capacity_reservation(moto: Any, self: Any) -> ActionResult:
    """Not in a zone that is full."""
    if self._get_param("AvailabilityZone") in injected().full_zones:
        raise _no_capacity()
    made: ActionResult = moto(self)
    return made


@instead_of(EC2Response)
def terminate_instances(moto: Any, self: Any) -> ActionResult:
    """What moto has ended at once is shutting down for a while, as on EC2."""
    _delay(lambda: injected().termination_delay_s)
    result: ActionResult = moto(self)
    if injected().ending_s:
        instances = self.ec2_backend.get_multi_instances_by_id(self._get_param("InstanceIds", []))
        _set_state(instances, "shutting-down", 32)
        threading.Thread(target=_end_later, args=[instances], name="shutting-down", daemon=True).start()
    return result


def _end_later(instances: Sequence[Any]) -> None:
    _delay(lambda: injected().ending_s)
    _set_state(instances, "terminated", 48)


def _set_state(instances: Sequence[Any], name: str, code: int) -> None:
    for instance in instances:
        instance._state.name, instance._state.code = name, code


def _delay(in_force_s: Callable[[], float]) -> None:
    """For as long as the fault says, or until it is withdrawn: a test that has seen what it waits for needn't be fast."""
    began_s = time.monotonic()
    while time.monotonic() - began_s < in_force_s():
        time.sleep(LOOK_EVERY_S)


@instead_of(EC2Response)
def describe_instance_type_offerings(moto: Any, self: Any) -> ActionResult:
    """A zone may lack a type."""
    lacking, every = injected().not_offered, moto(self).result["InstanceTypeOfferings"]
    kept = [each for each in every if each["InstanceType"] not in lacking.get(each["Location"], ())]
    return ActionResult({"InstanceTypeOfferings": kept})


@instead_of(EC2Backend)
def describe_images(moto: Any, self: Any, *asked: Any, **named: Any) -> Any:
    """They were made when the cloud was, or as long ago as a test says."""
    age = timedelta(days=injected().images_age_days)
    found = moto(self, *asked, **named)
    for image in found:
        image.made = getattr(image, "made", image.creation_date)
        image.creation_date = image.made - age
    return found


@instead_of(ClusterLife)
def end_machines(moto: Any, self: Any) -> None:
    """They run on for a while, and so does the bill."""
    _delay(lambda: injected().ending_s)
    moto(self)


@instead_of(AlarmClock)
def now(moto: Any, self: Any) -> datetime:
    """Later than it is."""
    moment: datetime = moto(self)
    return moment + timedelta(seconds=injected().clock_ahead_s)


@instead_of(Hosts)
def disk_bytes_per_s(moto: Any, self: Any, host: str) -> int:
    """Slow disks for the hosts that a test names."""
    fastest: int = moto(self, host)
    return injected().disk_bytes_per_s.get(host, fastest)
