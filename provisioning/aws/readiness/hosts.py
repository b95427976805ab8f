"""The looks at what the hosts are launched of: types in their zone, the permission to launch them, the image."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import boto3
from botocore.exceptions import ClientError

from provisioning.aws.readiness.planned import LookAtAws, Planned
from provisioning.aws.readiness.refusals import message_of
from provisioning.finding import Finding

OFFERED, LAUNCH, IMAGE = "types offered in the zone", "hosts may be launched", "image"
ARCHITECTURE = "x86_64"
WOULD_SUCCEED, REFUSED = "DryRunOperation", "UnauthorizedOperation"
# the trial names no subnet, because the stack makes its own: where there is no default one, that can't be tried
NO_DEFAULT = re.compile(r"default (VPC|subnet)", re.IGNORECASE)
PASSING = ("RequestLimitExceeded", "InternalError", "Unavailable", "ServiceUnavailable", "InternalFailure")


def look_at_offerings(planned: Planned, session: boto3.session.Session) -> Finding:
    """Whether the zone has every type, the report's too; else which zones of the region have it."""
    filters: Any = [{"Name": "instance-type", "Values": list(planned.types)}]
    pages = (
        session.client("ec2")
        .get_paginator("describe_instance_type_offerings")
        .paginate(LocationType="availability-zone", Filters=filters)
    )
    zones: dict[str, set[str]] = {kind: set() for kind in planned.types}
    for page in pages:
        for each in page["InstanceTypeOfferings"]:
            zones[each["InstanceType"]].add(each["Location"])
    missing = {kind: sorted(found) for kind, found in zones.items() if planned.zone not in found}
    if not missing:
        return Finding(OFFERED, True, f"{planned.zone} has {', '.join(planned.types)}")
    lacks = "; ".join(
        f"{kind} (is in {', '.join(found) or 'no zone of the region'})" for kind, found in missing.items()
    )
    whole = sorted(set.intersection(*zones.values()))
    next_step = (
        f"{planned.set_command('availabilityZone', whole[0])}, or another of {', '.join(whole)}."
        if whole
        else "No zone of the region has all of them: take other types, or another region."
    )
    return Finding(OFFERED, False, f"{planned.zone} lacks {lacks}", next_step)


def look_at_launching(planned: Planned, session: boto3.session.Session) -> Finding:
    """Asks for one host of each type, as a dry run. Whether there is capacity, AWS doesn't say so."""
    answers = {kind: _dry_run(planned, session, kind) for kind in planned.host_types}
    unlaunchable = {kind: error for kind, error in answers.items() if error["Code"] != WOULD_SUCCEED}
    if not unlaunchable:
        return Finding(
            LAUNCH, True, f"{', '.join(answers)} in {planned.zone}, by dry runs, which say nothing of capacity"
        )
    quoted = "; ".join(f"{kind}: {error['Code']}: {message_of(error)}" for kind, error in unlaunchable.items())
    if all(_wasnt_tried(error) for error in unlaunchable.values()):
        return Finding(LAUNCH, None, f"not known: AWS didn't try it: {quoted}")
    if REFUSED in {error["Code"] for error in unlaunchable.values()}:
        return Finding(
            LAUNCH, False, quoted, "Allow ec2:RunInstances: infra/operator-policy.json, with your stack's region in it."
        )
    return Finding(LAUNCH, False, quoted, "As the message says; docs/aws.md has the keys of the config.")


def _wasnt_tried(error: Any) -> bool:
    return error["Code"] in PASSING or NO_DEFAULT.search(error["Message"]) is not None


def _dry_run(planned: Planned, session: boto3.session.Session, kind: str) -> Any:
    """AWS's answer, code and message; a dry run that would succeed is an error as well."""
    tags = [{"Key": "project", "Value": "samebox"}, {"Key": "campaign", "Value": planned.campaign}]
    asked: Any = {
        "ImageId": planned.ami,
        "InstanceType": kind,
        "MinCount": 1,
        "MaxCount": 1,
        "Placement": {"AvailabilityZone": planned.zone},
        "TagSpecifications": [{"ResourceType": "instance", "Tags": tags}],
    }
    try:
        session.client("ec2").run_instances(**asked, DryRun=True)
    except ClientError as error:
        return error.response["Error"]
    return {"Code": WOULD_SUCCEED}


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
    if image["Architecture"] != ARCHITECTURE:
        return Finding(
            IMAGE, False, f"{named} is for {image['Architecture']}; the hosts are {ARCHITECTURE}", "Pin one that is."
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
