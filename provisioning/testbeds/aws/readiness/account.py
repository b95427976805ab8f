"""The looks at who asks: the account, how long the credentials last, how many vCPUs may run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from provisioning.testbeds.aws.readiness.planned import Answer, Planned
from provisioning.testbeds.aws.session import Region
from provisioning.testbeds.aws.time_to_live import utc_text

# boto3 and Pulumi renew these by themselves, for as long as a sign-in lasts, whose end neither tells
OF_A_SIGN_IN = ("sso", "login")
# whoever issued them issues new ones
RENEWED = ("assume-role", "assume-role-with-web-identity", "container-role", "custom-process", "iam-role")
STANDARD_QUOTA = "L-1216C47A"  # Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances, in vCPUs
STANDARD = re.compile(r"([acdhimrtz]|im|is)\d")  # im4gn and is4gen are of the family I
REPLACED_AT_ONCE = 3
COUNTED_STATES = ["pending", "running"]


def look_at_identity(planned: Planned, aws: Region) -> Answer:
    """Whom AWS takes the caller for, and whether that is in the stack's account, where it names one."""
    caller = aws.client("sts").get_caller_identity()
    account, wanted = caller["Account"], planned.account
    found = f"account {account}, {caller['Arn']}"
    if not wanted:
        return Answer(True, f"{found}; samebox:awsAccount isn't set: any account would do")
    return Answer(
        account == wanted,
        f"{found}; samebox:awsAccount is {wanted}",
        f"Use credentials of account {wanted} (AWS_PROFILE); or, if this is the right one: "
        f"{planned.set_command('awsAccount', account)}.",
    )


def look_at_credentials(planned: Planned, aws: Region) -> Answer:
    """Whether temporary credentials last as long as the campaign is estimated to take; without one, until when they last."""
    credentials = aws.session.get_credentials()
    if credentials is None or credentials.token is None:
        return Answer(True, "keys that don't expire")
    if credentials.method in RENEWED:
        return Answer(True, f"temporary and renewed by themselves ({credentials.method})")
    if credentials.method in OF_A_SIGN_IN:
        found = f"not known: renewed for as long as the sign-in lasts ({credentials.method}), whose end isn't told"
        return Answer(None, found, "Sign in again just before the campaign.")
    end: datetime | None = getattr(credentials, "_expiry_time", None)  # botocore has no public name for it
    if end is None:
        return Answer(
            None,
            "not known: they are temporary, and nothing says until when",
            "Get new ones just before the campaign; AWS_CREDENTIAL_EXPIRATION says when they expire.",
        )
    left = end - datetime.now(UTC)
    found = f"they expire at {utc_text(end)}, in {_hours(left)}"
    if planned.needs_s is None:
        return Answer(True, f"{found}; `--campaign FILE` compares that with the time that a campaign takes")
    needs = timedelta(seconds=planned.needs_s)
    return Answer(
        left >= needs,
        f"{found}; all of the campaign takes {_hours(needs)}",
        "Get credentials that last longer: once they have expired, only their timers can end the hosts.",
    )


def look_at_quota(planned: Planned, aws: Region) -> Answer:
    """The quota less what else runs in the region, beside what docs/aws.md says to ask for.

    Hosts of the same campaign aren't counted: they are what is asked for.
    """
    running = _running(aws, planned.campaign)
    vcpus = dict(
        aws.items(
            "ec2",
            "describe_instance_types",
            "InstanceTypes[].[InstanceType, VCpuInfo.DefaultVCpus]",
            InstanceTypes=sorted({*running, *planned.types}),
        )
    )
    value = aws.client("service-quotas").get_service_quota(ServiceCode="ec2", QuotaCode=STANDARD_QUOTA)
    quota = int(value["Quota"]["Value"])
    used = sum(vcpus[kind] for kind in running)
    asked = vcpus_asked(planned, vcpus)
    return Answer(
        quota - used >= asked,
        f"{asked} needed; quota {quota}, of which {used} are running",
        f"Ask for {asked + used}: Service Quotas, Amazon EC2, {STANDARD_QUOTA}, in {aws.name} (docs/aws.md, Quotas); "
        "or end what runs.",
    )


def vcpus_asked(planned: Planned, vcpus: Mapping[str, int]) -> int:
    """For all hosts, and beside them the report or three brokers being replaced."""
    shape = planned.shape
    hosts = sum(hosts.count * vcpus[hosts.instance_type] for hosts in shape.by_role().values())
    replaced = REPLACED_AT_ONCE * vcpus[shape.brokers.instance_type]
    return hosts + max(replaced, shape.report_instances * vcpus[shape.report_instance_type])


def _running(aws: Region, campaign: str) -> list[str]:
    """The types, one for each instance that counts against the quota and isn't this campaign's."""
    filters = [{"Name": "instance-state-name", "Values": COUNTED_STATES}]
    found = aws.items("ec2", "describe_instances", "Reservations[].Instances[]", Filters=filters)
    return [each["InstanceType"] for each in found if _counts(each) and not _is_of(each, campaign)]


def _counts(instance: Any) -> bool:
    """On demand and of a standard family; Inf, Trn, Mac, HPC and High Memory (u-) have quotas of their own."""
    return STANDARD.match(instance["InstanceType"]) is not None and "InstanceLifecycle" not in instance


def _is_of(instance: Any, campaign: str) -> bool:
    tags = {tag["Key"]: tag["Value"] for tag in instance.get("Tags", ())}
    return bool(campaign) and tags.get("project") == "samebox" and tags.get("campaign") == campaign


def _hours(span: timedelta) -> str:
    return f"{span.total_seconds() / 3600:.1f} h"


LOOKS = {
    "identity": look_at_identity,
    "credentials outlast the campaign": look_at_credentials,
    "vCPUs": look_at_quota,
}
