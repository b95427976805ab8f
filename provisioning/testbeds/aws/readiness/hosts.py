"""The looks at what the hosts are launched of: types in their zone, the permission to launch them, the image."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import boto3
from botocore.exceptions import ClientError

from provisioning.testbeds.aws.instance_limits import load_limits
from provisioning.testbeds.aws.readiness.planned import LookAtAws, Planned
from provisioning.testbeds.aws.readiness.refusals import message_of
from provisioning.testbeds.aws.shape import ANY_ZONE
from provisioning.testbeds.aws.zones import offered_zones, zones_with_all
from provisioning.testbeds.finding import Finding

OFFERED, LAUNCH, IMAGE = "types offered in the zone", "hosts may be launched", "image"
WOULD_SUCCEED, REFUSED = "DryRunOperation", "UnauthorizedOperation"
# where the stack makes its own subnet the trial names none: without a default one, that can't be tried
NO_DEFAULT = re.compile(r"default (VPC|subnet)", re.IGNORECASE)
PASSING = ("RequestLimitExceeded", "InternalError", "Unavailable", "ServiceUnavailable", "InternalFailure")


def look_at_offerings(planned: Planned, session: boto3.session.Session) -> Finding:
    """Whether the zone, or for `any` one zone, has every type, the report's too; else which zones of the region have it."""
    zones = offered_zones(session, planned.shape.region, planned.types)
    whole = zones_with_all(zones)
    if planned.zone == ANY_ZONE and whole:
        return Finding(OFFERED, True, f"{', '.join(whole)} have {', '.join(planned.types)}; the first is tried first")
    missing = {kind: sorted(found) for kind, found in zones.items() if planned.zone not in found}
    if not missing:
        return Finding(OFFERED, True, f"{planned.zone} has {', '.join(planned.types)}")
    lacks = "; ".join(
        f"{kind} (is in {', '.join(found) or 'no zone of the region'})" for kind, found in missing.items()
    )
    next_step = (
        f"{planned.set_command('availabilityZone', whole[0])}, or another of {', '.join(whole)}."
        if whole
        else "No zone of the region has all of them: take other types, or another region."
    )
    where = "no zone has them all:" if planned.zone == ANY_ZONE else f"{planned.zone} lacks"
    return Finding(OFFERED, False, f"{where} {lacks}", next_step)


def look_at_launching(planned: Planned, session: boto3.session.Session) -> Finding:
    """Asks for one host of each type, and for capacity if some is to be reserved, as dry runs, which say nothing of capacity."""
    answers = {kind: _dry_run(session, "run_instances", _launch(planned, kind)) for kind in planned.host_types}
    if planned.shape.reserve_capacity:
        kind = planned.shape.brokers.instance_type
        answers[f"capacity for {kind}"] = _dry_run(session, "create_capacity_reservation", _reserve(planned))
    unlaunchable = {kind: error for kind, error in answers.items() if error["Code"] != WOULD_SUCCEED}
    if not unlaunchable:
        place = "a zone of the region" if planned.zone == ANY_ZONE else planned.zone
        return Finding(LAUNCH, True, f"{', '.join(answers)} in {place}, by dry runs, which say nothing of capacity")
    quoted = "; ".join(f"{kind}: {error['Code']}: {message_of(error)}" for kind, error in unlaunchable.items())
    if all(_wasnt_tried(error) for error in unlaunchable.values()):
        return Finding(LAUNCH, None, f"not known: AWS didn't try it: {quoted}")
    if REFUSED in {error["Code"] for error in unlaunchable.values()}:
        actions = "ec2:RunInstances" + (", ec2:CreateCapacityReservation" if planned.shape.reserve_capacity else "")
        return Finding(
            LAUNCH, False, quoted, f"Allow {actions}: infra/operator-policy.json, with your stack's region in it."
        )
    return Finding(LAUNCH, False, quoted, "As the message says; docs/aws.md has the keys of the config.")


def _wasnt_tried(error: Any) -> bool:
    return error["Code"] in PASSING or NO_DEFAULT.search(error["Message"]) is not None


def _dry_run(session: boto3.session.Session, operation: str, asked: Any) -> Any:
    """AWS's answer, code and message; a dry run that would succeed is an error as well."""
    try:
        getattr(session.client("ec2"), operation)(**asked, DryRun=True)
    except ClientError as error:
        return error.response["Error"]
    return {"Code": WOULD_SUCCEED}


def _launch(planned: Planned, kind: str) -> dict[str, Any]:
    return {
        "ImageId": planned.ami,
        "InstanceType": kind,
        "MinCount": 1,
        "MaxCount": 1,
        "Placement": {} if planned.zone == ANY_ZONE else {"AvailabilityZone": planned.zone},
        "TagSpecifications": _tagged(planned, "instance"),
        **({"SubnetId": planned.subnet} if planned.subnet else {}),
    }


def _reserve(planned: Planned) -> dict[str, Any]:
    """For the brokers, and outside a placement group: the stack makes its own."""
    return {
        "InstanceType": planned.shape.brokers.instance_type,
        "InstancePlatform": "Linux/UNIX",
        "InstanceCount": planned.shape.brokers.count,
        "AvailabilityZone": f"{planned.shape.region}a" if planned.zone == ANY_ZONE else planned.zone,
        "TagSpecifications": _tagged(planned, "capacity-reservation"),
    }


def _tagged(planned: Planned, kind: str) -> list[dict[str, Any]]:
    tags = {"project": "samebox", "campaign": planned.campaign}
    return [{"ResourceType": kind, "Tags": [{"Key": key, "Value": value} for key, value in tags.items()]}]


def look_at_image(planned: Planned, session: boto3.session.Session) -> Finding:
    """Looked up as the Pulumi program does: among Amazon's and one's own, deprecated ones too."""
    filters: Any = [{"Name": "image-id", "Values": [planned.ami]}]
    answer = session.client("ec2").describe_images(Owners=["amazon", "self"], Filters=filters, IncludeDeprecated=True)
    if not answer["Images"]:
        return Finding(
            IMAGE,
            False,
            f"{planned.ami} doesn't exist in {planned.shape.region}, not as a deprecated image either",
            "Pin another one, which makes other hosts (docs/aws.md, How long an image lives).",
        )
    image = answer["Images"][0]
    named = f"{planned.ami} ({image.get('Name', 'without a name')})"
    limits = load_limits()  # of a type that isn't known the config's line tells
    hosts = {limits[kind].architecture for kind in planned.host_types if kind in limits}
    if hosts - {image["Architecture"]}:
        return Finding(
            IMAGE,
            False,
            f"{named} is for {image['Architecture']}; the hosts are {' and '.join(sorted(hosts))}",
            "Pin one for them, or take types of one kind (docs/aws.md, How long an image lives).",
        )
    end = image.get("DeprecationTime")
    if not end:
        return Finding(IMAGE, True, named)
    if datetime.fromisoformat(end) <= datetime.now(UTC):
        return Finding(IMAGE, True, f"{named}, deprecated since {end[:10]}: it launches until its owner removes it")
    return Finding(IMAGE, True, f"{named}, to be deprecated on {end[:10]}, after which it launches as before")


LOOKS = (
    LookAtAws(OFFERED, look_at_offerings),
    LookAtAws(LAUNCH, look_at_launching),
    LookAtAws(IMAGE, look_at_image),
)
