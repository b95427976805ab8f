"""What is said of a look that AWS refused, or didn't answer: that it isn't known, and which permission to allow."""

from __future__ import annotations

from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from provisioning.testbeds.finding import Finding

# what follows is for whoever may decode it, and longer than all the rest
BLOB = " Encoded authorization failure message"
DENIED = ("AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "AuthorizationError")
# operation -> the permission that it asks for
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
            f"not known: AWS refused {operation}: {message_of(said)}",
            f"Allow {action} (infra/operator-policy.json has it).",
        )
    return Finding(need, None, f"not known: AWS answered {operation} with {said['Code']}: {message_of(said)}")


def message_of(error: Any) -> str:
    """An error's message (`response["Error"]`), as far as people can read it."""
    return str(error["Message"]).partition(BLOB)[0]
