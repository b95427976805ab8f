"""`samebox doctor --stack`, the line about permissions: what IAM's simulator would answer for the operator's policy, and for less."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from botocore.exceptions import ClientError

from bench.checkout import CHECKOUT
from provisioning.testbeds.aws.readiness.looks import _unanswered
from provisioning.testbeds.aws.readiness.permissions import look_at_permissions, policy_source, statements_of
from provisioning.testbeds.aws.readiness.planned import Answer, planned
from provisioning.testbeds.aws.rehearsal.iam.policy import Ask, Policy
from provisioning.testbeds.aws.session import Region
from tests.infra.permissions.needs import POLICY_FILE, operator_policy

ACCOUNT, REGION = "123456789012", "us-west-2"
USER = f"arn:aws:iam::{ACCOUNT}:user/ops/reader"
SIDS = [each.sid for each in statements_of(POLICY_FILE.read_text(), ACCOUNT, REGION)]


class Caller:
    """A session of somebody who holds a policy: sts, iam's roles, and its simulator, which answers by our evaluator."""

    def __init__(
        self, policy: Policy, arn: str = USER, *, roles: Mapping[str, str] = {}, missing: Mapping[str, str] = {}
    ) -> None:
        self.policy, self.arn, self.roles, self.missing = policy, arn, roles, missing
        self.simulated: list[Ask] = []

    def client(self, service: str) -> Caller:
        """Both services are this one."""
        assert service in ("sts", "iam")
        return self

    def get_caller_identity(self) -> Mapping[str, str]:
        """As STS says it."""
        return {"Account": ACCOUNT, "Arn": self.arn}

    def can_paginate(self, _: str) -> bool:
        """Both can be."""
        return True

    def get_paginator(self, operation: str) -> Any:
        """Of the two operations that are asked page by page."""
        return {"list_roles": Pages(self._roles), "simulate_principal_policy": Pages(self._simulate)}[operation]

    def _roles(self) -> Mapping[str, Any]:
        return {"Roles": [{"RoleName": name, "Arn": arn} for name, arn in self.roles.items()]}

    def _simulate(
        self, *, PolicySourceArn: str, ActionNames: list[str], ResourceArns: list[str], ContextEntries: list[Any]
    ) -> Mapping[str, Any]:
        assert PolicySourceArn in (self.arn, *self.roles.values())
        context = {each["ContextKeyName"]: each["ContextKeyValues"][0] for each in ContextEntries}
        asks = [Ask(action, resource, context) for action in ActionNames for resource in ResourceArns]
        self.simulated += asks
        return {"EvaluationResults": [self._answer(ask) for ask in asks]}

    def _answer(self, ask: Ask) -> Mapping[str, Any]:
        if ask.action in self.missing:
            decision = {"EvalDecision": "implicitDeny", "MissingContextValues": [self.missing[ask.action]]}
        else:
            decision = {"EvalDecision": "allowed" if self.policy.allowing(ask) else "implicitDeny"}
        return {"EvalActionName": ask.action, "EvalResourceName": ask.resource, **decision}


class Pages:
    """A paginator whose answer is one page."""

    def __init__(self, answer: Any) -> None:
        self.paginate = lambda **asked: [answer(**asked)]


def look(caller: Caller) -> Answer:
    """At the smoke preset's stack."""
    return look_at_permissions(planned(CHECKOUT, "smoke"), Region(caller, REGION))  # type: ignore[arg-type]


def test_whoever_holds_the_operators_policy_may_do_all_of_it() -> None:
    """Every action that the policy spells out is simulated, and none with a wildcard."""
    caller = Caller(operator_policy())
    found = look(caller)
    spelled = [action for each in operator_policy().statements for action in each.actions if "*" not in action]
    assert found.met is True
    assert found.found == f"IAM would allow {USER} all {len(spelled)} permissions of infra/operator-policy.json"
    assert {ask.action for ask in caller.simulated} == set(spelled)
    assert all("*" not in ask.resource.removeprefix("*") for ask in caller.simulated)


@pytest.mark.parametrize("sid", SIDS)
def test_a_statement_that_is_missing_is_named(sid: str) -> None:
    """Also where another statement allows the same action on other things, as of security groups and their rules."""
    found = look(Caller(Policy(tuple(each for each in operator_policy().statements if each.sid != sid))))
    assert found.met is False
    assert f"({sid})" in found.found
    assert "docs/aws.md, Permissions" in found.next_step


def test_another_regions_policy_does_not_do() -> None:
    """The statement that stands things up is for one region."""
    found = look(Caller(operator_policy("eu-central-1")))
    assert found.met is False
    assert "ec2:CreateCapacityReservation (StandUpInOneRegion)" in found.found
    assert "and 7 more" in found.found


def test_what_depends_on_conditions_of_the_account_is_not_known() -> None:
    """Such as multi-factor authentication: the simulator says that it wasn't told."""
    found = look(Caller(operator_policy(), missing={"ec2:RunInstances": "aws:MultiFactorAuthPresent"}))
    assert found.met is None
    assert "ec2:RunInstances (StandUpInOneRegion)" in found.found
    assert "multi-factor authentication" in found.next_step


@pytest.mark.parametrize(
    ("arn", "roles", "source"),
    [
        (USER, {}, USER),
        (f"arn:aws:iam::{ACCOUNT}:root", {}, None),
        (
            f"arn:aws:sts::{ACCOUNT}:assumed-role/AWSReservedSSO_a/me",
            {"other": "arn:o", "AWSReservedSSO_a": "arn:of/a/path/AWSReservedSSO_a"},
            "arn:of/a/path/AWSReservedSSO_a",
        ),
        (f"arn:aws:sts::{ACCOUNT}:assumed-role/gone/me", {}, f"arn:aws:iam::{ACCOUNT}:role/gone"),
    ],
)
def test_whose_policies_are_simulated(arn: str, roles: Mapping[str, str], source: str | None) -> None:
    """A session's are those of its role, whose ARN has a path; the root user is limited by none."""
    caller: Any = Caller(operator_policy(), arn, roles=roles)
    assert policy_source(Region(caller, REGION), arn) == source
    if source is None:
        assert look(caller).met is True


def test_who_may_not_ask_is_told_which_permission_that_takes() -> None:
    """It is no reason to refuse a campaign."""
    error = ClientError({"Error": {"Code": "AccessDenied", "Message": "No."}}, "SimulatePrincipalPolicy")
    found = _unanswered(error)
    assert (found.met, found.next_step) == (
        None,
        "Allow iam:SimulatePrincipalPolicy (infra/operator-policy.json has it).",
    )
