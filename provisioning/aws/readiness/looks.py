"""All looks in the order in which they are told, and what is said of one that AWS doesn't answer."""

from __future__ import annotations

from botocore.exceptions import BotoCoreError, ClientError

from provisioning.aws.readiness import account, here, hosts, report
from provisioning.aws.readiness.planned import LookAtAws, LookHere, Planned
from provisioning.aws.session import session
from provisioning.errors import MissingRequirement
from provisioning.finding import Finding

HERE: tuple[LookHere, ...] = here.LOOKS
AT_AWS: tuple[LookAtAws, ...] = (*account.LOOKS, *hosts.LOOKS, *report.LOOKS)
DENIED = ("AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "AuthorizationError")
# operation -> the permission that it asks for
ACTIONS = {
    "DescribeImages": "ec2:DescribeImages",
    "DescribeInstanceTypeOfferings": "ec2:DescribeInstanceTypeOfferings",
    "DescribeInstanceTypes": "ec2:DescribeInstanceTypes",
    "DescribeInstances": "ec2:DescribeInstances",
    "GetServiceQuota": "servicequotas:GetServiceQuota",
    "ListReleaseLabels": "elasticmapreduce:ListReleaseLabels",
    "ListSupportedInstanceTypes": "elasticmapreduce:ListSupportedInstanceTypes",
}


def look_around(planned: Planned) -> tuple[Finding, ...]:
    """Every line. It raises nothing for what AWS refuses or doesn't answer."""
    found = [each.look(planned) for each in HERE]
    try:
        opened = session(planned.shape.region)
    except MissingRequirement as error:
        first, *others = AT_AWS
        found.append(Finding(first.need, False, str(error), error.next_step))
        return (*found, *(Finding(each.need, None, "not known: nobody has been asked") for each in others))
    for each in AT_AWS:
        try:
            found.append(each.look(planned, opened))
        except (ClientError, BotoCoreError) as error:
            found.append(unanswered(each.need, error))
    return tuple(found)


def unanswered(need: str, error: ClientError | BotoCoreError) -> Finding:
    """The line of a look that AWS refused, or didn't answer."""
    if not isinstance(error, ClientError):
        return Finding(need, None, f"not known: {error}")
    operation, said = error.operation_name, error.response["Error"]
    if said["Code"] in DENIED:
        action = ACTIONS.get(operation, operation)
        return Finding(
            need,
            None,
            f"not known: AWS refused {operation}: {said['Message']}",
            f"Allow {action} (infra/operator-policy.json has it).",
        )
    return Finding(need, None, f"not known: AWS answered {operation} with {said['Code']}: {said['Message']}")
