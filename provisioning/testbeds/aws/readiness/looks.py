"""All looks in the order in which they are shown."""

from __future__ import annotations

from botocore.exceptions import BotoCoreError, ClientError

from provisioning.errors import MissingRequirement
from provisioning.testbeds.aws.readiness import account, here, machines, permissions
from provisioning.testbeds.aws.readiness.machines import message_of
from provisioning.testbeds.aws.readiness.planned import Answer, Planned
from provisioning.testbeds.aws.session import Region, session
from provisioning.testbeds.finding import Finding

HERE = here.LOOKS
AT_AWS = {**account.LOOKS, **permissions.LOOKS, **machines.LOOKS}
DENIED = ("AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "AuthorizationError")
# operation -> the permission that it needs
ACTIONS = {
    "DescribeImages": "ec2:DescribeImages",
    "DescribeInstanceTypeOfferings": "ec2:DescribeInstanceTypeOfferings",
    "DescribeInstanceTypes": "ec2:DescribeInstanceTypes",
    "DescribeInstances": "ec2:DescribeInstances",
    "GetServiceQuota": "servicequotas:GetServiceQuota",
    "ListReleaseLabels": "elasticmapreduce:ListReleaseLabels",
    "ListRoles": "iam:ListRoles",
    "ListSupportedInstanceTypes": "elasticmapreduce:ListSupportedInstanceTypes",
    "SimulatePrincipalPolicy": "iam:SimulatePrincipalPolicy",
}


def look_around(planned: Planned) -> tuple[Finding, ...]:
    """Every line. What AWS refuses or doesn't answer is a line, too, and raises nothing."""
    found = [Finding(need, *look(planned)) for need, look in HERE.items()]
    try:
        aws = Region(session(planned.shape.region), planned.shape.region)
    except MissingRequirement as error:
        first, *others = AT_AWS
        found.append(Finding(first, False, str(error), error.next_step))
        return (*found, *(Finding(need, None, "not known: AWS wasn't asked without credentials") for need in others))
    for need, look in AT_AWS.items():
        try:
            answer = look(planned, aws)
        except (ClientError, BotoCoreError) as error:
            answer = _unanswered(error)
        found.append(Finding(need, *answer))
    return tuple(found)


def _unanswered(error: ClientError | BotoCoreError) -> Answer:
    """That a need isn't known because AWS refused the look or didn't answer it, and which permission would help."""
    if not isinstance(error, ClientError):
        return Answer(None, f"not known: {error}")
    operation, said = error.operation_name, error.response["Error"]
    if said["Code"] not in DENIED:
        return Answer(None, f"not known: AWS answered {operation} with {said['Code']}: {message_of(said)}")
    return Answer(
        None,
        f"not known: AWS refused {operation}: {message_of(said)}",
        f"Allow {ACTIONS.get(operation, operation)} (infra/operator-policy.json has it).",
    )
