"""SimulatePrincipalPolicy, which moto lacks: what the policy in force for the operator says, by the evaluator that judges his calls."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from moto.core.responses import ActionResult
from moto.iam.responses import IamResponse

from provisioning.testbeds.aws.rehearsal.cloud.gate import policy_in_force
from provisioning.testbeds.aws.rehearsal.iam.policy import Ask


def install(state_dir: Path) -> None:
    """Adds it to moto's IAM."""
    IamResponse.simulate_principal_policy = simulator(state_dir)  # type: ignore[attr-defined]


def simulator(state_dir: Path) -> Callable[[Any], ActionResult]:
    """The operation, as a method of moto's. Without a policy in force everything is allowed, as it is to the operator."""

    def simulate_principal_policy(self: Any) -> ActionResult:
        policy = policy_in_force(state_dir)
        asked = self._get_params()
        context = {each["ContextKeyName"]: each["ContextKeyValues"][0] for each in asked.get("ContextEntries", ())}

        def answer(action: str, resource: str) -> dict[str, str]:
            allowed = policy is None or policy.allowing(Ask(action, resource, context))
            decision = "allowed" if allowed else "implicitDeny"
            return {"EvalActionName": action, "EvalResourceName": resource, "EvalDecision": decision}

        answers = [answer(action, resource) for action in asked["ActionNames"] for resource in asked["ResourceArns"]]
        return ActionResult({"EvaluationResults": answers, "IsTruncated": False})

    return simulate_principal_policy
