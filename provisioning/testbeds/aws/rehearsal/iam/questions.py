"""A question as IAM has it: with what it knows of every request, without what it doesn't know for the action and resource."""

from __future__ import annotations

from dataclasses import replace

from provisioning.testbeds.aws.rehearsal.iam.policy import Ask
from provisioning.testbeds.aws.rehearsal.iam.reference import reference

IAM_REGION = "us-east-1"  # where IAM's requests go, whatever the region


def as_iam_has_it(ask: Ask, region: str) -> Ask:
    """Of a request to a region. An action that the reference lacks is asked about as it is."""
    asked_in = IAM_REGION if ask.action.startswith("iam:") else region
    known = replace(ask, context={"aws:RequestedRegion": asked_in, **ask.context})
    return reference().as_iam_has_it(known) if ask.action in reference().actions else known
