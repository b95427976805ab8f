"""Every preset, and a stack in a network that is given, keeps the rules; and the rules notice what breaks them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from provisioning.testbeds.aws.shape import preset_files
from tests.infra.project import NewProject
from tests.infra.recorded_program import ROOT, Recording, Registered, preset, record
from tests.infra.stack_rules import RULES, broken
from tests.infra.test_given_network import recorded

INSTANCE, INGRESS = "ec2/instance:Instance", ":SecurityGroupIngressRule"
WRONG: tuple[tuple[str, dict[str, Any], str], ...] = (
    (INGRESS, {"cidrIpv4": "0.0.0.0/0"}, "lets in 0.0.0.0/0"),
    (INGRESS, {"cidrIpv6": "::/0"}, "lets in ::/0"),
    (INGRESS, {"cidrIpv4": "203.0.113.7/32", "ipProtocol": "-1"}, "more than SSH"),
    (":SecurityGroupEgressRule", {"cidrIpv4": "0.0.0.0/0"}, "lets out by cidrIpv4"),
    (":SecurityGroup", {"ingress": []}, "rules inside itself"),
    ("ec2/keyPair:KeyPair", {"tags": {"project": "samebox"}}, "tags lack campaign, stack, owner, expires"),
    (INSTANCE, {"volumeTags": {}}, "volumeTags lack project"),
    (INSTANCE, {"instanceType": "p5.48xlarge"}, "is of type p5.48xlarge"),
    (INSTANCE, {"instanceInitiatedShutdownBehavior": "stop"}, "only stopped"),
    (INSTANCE, {"tags": {"expires": "never"}}, "doesn't say when it ends"),
    (INSTANCE, {"rootBlockDevice": {"encrypted": False}}, "isn't encrypted"),
    (INSTANCE, {"metadataOptions": {"httpTokens": "optional"}}, "unsigned requests"),
    ("scheduler/schedule:Schedule", {"scheduleExpression": "rate(1 hour)"}, "no one time"),
    ("scheduler/schedule:Schedule", {"actionAfterCompletion": "NONE"}, "stays when it has run"),
)


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """The smoke preset, from which wrong resources are made."""
    return record(preset("smoke", tmp_path_factory.mktemp("operator")))


@pytest.mark.parametrize("stack", [file.stem for file in preset_files(ROOT)])
def test_every_preset_keeps_the_rules(tmp_path: Path, stack: str) -> None:
    """All that it registers."""
    recording = record(preset(stack, tmp_path), stack=stack)
    assert recording.error == "" and len(recording.resources) > 50
    assert broken(recording.resources) == []


def test_a_stack_in_a_given_network_keeps_the_rules(tmp_path: Path) -> None:
    """Its security groups stand where others are."""
    assert broken(recorded(tmp_path).resources) == []


@pytest.mark.parametrize(("kind", "change", "says"), WRONG)
def test_a_rule_that_is_broken_is_noticed(smoke: Recording, kind: str, change: dict[str, Any], says: str) -> None:
    """One property of one resource is enough."""
    right = next(iter(smoke.of_type(kind).values()))
    assert broken((right,)) == []
    wrong: Registered = replace(right, inputs={**right.inputs, **change})
    assert any(says in sentence for sentence in broken((wrong,)))


def test_every_rule_has_something_that_breaks_it(smoke: Recording) -> None:
    """A rule that nothing can break says nothing."""
    right = [(next(iter(smoke.of_type(kind).values())), change) for kind, change, _ in WRONG]
    wrong = [replace(each, inputs={**each.inputs, **change}) for each, change in right]
    for rule in RULES:
        assert any(list(rule(each)) for each in wrong), rule


@pytest.mark.integration
@pytest.mark.infra
def test_what_the_engine_would_make_keeps_the_rules(new_project: NewProject) -> None:
    """As the provider has checked and completed it, in a preview."""
    shown = json.loads(new_project().pulumi("preview", "--json").output)
    states = [step["newState"] for step in shown["steps"]]
    planned = [
        Registered(each["type"], each["urn"].split("::")[-1], each.get("inputs", {}), {}, "", ()) for each in states
    ]
    assert sum(each.type.endswith(INSTANCE) for each in planned) == 5
    assert broken(planned) == []
