"""Capacity reservations, which moto's EC2 lacks: create, describe, modify, cancel; in cluster placement groups, open, on demand.

https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/cr-cpg.html. A host that is launched later takes a place in a reservation that
matches it; which hosts run in one is reckoned anew whenever it is asked.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models.instance_types import INSTANCE_TYPES
from moto.ec2.responses import EC2Response
from moto.ec2.utils import EC2_PREFIX_TO_RESOURCE, EC2_RESOURCE_TO_PREFIX

from provisioning.testbeds.aws.rehearsal.cloud.placement_groups import HOLDERS, groups, matches, with_tags

RESOURCE, PREFIX = "capacity-reservation", "cr"
ACTIVE, CANCELLED = "active", "cancelled"
# zone and type of what is asked for; raises where there is no room
RequireRoom = Callable[[str, str], None]


def install(require_room: RequireRoom) -> None:
    """Teaches moto's EC2 the calls. `require_room` refuses what a test says that there is no room for."""

    def create(self: Any) -> ActionResult:
        return create_capacity_reservation(self, require_room)

    EC2Response.create_capacity_reservation = create  # type: ignore[attr-defined]
    for action in (describe_capacity_reservations, modify_capacity_reservation, cancel_capacity_reservation):
        setattr(EC2Response, action.__name__, action)
    EC2_RESOURCE_TO_PREFIX[RESOURCE], EC2_PREFIX_TO_RESOURCE[PREFIX] = PREFIX, RESOURCE
    if _held_by not in HOLDERS:
        HOLDERS.append(_held_by)


def reservations(backend: Any) -> dict[str, dict[str, Any]]:
    """The reservations of one account and region, by id, cancelled ones too."""
    found: dict[str, dict[str, Any]] = backend.__dict__.setdefault("capacity_reservations", {})
    return found


def free_places(backend: Any, *, group: str, kind: str, zone: str) -> int:
    """How many hosts of a type can still be launched into what is reserved for them."""
    return sum(
        _available(backend, each)
        for each in _active(backend, group)
        if (each["InstanceType"], each["AvailabilityZone"]) == (kind, zone)
    )


def create_capacity_reservation(self: Any, require_room: RequireRoom) -> ActionResult:
    """CreateCapacityReservation: all of it or nothing."""
    kind, zone, arn = (self._get_param(each) for each in ("InstanceType", "AvailabilityZone", "PlacementGroupArn"))
    if self._get_param("InstanceMatchCriteria") != "open" or not arn:
        raise NotImplementedError("the local cloud has open reservations in placement groups, and no others")
    group = next((each for each in groups(self.ec2_backend).values() if each["GroupArn"] == arn), None)
    if group is None:
        raise _refused("InvalidPlacementGroup.Unknown", f"The Placement Group '{arn}' is unknown.")
    if "cluster" not in INSTANCE_TYPES[kind]["PlacementGroupInfo"]["SupportedStrategies"]:
        raise _refused("InvalidParameterCombination", f"{kind} isn't supported in a cluster placement group.")
    if set(_zones(self.ec2_backend, group["GroupName"])) - {zone}:
        raise _refused("InvalidParameterValue", f"The placement group {arn} isn't in {zone}.")
    require_room(zone, kind)
    made = {
        "CapacityReservationId": f"{PREFIX}-{secrets.token_hex(9)[1:]}",
        "OwnerId": self.current_account,
        "InstanceType": kind,
        "InstancePlatform": self._get_param("InstancePlatform"),
        "AvailabilityZone": zone,
        "PlacementGroupArn": arn,
        "InstanceMatchCriteria": "open",
        "Tenancy": "default",
        "State": ACTIVE,
        "CreateDate": datetime.now(UTC),
        **_changeable(self),
    }
    made["CapacityReservationArn"] = (
        f"arn:{self.partition}:ec2:{self.region}:{self.current_account}:{RESOURCE}/{made['CapacityReservationId']}"
    )
    reservations(self.ec2_backend)[made["CapacityReservationId"]] = made
    self.ec2_backend.create_tags(
        [made["CapacityReservationId"]], self._parse_tag_specification(RESOURCE).get(RESOURCE, {})
    )
    return ActionResult({"CapacityReservation": _shown(self.ec2_backend, made)})


def describe_capacity_reservations(self: Any) -> ActionResult:
    """DescribeCapacityReservations: by id, by tag, by state."""
    ids = self._get_param("CapacityReservationIds", [])
    for each in ids:
        _require(self.ec2_backend, each)
    filters = {entry["Name"]: entry["Values"] for entry in self._get_param("Filters", [])}
    found = [
        shown
        for shown in (_shown(self.ec2_backend, each) for each in reservations(self.ec2_backend).values())
        if (not ids or shown["CapacityReservationId"] in ids)
        and all(matches(shown, name, values, {"state": "State"}) for name, values in filters.items())
    ]
    return ActionResult({"CapacityReservations": found})


def modify_capacity_reservation(self: Any) -> ActionResult:
    """ModifyCapacityReservation: how many, and until when."""
    reservation = _require(self.ec2_backend, self._get_param("CapacityReservationId"))
    if reservation["State"] != ACTIVE:
        raise _refused("InvalidCapacityReservationState", f"The reservation is {reservation['State']}.")
    reservation |= _changeable(self)
    return ActionResult({"Return": True})


def cancel_capacity_reservation(self: Any) -> ActionResult:
    """CancelCapacityReservation: hosts that run in it run on."""
    reservation = _require(self.ec2_backend, self._get_param("CapacityReservationId"))
    if reservation["State"] != ACTIVE:
        raise _refused("InvalidCapacityReservationState", f"The reservation is {reservation['State']}.")
    reservation["State"] = CANCELLED
    return ActionResult({"Return": True})


def _changeable(self: Any) -> dict[str, Any]:
    """What a call says of number and end."""
    count, ends, said = (self._get_param(each) for each in ("InstanceCount", "EndDateType", "EndDate"))
    until = datetime.fromisoformat(str(said)).replace(tzinfo=UTC) if said else None
    if (ends == "limited") != bool(until):
        raise _refused("InvalidParameterCombination", "EndDate goes with an EndDateType of limited, and with no other.")
    if until and until <= datetime.now(UTC):
        raise _refused("InvalidParameterValue", f"EndDate {until} is in the past.")
    return {"TotalInstanceCount": int(count), "EndDateType": ends or "unlimited", "EndDate": until}


def _require(backend: Any, identifier: str) -> dict[str, Any]:
    if identifier not in reservations(backend):
        raise _refused("InvalidCapacityReservationId.NotFound", f"The reservation {identifier} doesn't exist.")
    return reservations(backend)[identifier]


def _active(backend: Any, group: str) -> Iterator[dict[str, Any]]:
    arn = groups(backend)[group]["GroupArn"]
    return (
        each for each in reservations(backend).values() if each["State"] == ACTIVE and each["PlacementGroupArn"] == arn
    )


def _held_by(backend: Any, group: str) -> list[str]:
    """What keeps a group from being deleted."""
    return [each["CapacityReservationId"] for each in _active(backend, group)]


def _members(backend: Any, group: str) -> Iterator[Any]:
    """The instances of a group that haven't ended."""
    for reservation in backend.all_reservations():
        for instance in reservation.instances:
            if instance.placement.group_name == group and instance.state not in ("terminated", "shutting-down"):
                yield instance


def _zones(backend: Any, group: str) -> Iterator[str]:
    """Where the group stands: no more than one zone."""
    yield from (instance.placement.zone for instance in _members(backend, group))
    yield from (each["AvailabilityZone"] for each in _active(backend, group))


def _available(backend: Any, reservation: dict[str, Any]) -> int:
    (group,) = (name for name, each in groups(backend).items() if each["GroupArn"] == reservation["PlacementGroupArn"])
    kinds = [instance.instance_type for instance in _members(backend, group)]
    return max(0, int(reservation["TotalInstanceCount"]) - kinds.count(reservation["InstanceType"]))


def _shown(backend: Any, reservation: dict[str, Any]) -> dict[str, Any]:
    active = reservation["State"] == ACTIVE
    shown = {**reservation, "AvailableInstanceCount": _available(backend, reservation) if active else 0}
    return with_tags(backend, shown, "CapacityReservationId")


def _refused(code: str, message: str) -> EC2ClientError:
    return EC2ClientError(code, message)
