"""The look at permissions: IAM's simulator is asked about infra/operator-policy.json, statement by statement. It changes nothing.

The questions follow from the policy: each statement's actions, on resources of the kinds that it names, under its own conditions.
Actions with a wildcard (Describe, List) can't be simulated; they only look, and the other looks make such calls.
(https://docs.aws.amazon.com/IAM/latest/APIReference/API_SimulatePrincipalPolicy.html)
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from provisioning.testbeds.aws.readiness.planned import Answer, Planned
from provisioning.testbeds.aws.session import Region

POLICY, REGION = Path("infra/operator-policy.json"), "<region>"
ANYTHING = "*"
SAMPLE = "simulated"  # in the place of a wildcard
NAMED = 5  # of the denied actions


class Decision(Enum):
    """UNDECIDED: denied for want of a condition key that the simulator wasn't given."""

    ALLOWED = "allowed"
    DENIED = "denied"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Statement:
    """One statement of the policy, as it is simulated: its actions, a resource of each kind that it names, what its conditions want."""

    sid: str
    actions: tuple[str, ...]
    resources: tuple[str, ...]
    context: Mapping[str, str]


def look_at_permissions(planned: Planned, aws: Region) -> Answer:
    """Whether the caller's policies allow what the operator's policy allows."""
    caller = aws.client("sts").get_caller_identity()
    source = policy_source(aws, caller["Arn"])
    if source is None:
        return Answer(True, "the account's root user, whom no IAM policy limits")
    policy = (planned.directory / POLICY).read_text()
    statements = list(statements_of(policy, caller["Account"], planned.shape.region))
    denied: list[str] = []
    undecided: list[str] = []
    for statement in statements:
        answers = [_answers(aws, source, statement, resource) for resource in statement.resources]
        for action in statement.actions:
            decisions = {of_resource[action] for of_resource in answers}
            if Decision.ALLOWED not in decisions:
                which = undecided if Decision.UNDECIDED in decisions else denied
                which.append(f"{action} ({statement.sid})")
    asked = f"{sum(len(each.actions) for each in statements)} permissions of {POLICY}"
    if denied:
        return Answer(
            False,
            f"IAM would deny {source} {len(denied)} of {asked}: {_some(denied)}",
            "Have that policy attached to whoever runs samebox (docs/aws.md, Permissions).",
        )
    if undecided:
        return Answer(
            None,
            f"not known: {len(undecided)} of {asked} depend on conditions of your account's own: {_some(undecided)}",
            "Such as multi-factor authentication, or the network that one comes from: meet them before you begin.",
        )
    return Answer(True, f"IAM would allow {source} all {asked}")


def policy_source(aws: Region, caller: str) -> str | None:
    """The user or role whose policies are simulated, by the ARN that STS takes the caller for; None for the root user."""
    _, _, _, _, account, name = caller.split(":", 5)
    if name == "root":
        return None
    if not name.startswith("assumed-role/"):
        return caller
    role = name.split("/")[1]
    # a role's own ARN has its path, which that of its session lacks
    arns = [each["Arn"] for each in aws.items("iam", "list_roles", "Roles") if each["RoleName"] == role]
    return arns[0] if arns else f"arn:aws:iam::{account}:role/{role}"


def statements_of(policy: str, account: str, region: str) -> Iterator[Statement]:
    """The statements of a policy with an action that can be simulated."""
    for statement in json.loads(policy.replace(REGION, region))["Statement"]:
        actions = tuple(action for action in _listed(statement["Action"]) if ANYTHING not in action)
        if actions:
            resources = tuple(_sample(each, account, region) for each in _listed(statement["Resource"]))
            yield Statement(statement["Sid"], actions, resources, dict(_fulfilled(statement.get("Condition", {}))))


def _fulfilled(condition: Mapping[str, Mapping[str, str | Sequence[str]]]) -> Iterator[tuple[str, str]]:
    """A value for each key: the first that is wanted, or any where there only has to be one."""
    for operator, keys in condition.items():
        for key, wanted in keys.items():
            yield key, SAMPLE if operator == "Null" else _listed(wanted)[0]


def _sample(resource: str, account: str, region: str) -> str:
    """An ARN that a pattern fits, in this account and region; what names no resource stays as it is."""
    if resource == ANYTHING:
        return resource
    arn, partition, service, in_region, of_account, name = resource.split(":", 5)
    places = [region if in_region == ANYTHING else in_region, account if of_account == ANYTHING else of_account]
    return ":".join([arn, partition, service, *places, name.replace(ANYTHING, SAMPLE)])


def _answers(aws: Region, source: str, statement: Statement, resource: str) -> Mapping[str, Decision]:
    """Action -> what IAM would decide of it on this resource."""
    context: Any = [
        {"ContextKeyName": key, "ContextKeyValues": [value], "ContextKeyType": "string"}
        for key, value in statement.context.items()
    ]
    results = aws.items(
        "iam",
        "simulate_principal_policy",
        "EvaluationResults",
        PolicySourceArn=source,
        ActionNames=list(statement.actions),
        ResourceArns=[resource],
        ContextEntries=context,
    )
    return {each["EvalActionName"]: _decision(each) for each in results}


def _decision(result: Any) -> Decision:
    if result["EvalDecision"] == "allowed":
        return Decision.ALLOWED
    return Decision.UNDECIDED if result.get("MissingContextValues") else Decision.DENIED


def _listed(one_or_more: str | Sequence[str]) -> list[str]:
    return [one_or_more] if isinstance(one_or_more, str) else list(one_or_more)


def _some(actions: Sequence[str]) -> str:
    first = ", ".join(actions[:NAMED])
    return first if len(actions) <= NAMED else f"{first} and {len(actions) - NAMED} more"


LOOKS = {"permissions": look_at_permissions}
