"""Who holds infra/operator-policy.json may do all that samebox does, and nothing in the policy is there for nothing."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import botocore.session
import pytest
from botocore import xform_name

from provisioning.testbeds.aws.rehearsal.iam.asks import asks_of
from provisioning.testbeds.aws.rehearsal.iam.policy import Policy
from provisioning.testbeds.aws.rehearsal.iam.reference import GLOBAL_KEYS, REGION, as_iam_has_it, reference
from tests.infra.permissions.needs import (
    NOT_ON_AWS,
    Need,
    all_needs,
    condition_keys,
    operator_policy,
    product_needs,
    provider_needs,
)
from tests.infra.permissions.product import CALLS, COMMANDS, PROVIDER_BEYOND, Asks
from tests.infra.permissions.provider import recorded, recorded_calls, recorded_stack
from tests.infra.recorded_program import ROOT

RECORDED_CALLS = 760
REHEARSAL = ROOT / "provisioning/testbeds/aws/rehearsal"
TRANSFERS = {"s3.upload_file", "s3.download_file"}  # boto3's own, of several calls each
TYPED = re.compile(r"\baws ((?:ec2|emr|iam|s3|s3api|scheduler|service-quotas|ssm|sts) [a-z][a-z-]+)")
# statement -> a need that it alone fulfils
ALONE: Mapping[str, str] = {
    "Look": "the provider, DescribeVpcs: ec2:DescribeVpcs",
    "LookUpImages": "typed: aws ssm get-parameter: ssm:GetParameter",
    "StandUpInOneRegion": "the provider, RunInstances: ec2:RunInstances",
    "TagWhatIsBeingMade": "the provider, CreateVpc: ec2:CreateTags",
    "MakeTaggedRules": "the provider, AuthorizeSecurityGroupIngress: ec2:AuthorizeSecurityGroupIngress",
    "ChangeAndEndOnlyOurOwn": "the provider, TerminateInstances: ec2:TerminateInstances",
    "Roles": "the provider, CreateRole: iam:CreateRole",
    "OneManagedPolicyForEmr": "the provider, AttachRolePolicy: iam:AttachRolePolicy",
    "HandRolesToServices": "the provider, RunInstances: iam:PassRole",
    "EmrCleansUpAfterItself": "samebox emr.run_job_flow: iam:CreateServiceLinkedRole",
    "SweepManagedPolicies": "samebox iam.get_policy: iam:GetPolicy",
    "Timers": "the provider, CreateSchedule: scheduler:CreateSchedule",
    "ResultsBuckets": "samebox s3.upload_file: s3:PutObject",
}


@cache
def policy() -> Policy:
    """As it is handed out for the region of the recorded calls."""
    return operator_policy()


def refused(held: Policy, needs: Iterable[Need]) -> list[str]:
    """What somebody who holds a policy would be denied, in words."""
    return [str(need) for need in needs if not held.allowing(need.ask)]


def test_every_call_of_the_provider_is_allowed() -> None:
    """All recorded ones, but for what they were recorded with and AWS isn't asked; of that, the policy allows none."""
    assert sum(times for _, times in recorded()) == RECORDED_CALLS
    assert all(asks_of(call, recorded_stack()) for call in recorded_calls())
    denied = refused(policy(), provider_needs())
    assert not denied, "\n".join(denied)
    left_out = [call for call in recorded_calls() if call.action in NOT_ON_AWS]
    assert {call.action for call in left_out} == NOT_ON_AWS.keys()
    for call in left_out:
        assert not all(policy().allowing(as_iam_has_it(ask, REGION)) for ask in asks_of(call, recorded_stack())), call


def test_every_call_of_samebox_is_allowed() -> None:
    """Its own, the commands that it tells people to type, and what the provider does beyond the recording."""
    denied = refused(policy(), product_needs())
    assert not denied, "\n".join(denied)


@pytest.mark.parametrize("sid", ALONE)
def test_no_statement_can_be_missing(sid: str) -> None:
    """Without it, this need and others would be denied."""
    assert sid in [statement.sid for statement in policy().statements]
    denied = refused(Policy(tuple(each for each in policy().statements if each.sid != sid)), all_needs())
    assert any(need.startswith(ALONE[sid]) for need in denied), "\n".join(denied)


def test_every_statement_is_tried() -> None:
    """A new one needs its line above."""
    assert list(ALONE) == [statement.sid for statement in policy().statements]


def test_no_action_is_granted_for_nothing() -> None:
    """Each that a statement spells out is needed by something which that statement allows; patterns match at least one."""
    used = {(sid, need.ask.action) for need in all_needs() for sid in policy().allowing(need.ask)}
    for statement in policy().statements:
        for action in statement.actions:
            pattern = re.compile(re.escape(action).replace(r"\*", ".*"))
            assert any(sid == statement.sid and pattern.fullmatch(name) for sid, name in used), (statement.sid, action)


def test_another_region_is_another_policy() -> None:
    """Things are made in the region that the policy was handed out for."""
    denied = refused(operator_policy("eu-central-1"), provider_needs())
    made = ["InternetGateway", "PlacementGroup", "RouteTable", "SecurityGroup", "Subnet", "Vpc", "VpcEndpoint"]
    actions = {text.split(": ")[1].split()[0] for text in denied}
    assert actions == {"ec2:ImportKeyPair", "ec2:RunInstances", *(f"ec2:Create{what}" for what in made)}


def test_the_reference_was_extracted_for_this_policy() -> None:
    """A condition key that the extract doesn't know would be taken for absent (README.md says how to make it anew)."""
    assert reference().known_keys == condition_keys(policy()) - GLOBAL_KEYS


@pytest.mark.parametrize("table", [CALLS, COMMANDS, PROVIDER_BEYOND], ids=["calls", "commands", "beyond"])
def test_the_tables_ask_all_that_iam_asks(table: Mapping[str, Asks]) -> None:
    """About every resource type without which a call isn't complete; and with no context that IAM wouldn't have."""
    for what, asks in table.items():
        for action in {ask.action for ask in asks}:
            types = {reference().type_of(action, ask.resource) for ask in asks if ask.action == action}
            assert types >= reference().action(action).required, what
        for ask in asks:
            known = {key: value for key, value in ask.context.items() if key in condition_keys(policy())}
            assert known.items() <= as_iam_has_it(ask, REGION).context.items(), (what, ask)


def source() -> Iterator[Path]:
    """The Python files that may know AWS (tests/architecture holds the others to it), and those that print messages about it.

    Not the stand-in for AWS itself, which asks nobody but this machine.
    """
    for room in ("bench/cli", "infra", "provisioning/testbeds/aws"):
        files = sorted((ROOT / room).rglob("*.py"))
        yield from (path for path in files if not path.is_relative_to(REHEARSAL))


def words_and_services() -> tuple[set[str], set[str]]:
    """Every attribute and string of the source; and the services for which a client is asked."""
    words, services = set(), set()
    for path in source():
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(func=ast.Attribute(attr="client" | "items"), args=[ast.Constant(value=str(service)), *_]):
                    services.add(service)
                case ast.Attribute(attr=word) | ast.Constant(value=str(word)):
                    words.add(word)
    return words, services


def operations(services: Collection[str]) -> dict[str, set[str]]:
    """describe_vpcs -> {ec2.describe_vpcs}: the client methods of services."""
    found: dict[str, set[str]] = {}
    for service in services:
        for name in botocore.session.get_session().get_service_model(service).operation_names:
            found.setdefault(xform_name(name), set()).add(f"{service}.{xform_name(name)}")
    for transfer in TRANSFERS:
        found[transfer.partition(".")[2]] = {transfer}
    return found


def test_the_table_has_the_calls_of_the_source() -> None:
    """A client's method that stands in the source, called or as a word (many are called by name), is in the table; and no other."""
    words, services = words_and_services()
    assert services == {name.partition(".")[0] for name in CALLS}
    known = operations(services)
    found = [known[word] for word in words & known.keys()]
    unknown = [names for names in found if not names & CALLS.keys()]
    assert unknown == [], "what do these ask IAM? tests/infra/permissions/product.py"
    assert set().union(*found) >= CALLS.keys()


def test_the_table_has_the_commands_of_documents_and_messages() -> None:
    """`aws SERVICE COMMAND`, wherever people read it."""
    files = [ROOT / "README.md", ROOT / "docs/aws.md"]
    assert {command for path in [*files, *source()] for command in TYPED.findall(path.read_text())} == COMMANDS.keys()
