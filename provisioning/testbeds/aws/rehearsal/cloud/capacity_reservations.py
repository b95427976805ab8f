"""Capacity reservations, which moto's EC2 lacks: create, describe, modify, cancel; in cluster placement groups, open, on demand.

https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/cr-cpg.html. A host that is launched later takes a place in a reservation that
matches it; which hosts run in one is reckoned anew whenever it is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models.instance_types import INSTANCE_TYPES
from moto.ec2.responses import EC2Response

from provisioning.testbeds.aws.rehearsal.cloud.moto_patches import added_to
from provisioning.testbeds.aws.rehearsal.cloud.placement_groups import (
    HOLDERS,
    arn,
    described,
    groups,
    members,
    new_id,
    tagged,
)

RESOURCE, PREFIX, ID = "capacity-reservation", "cr", "CapacityReservationId"
EC2_TYPES = {RESOURCE: PREFIX}
ACTIVE, CANCELLED = "active", "cancelled"


def reservations(backend: Any) -> dict[str, dict[str, Any]]:
    """The reservations of one account and region, by id, cancelled ones too."""
    found: dict[str, dict[str, Any]] = backend.__dict__.setdefault("capacity_reservations", {})
    return found


@added_to(EC2Response)
def create_capacity_reservation(self: Any) -> ActionResult:
    """CreateCapacityReservation: all of it or nothing."""
    names = ("InstanceType", "AvailabilityZone", "PlacementGroupArn", "InstancePlatform", "InstanceMatchCriteria")
    asked = {name: self._get_param(name) for name in names}
    kind, zone, group_arn = asked["InstanceType"], asked["AvailabilityZone"], asked["PlacementGroupArn"]
    if asked["InstanceMatchCriteria"] != "open" or not group_arn:
        raise NotImplementedError("the local cloud has open reservations in placement groups, and no others")
    group = next((each for each in groups(self.ec2_backend).values() if each["GroupArn"] == group_arn), None)
    if group is None:
        raise EC2ClientError("InvalidPlacementGroup.Unknown", f"The Placement Group '{group_arn}' is unknown.")
    if "cluster" not in INSTANCE_TYPES[kind]["PlacementGroupInfo"]["SupportedStrategies"]:
        raise EC2ClientError("InvalidParameterCombination", f"{kind} isn't supported in a cluster placement group.")
    if set(_zones(self.ec2_backend, group["GroupName"])) - {zone}:
        raise EC2ClientError("InvalidParameterValue", f"The placement group {group_arn} isn't in {zone}.")
    made = asked | {
        ID: new_id(PREFIX),
        "OwnerId": self.current_account,
        "Tenancy": "default",
        "State": ACTIVE,
        "CreateDate": datetime.now(UTC),
        **_changeable(self),
    }
    made["CapacityReservationArn"] = arn(self, RESOURCE, made[ID])
    reservations(self.ec2_backend)[made[ID]] = made
    return ActionResult({"CapacityReservation": tagged(self, shown(self.ec2_backend, made), RESOURCE, ID)})


@added_to(EC2Response)
def describe_capacity_reservations(self: Any) -> ActionResult:
    """DescribeCapacityReservations: by id, by tag, by state."""
    chosen = [_require(self.ec2_backend, each) for each in self._get_param(f"{ID}s", [])]
    found = [shown(self.ec2_backend, each) for each in chosen or reservations(self.ec2_backend).values()]
    return ActionResult({"CapacityReservations": described(self, found, ID, {"state": "State"})})


@added_to(EC2Response)
def modify_capacity_reservation(self: Any) -> ActionResult:
    """ModifyCapacityReservation: how many, and until when."""
    _require(self.ec2_backend, self._get_param(ID), active=True).update(_changeable(self))
    return ActionResult({"Return": True})


@added_to(EC2Response)
def cancel_capacity_reservation(self: Any) -> ActionResult:
    """CancelCapacityReservation: hosts that run in it run on."""
    _require(self.ec2_backend, self._get_param(ID), active=True)["State"] = CANCELLED
    return ActionResult({"Return": True})


def _changeable(self: Any) -> dict[str, Any]:
    """What a call says of number and end."""
    count, ends, said = (self._get_param(each) for each in ("InstanceCount", "EndDateType", "EndDate"))
    until = datetime.fromisoformat(str(said)).replace(tzinfo=UTC) if said else None
    if (ends == "limited") != bool(until):
        raise EC2ClientError(
            "InvalidParameterCombination", "EndDate goes with an EndDateType of limited, and with no other."
        )
    if until and until <= datetime.now(UTC):
        raise EC2ClientError("InvalidParameterValue", f"EndDate {until} is in the past.")
    return {"TotalInstanceCount": int(count), "EndDateType": ends or "unlimited", "EndDate": until}


def _require(backend: Any, identifier: str, *, active: bool = False) -> dict[str, Any]:
    found = reservations(backend).get(identifier)
    if found is None:
        raise EC2ClientError("InvalidCapacityReservationId.NotFound", f"The reservation {identifier} doesn't exist.")
    if active and found["State"] != ACTIVE:
        raise EC2ClientError("InvalidCapacityReservationState", f"The reservation is {found['State']}.")
    return found


def _active(backend: Any, group: str) -> list[dict[str, Any]]:
    in_group = [each for each in reservations(backend).values() if _group(each) == group]
    return [each for each in in_group if each["State"] == ACTIVE]


def _group(reservation: dict[str, Any]) -> str:
    """The name of the placement group that it is in, by which its ARN ends."""
    return str(reservation["PlacementGroupArn"].rpartition("/")[2])


def _held_by(backend: Any, group: str) -> list[str]:
    """What keeps a group from being deleted."""
    return [each[ID] for each in _active(backend, group)]


HOLDERS.append(_held_by)


def _zones(backend: Any, group: str) -> Iterator[str]:
    """Where the group stands: no more than one zone."""
    yield from (instance.placement.zone for instance in _running(backend, group))
    yield from (each["AvailabilityZone"] for each in _active(backend, group))


def _running(backend: Any, group: str) -> list[Any]:
    return [each for each in members(backend, group) if each.state != "shutting-down"]


def _available(backend: Any, reservation: dict[str, Any]) -> int:
    kinds = [instance.instance_type for instance in _running(backend, _group(reservation))]
    return max(0, int(reservation["TotalInstanceCount"]) - kinds.count(reservation["InstanceType"]))


def shown(backend: Any, reservation: dict[str, Any]) -> dict[str, Any]:
    """With the places that are free: none in one that is cancelled."""
    active = reservation["State"] == ACTIVE
    return {**reservation, "AvailableInstanceCount": _available(backend, reservation) if active else 0}
