"""The looks at who asks: the account, how long the credentials last, how many vCPUs may run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3

from provisioning.testbeds.aws.readiness.planned import LookAtAws, Planned
from provisioning.testbeds.aws.time_to_live import utc_text
from provisioning.testbeds.finding import Finding

IDENTITY, CREDENTIALS, QUOTA = "identity", "credentials outlast the campaign", "vCPUs"
# boto3 and Pulumi get new ones by themselves, for as long as a sign-in lasts of which neither says the end
OF_A_SIGN_IN = ("sso", "login")
# whoever hands them out does so again
RENEWED = ("assume-role", "assume-role-with-web-identity", "container-role", "custom-process", "iam-role")
STANDARD_QUOTA = "L-1216C47A"  # Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances, in vCPUs
STANDARD = re.compile(r"([acdhimrtz]|im|is)\d")  # im4gn and is4gen are of the family I
REPLACED_AT_ONCE = 3
COUNTED_STATES = ["pending", "running"]


def look_at_identity(planned: Planned, session: boto3.session.Session) -> Finding:
    """Whom AWS takes the caller for, and whether that is in the stack's account, where it names one."""
    caller = session.client("sts").get_caller_identity()
    account, wanted = caller["Account"], planned.account
    found = f"account {account}, {caller['Arn']}"
    if not wanted:
        return Finding(IDENTITY, True, f"{found}; samebox:awsAccount isn't set: any account would do")
    return Finding(
        IDENTITY,
        account == wanted,
        f"{found}; samebox:awsAccount is {wanted}",
        f"Use credentials of account {wanted} (AWS_PROFILE); or, if this is the right one: "
        f"{planned.set_command('awsAccount', account)}.",
    )


def look_at_credentials(planned: Planned, session: boto3.session.Session) -> Finding:
    """Whether temporary credentials last as long as the campaign is reckoned to take; without one, until when they last."""
    credentials = session.get_credentials()
    if credentials is None or credentials.token is None:
        return Finding(CREDENTIALS, True, "keys that don't expire")
    if credentials.method in RENEWED:
        return Finding(CREDENTIALS, True, f"temporary and renewed by themselves ({credentials.method})")
    if credentials.method in OF_A_SIGN_IN:
        return Finding(
            CREDENTIALS,
            None,
            f"not known: renewed for as long as the sign-in lasts ({credentials.method}), whose end isn't said",
            "Sign in anew just before the campaign.",
        )
    end: datetime | None = getattr(credentials, "_expiry_time", None)  # botocore has no public name for it
    if end is None:
        return Finding(
            CREDENTIALS,
            None,
            "not known: they are temporary, and nothing says until when",
            "Get new ones just before the campaign; AWS_CREDENTIAL_EXPIRATION says their end.",
        )
    left = end - datetime.now(UTC)
    found = f"they end at {utc_text(end)}, in {_hours(left)}"
    if planned.needs_s is None:
        return Finding(
            CREDENTIALS, True, f"{found}; `--campaign FILE` compares that with the time that a campaign takes"
        )
    needs = timedelta(seconds=planned.needs_s)
    return Finding(
        CREDENTIALS,
        left >= needs,
        f"{found}; all of the campaign takes {_hours(needs)}",
        "Get credentials that last longer: once they have ended, hosts can be taken away by their timers only.",
    )


def look_at_quota(planned: Planned, session: boto3.session.Session) -> Finding:
    """The quota less what runs in the region for others, beside what docs/aws.md says to ask for.

    Hosts of the same campaign aren't counted: they are what is asked for.
    """
    running = _running(session, planned.campaign)
    vcpus = _vcpus(session, {*running, *planned.types})
    value = session.client("service-quotas").get_service_quota(ServiceCode="ec2", QuotaCode=STANDARD_QUOTA)
    quota = int(value["Quota"]["Value"])
    used = sum(vcpus[kind] for kind in running)
    asked = vcpus_asked(planned, vcpus)
    return Finding(
        QUOTA,
        quota - used >= asked,
        f"{asked} needed; quota {quota}, of which {used} are running",
        f"Ask for {asked + used}: Service Quotas, Amazon EC2, {STANDARD_QUOTA}, in {planned.shape.region} (docs/aws.md, Quotas); "
        "or end what runs.",
    )


def vcpus_asked(planned: Planned, vcpus: Mapping[str, int]) -> int:
    """For all hosts, and beside them the report or three brokers being replaced."""
    shape = planned.shape
    hosts = sum(hosts.count * vcpus[hosts.instance_type] for hosts in shape.by_role().values())
    replaced = REPLACED_AT_ONCE * vcpus[shape.brokers.instance_type]
    return hosts + max(replaced, shape.report_instances * vcpus[shape.report_instance_type])


def _running(session: boto3.session.Session, campaign: str) -> list[str]:
    """The types, one for each instance that counts against the quota and isn't this campaign's."""
    filters: Any = [{"Name": "instance-state-name", "Values": COUNTED_STATES}]
    pages = session.client("ec2").get_paginator("describe_instances").paginate(Filters=filters)
    found: Iterable[Any] = (
        each for page in pages for reservation in page["Reservations"] for each in reservation["Instances"]
    )
    return [each["InstanceType"] for each in found if _counts(each) and not _is_of(each, campaign)]


def _counts(instance: Any) -> bool:
    """On demand and of a standard family; Inf, Trn, Mac, HPC and High Memory (u-) have quotas of their own."""
    return STANDARD.match(instance["InstanceType"]) is not None and "InstanceLifecycle" not in instance


def _is_of(instance: Any, campaign: str) -> bool:
    tags = {tag["Key"]: tag["Value"] for tag in instance.get("Tags", ())}
    return bool(campaign) and tags.get("project") == "samebox" and tags.get("campaign") == campaign


def _vcpus(session: boto3.session.Session, types: set[str]) -> dict[str, int]:
    """Instance type -> its vCPUs, as the quota counts them."""
    pages = session.client("ec2").get_paginator("describe_instance_types").paginate(InstanceTypes=sorted(types))  # type: ignore[arg-type]
    return {each["InstanceType"]: each["VCpuInfo"]["DefaultVCpus"] for page in pages for each in page["InstanceTypes"]}


def _hours(span: timedelta) -> str:
    return f"{span.total_seconds() / 3600:.1f} h"


LOOKS = (
    LookAtAws(IDENTITY, look_at_identity),
    LookAtAws(CREDENTIALS, look_at_credentials),
    LookAtAws(QUOTA, look_at_quota),
)
