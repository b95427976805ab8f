"""What no stack's state knows: told from what one knows, from what hangs on that, and from what holds results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from provisioning.testbeds.aws.failures import StackFailed
from provisioning.testbeds.aws.leftovers import Leftover
from provisioning.testbeds.aws.orphans import known_ids, only_orphans
from provisioning.testbeds.aws.pulumi_command import Answer, ScriptedPulumi
from provisioning.testbeds.aws.stack import Stack
from provisioning.testbeds.aws.sweep import Found

REGION = "us-west-2"
LIST = "stack ls --non-interactive --json"
PROVIDER = "urn:pulumi:sn::samebox::pulumi:providers:aws::aws"
LOCKED = Answer(stderr="error: the stack is currently locked by 1 lock(s).", exit_status=255)


def export(stack: str) -> str:
    """The command that shows a stack's state."""
    return f"stack export --non-interactive --stack {stack}"


def refresh(stack: str) -> str:
    """The command that takes a stack's lock."""
    return f"refresh --non-interactive --stack {stack} --yes --skip-preview --json --target {PROVIDER}"


def state(*ids: str, campaign: str = "c1") -> str:
    """A state with these instances, and what every state has."""
    inputs = {"tags": {"campaign": campaign}}
    made = [{"urn": f"urn:{each}", "type": "aws:ec2/instance:Instance", "id": each, "inputs": inputs} for each in ids]
    provider = {"urn": PROVIDER, "type": "pulumi:providers:aws", "id": "0-1"}
    stack = {"urn": "urn:pulumi:sn::samebox::pulumi:pulumi:Stack::samebox-sn", "type": "pulumi:pulumi:Stack"}
    return json.dumps({"version": 3, "deployment": {"resources": [stack, provider, *made]}})


def known(*script: tuple[str, str | Answer]) -> dict[str, str]:
    """What the states know, asked of stack sn over a scripted pulumi."""
    pulumi = ScriptedPulumi(list(script))
    found = known_ids(Stack("sn", Path(), command=pulumi), "c1")
    pulumi.require_done()
    return found


def thing(kind: str, identifier: str, **more: Any) -> Leftover:
    """Something of campaign c1."""
    return Leftover(kind, identifier, REGION, "c1", **more)


def orphans(*leftovers: Leftover, known: dict[str, str]) -> tuple[set[str], dict[str, str]]:
    """Ids of the orphans, and of all else with the reason."""
    found = only_orphans(Found((REGION,), leftovers, ()), known)
    return {each.id for each in found.leftovers}, {each.leftover.id: each.reason for each in found.left_alone}


def test_a_running_testbed_is_left_alone_and_the_orphan_is_not() -> None:
    """A replacement was killed: one host belongs to nobody, and its volume with it."""
    found, alone = orphans(
        thing("instance", "i-1"),
        thing("volume", "vol-1", holder="i-1"),
        thing("network interface", "eni-1", holder="i-1"),
        thing("VPC", "vpc-1"),
        thing("instance", "i-9"),
        thing("volume", "vol-9", holder="i-9"),
        known={"i-1": "sn", "vpc-1": "sn"},
    )
    assert found == {"i-9", "vol-9"}
    assert alone == {
        "i-1": "known to stack sn",
        "vpc-1": "known to stack sn",
        "vol-1": "attached to i-1 of stack sn",
        "eni-1": "attached to i-1 of stack sn",
    }


def test_a_running_report_is_left_alone() -> None:
    """No state knows an EMR cluster: one that works in a stack's subnet is its report, with machines and disks."""
    report = (
        thing("EMR cluster", "j-1", state="running", holder="subnet-1"),
        thing("instance", "i-7", holder="j-1"),
        thing("volume", "vol-7", holder="i-7"),
    )
    found, alone = orphans(*report, thing("EMR cluster", "j-2", state="waiting"), known={"subnet-1": "sn"})
    assert found == {"j-2"}
    assert alone == {
        "j-1": "makes a report in subnet-1 of stack sn",
        "i-7": "machine of EMR cluster j-1 of stack sn",
        "vol-7": "attached to i-7 of stack sn",
    }
    assert orphans(*report, known={}) == ({"j-1", "i-7", "vol-7"}, {}), (
        "the stack has gone, and nobody waits for the report"
    )


def test_buckets_with_results_are_no_orphans() -> None:
    """Kept ones stay, said why; empty ones of stacks that are gone may go; the stack's own is its own, empty or not."""
    found, alone = orphans(
        thing("S3 bucket", "samebox-c1-old", kept=True),
        thing("S3 bucket", "samebox-c1-empty", kept=True, empty=True),
        thing("S3 bucket", "samebox-c1-own", kept=True, empty=True),
        known={"samebox-c1-own": "sn"},
    )
    assert found == {"samebox-c1-empty"}
    assert alone == {"samebox-c1-old": "holds results", "samebox-c1-own": "known to stack sn"}


def test_the_state_is_asked_once_nobody_changes_it() -> None:
    """The lock is taken for nothing in between; ids and ARNs count, of this stack alone if no other has anything."""
    listed = '[{"name": "sn", "resourceCount": 2}, {"name": "empty", "resourceCount": 0}]'
    before, after = state("i-1"), state("i-1", "i-2")
    asked = ((export("sn"), before), (refresh("sn"), ""), (export("sn"), after), (LIST, listed))
    assert known(*asked) == {"0-1": "sn", "i-1": "sn", "i-2": "sn"}
    assert known((export("sn"), "{}"), (LIST, listed)) == {}
    role = {"urn": "u", "type": "aws:iam/role:Role", "id": "r", "outputs": {"arn": "arn:aws:iam::1:role/r"}}
    assert known((export("sn"), json.dumps({"deployment": {"resources": [role]}})), (LIST, listed)) == {
        "r": "sn",
        "arn:aws:iam::1:role/r": "sn",
    }


def test_a_stack_that_is_being_changed_is_not_asked() -> None:
    """What an update has just made looks like an orphan: refused, with what to do if nobody works on it."""
    with pytest.raises(StackFailed, match="stack sn is locked") as raised:
        known((export("sn"), state("i-1")), (refresh("sn"), LOCKED))
    assert "`pulumi cancel sn`, then `samebox sweep --stack sn --orphans`" in raised.value.next_step


def test_two_stacks_with_one_campaign_know_each_others_things() -> None:
    """Tags don't tell them apart, so both are asked; one of another campaign isn't waited for."""
    listed = json.dumps([{"name": name, "resourceCount": 9} for name in ("sn", "twin", "other")])
    found = known(
        (export("sn"), state("i-1")),
        (refresh("sn"), ""),
        (export("sn"), state("i-1")),
        (LIST, listed),
        (export("twin"), state("i-2")),
        (refresh("twin"), ""),
        (export("twin"), state("i-2", "i-3")),
        (export("other"), state("i-4", campaign="c2")),
    )
    assert found == {"0-1": "sn", "i-1": "sn", "i-2": "twin", "i-3": "twin"}
