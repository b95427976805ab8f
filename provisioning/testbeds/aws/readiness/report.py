"""The looks at EMR, which makes the report: its release, and the type of its machines."""

from __future__ import annotations

from typing import Any

import boto3

from provisioning.testbeds.aws.emr_target import RELEASE
from provisioning.testbeds.aws.readiness.planned import LookAtAws, Planned
from provisioning.testbeds.finding import Finding

RELEASED, SUPPORTED = "EMR release", "EMR has the report's type"


def look_at_release(planned: Planned, session: boto3.session.Session) -> Finding:
    """Whether the region still has the release that the report is tested with."""
    labels = session.client("emr").list_release_labels(Filters={"Prefix": RELEASE}).get("ReleaseLabels", [])
    if RELEASE in labels:
        return Finding(RELEASED, True, RELEASE)
    return Finding(
        RELEASED,
        False,
        f"{planned.shape.region} has no {RELEASE}",
        "Take another region; or make the report on this machine: `samebox report RESULTS --from s3://BUCKET`.",
    )


def look_at_type(planned: Planned, session: boto3.session.Session) -> Finding:
    """Whether that release makes clusters of the report's type in the region."""
    kind = planned.shape.report_instance_type
    if kind in _supported(session):
        return Finding(SUPPORTED, True, f"{kind} with {RELEASE}")
    return Finding(
        SUPPORTED,
        False,
        f"{kind} isn't among the types of {RELEASE} in {planned.shape.region}",
        f"{planned.set_command('reportInstanceType', 'm5.xlarge')}, or another type of docs/aws.md, Config keys.",
    )


def _supported(session: boto3.session.Session) -> set[str]:
    """All types, page by page; boto3 has no paginator for it."""
    emr, types = session.client("emr"), set()
    asked: dict[str, Any] = {"ReleaseLabel": RELEASE}
    while True:
        page = emr.list_supported_instance_types(**asked)
        types |= {each["Type"] for each in page["SupportedInstanceTypes"]}
        if not page.get("Marker"):
            return types
        asked["Marker"] = page["Marker"]


LOOKS = (
    LookAtAws(RELEASED, look_at_release),
    LookAtAws(SUPPORTED, look_at_type),
)
