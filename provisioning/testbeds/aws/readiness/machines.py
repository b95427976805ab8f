"""The looks at what is launched: instance types in their zone, the permission to launch them, the image, EMR's release and type."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from provisioning.errors import MissingRequirement
from provisioning.testbeds.aws.emr_target import RELEASE
from provisioning.testbeds.aws.instance_limits import load_limits
from provisioning.testbeds.aws.readiness.planned import Answer, Planned
from provisioning.testbeds.aws.session import Region, session
from provisioning.testbeds.aws.shape import ANY_ZONE

WOULD_SUCCEED, REFUSED = "DryRunOperation", "UnauthorizedOperation"
# where the stack makes its own subnet the trial names none: without a default one, that can't be tried
NO_DEFAULT = re.compile(r"default (VPC|subnet)", re.IGNORECASE)
PASSING = ("RequestLimitExceeded", "InternalError", "Unavailable", "ServiceUnavailable", "InternalFailure")
# what follows is encoded, and longer than all the rest
BLOB = " Encoded authorization failure message"


def offered_zones(aws: Region, types: Collection[str]) -> Mapping[str, frozenset[str]]:
    """Instance type -> the region's own zones that have it. Raises botocore's errors."""
    offers = aws.items(
        "ec2",
        "describe_instance_type_offerings",
        "InstanceTypeOfferings[].[InstanceType, Location]",
        LocationType="availability-zone",
        Filters=[{"Name": "instance-type", "Values": sorted(types)}],
    )
    # a local zone has no cluster placement groups
    own = [(kind, zone) for kind, zone in offers if re.fullmatch(rf"{aws.name}[a-z]", zone)]
    return {kind: frozenset(zone for each, zone in own if each == kind) for kind in types}


def zones_with_all(offered: Mapping[str, frozenset[str]]) -> tuple[str, ...]:
    """Those that have every type, by name: the order in which the Pulumi program, too, looks at them."""
    return tuple(sorted(frozenset.intersection(*offered.values())))


def zones_to_try(planned: Planned) -> tuple[str, ...]:
    """Where the stack's config says `any`, the zones with all its types; none where it names a zone. Raises MissingRequirement."""
    if planned.zone != ANY_ZONE:
        return ()
    region = planned.shape.region
    try:
        return zones_with_all(offered_zones(Region(session(region), region), planned.types))
    except (BotoCoreError, ClientError) as error:
        raise MissingRequirement(
            f"samebox:availabilityZone is {ANY_ZONE}, and AWS doesn't say which zones have the stack's types: {error}",
            next_step=planned.set_command("availabilityZone", f"{region}a"),
        ) from None


def look_at_offerings(planned: Planned, aws: Region) -> Answer:
    """Whether the zone, or for `any` one zone, has every type, the report's too; else which zones of the region have it."""
    zones = offered_zones(aws, planned.types)
    whole = zones_with_all(zones)
    if planned.zone == ANY_ZONE and whole:
        return Answer(True, f"{', '.join(whole)} have {', '.join(planned.types)}; the first is tried first")
    missing = {kind: sorted(found) for kind, found in zones.items() if planned.zone not in found}
    if not missing:
        return Answer(True, f"{planned.zone} has {', '.join(planned.types)}")
    lacks = "; ".join(
        f"{kind} (is in {', '.join(found) or 'no zone of the region'})" for kind, found in missing.items()
    )
    next_step = (
        f"{planned.set_command('availabilityZone', whole[0])}, or another of {', '.join(whole)}."
        if whole
        else "No zone of the region has all of them: choose other types, or another region."
    )
    where = "no zone has them all:" if planned.zone == ANY_ZONE else f"{planned.zone} lacks"
    return Answer(False, f"{where} {lacks}", next_step)


def look_at_launching(planned: Planned, aws: Region) -> Answer:
    """Asks for one host of each type, and for capacity if some is to be reserved, as dry runs, which say nothing of capacity."""
    answers = {kind: _dry_run(aws, "run_instances", planned, _launch(planned, kind)) for kind in planned.host_types}
    if planned.shape.reserve_capacity:
        reserved = _dry_run(aws, "create_capacity_reservation", planned, _reserve(planned))
        answers[f"capacity for {planned.shape.brokers.instance_type}"] = reserved
    unlaunchable = {kind: error for kind, error in answers.items() if error["Code"] != WOULD_SUCCEED}
    if not unlaunchable:
        place = "a zone of the region" if planned.zone == ANY_ZONE else planned.zone
        return Answer(True, f"{', '.join(answers)} in {place}, by dry runs, which say nothing of capacity")
    quoted = "; ".join(f"{kind}: {error['Code']}: {message_of(error)}" for kind, error in unlaunchable.items())
    if all(_wasnt_tried(error) for error in unlaunchable.values()):
        return Answer(None, f"not known: AWS didn't try it: {quoted}")
    if REFUSED in {error["Code"] for error in unlaunchable.values()}:
        actions = "ec2:RunInstances" + (", ec2:CreateCapacityReservation" if planned.shape.reserve_capacity else "")
        return Answer(False, quoted, f"Allow {actions}: infra/operator-policy.json, with your stack's region in it.")
    return Answer(False, quoted, "As the message says; docs/aws.md has the keys of the config.")


def _wasnt_tried(error: Any) -> bool:
    return error["Code"] in PASSING or NO_DEFAULT.search(error["Message"]) is not None


def _dry_run(aws: Region, operation: str, planned: Planned, asked: Mapping[str, Any]) -> Any:
    """AWS's answer, code and message; a dry run that would succeed is an error as well."""
    kind = "instance" if operation == "run_instances" else "capacity-reservation"
    tags = [{"Key": "project", "Value": "samebox"}, {"Key": "campaign", "Value": planned.campaign}]
    tagged = [{"ResourceType": kind, "Tags": tags}]
    try:
        getattr(aws.client("ec2"), operation)(**asked, TagSpecifications=tagged, DryRun=True)
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
        **({"SubnetId": planned.subnet} if planned.subnet else {}),
    }


def _reserve(planned: Planned) -> dict[str, Any]:
    """For the brokers, and outside a placement group: the stack makes its own."""
    return {
        "InstanceType": planned.shape.brokers.instance_type,
        "InstancePlatform": "Linux/UNIX",
        "InstanceCount": planned.shape.brokers.count,
        "AvailabilityZone": f"{planned.shape.region}a" if planned.zone == ANY_ZONE else planned.zone,
    }


def message_of(error: Any) -> str:
    """An error's message (`response["Error"]`), as far as people can read it."""
    return str(error["Message"]).partition(BLOB)[0]


def look_at_image(planned: Planned, aws: Region) -> Answer:
    """Looked up as the Pulumi program does: among Amazon's and one's own, deprecated ones too."""
    filters = [{"Name": "image-id", "Values": [planned.ami]}]
    answer = aws.client("ec2").describe_images(Owners=["amazon", "self"], Filters=filters, IncludeDeprecated=True)
    if not answer["Images"]:
        return Answer(
            False,
            f"{planned.ami} doesn't exist in {aws.name}, not as a deprecated image either",
            "Pin another one, which makes other hosts (docs/aws.md, How long an image lives).",
        )
    image = answer["Images"][0]
    named = f"{planned.ami} ({image.get('Name', 'without a name')})"
    limits = load_limits()  # an unknown type is reported by the look at the config
    hosts = {limits[kind].architecture for kind in planned.host_types if kind in limits}
    if hosts - {image["Architecture"]}:
        return Answer(
            False,
            f"{named} is for {image['Architecture']}; the hosts are {' and '.join(sorted(hosts))}",
            "Pin one for them, or choose types of one architecture (docs/aws.md, How long an image lives).",
        )
    end = image.get("DeprecationTime")
    if not end:
        return Answer(True, named)
    if datetime.fromisoformat(end) <= datetime.now(UTC):
        return Answer(True, f"{named}, deprecated since {end[:10]}: it launches until its owner removes it")
    return Answer(True, f"{named}, to be deprecated on {end[:10]}, after which it launches as before")


def look_at_release(planned: Planned, aws: Region) -> Answer:
    """Whether the region still has the release of EMR that the report is tested with."""
    del planned
    if RELEASE in aws.client("emr").list_release_labels(Filters={"Prefix": RELEASE}).get("ReleaseLabels", []):
        return Answer(True, RELEASE)
    next_step = (
        "Choose another region; or make the report on this machine: `samebox report RESULTS --from s3://BUCKET`."
    )
    return Answer(False, f"{aws.name} has no {RELEASE}", next_step)


def look_at_type(planned: Planned, aws: Region) -> Answer:
    """Whether that release makes clusters of the report's type in the region. boto3 has no paginator for it."""
    kind, asked = planned.shape.report_instance_type, {"ReleaseLabel": RELEASE}
    while True:
        page = aws.client("emr").list_supported_instance_types(**asked)
        if kind in {each["Type"] for each in page["SupportedInstanceTypes"]}:
            return Answer(True, f"{kind} with {RELEASE}")
        if not page.get("Marker"):
            break
        asked["Marker"] = page["Marker"]
    next_step = (
        f"{planned.set_command('reportInstanceType', 'm5.xlarge')}, or another type of docs/aws.md, Config keys."
    )
    return Answer(False, f"{kind} isn't among the types of {RELEASE} in {aws.name}", next_step)


LOOKS = {
    "types offered in the zone": look_at_offerings,
    "hosts may be launched": look_at_launching,
    "image": look_at_image,
    "EMR release": look_at_release,
    "EMR has the report's type": look_at_type,
}
