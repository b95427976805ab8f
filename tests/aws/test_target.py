"""Which testbed a command works on: --inventory, --stack or neither, and what of it is kept where."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from bench.checkout import CHECKOUT, STACKS_STATE, TESTBED_STATE, VETTING_STATE
from bench.cli import campaign, target
from bench.cli.target import Target, target_of
from provisioning.errors import InvalidInput, SameboxError
from provisioning.testbeds.aws.pulumi_command import ScriptedPulumi
from provisioning.testbeds.aws.stack import Stack
from tests.aws import engine
from tests.aws.test_stack import OUTPUT


def test_each_testbed_has_its_own_lock_and_vetting() -> None:
    """A stack's work doesn't wait for the local testbed's, nor does its vetting overwrite the other's."""
    assert (target_of(None, None).state, target_of(None, None).vetting_file) == (TESTBED_STATE, VETTING_STATE)
    assert target_of(None, "sn").state == STACKS_STATE / "sn"
    assert target_of(None, "org/samebox/sn").vetting_file == STACKS_STATE / "org--samebox--sn" / "vetting.json"
    assert [target.typed for target in (Target(), Target(stack_name="sn"))] == ["", " --stack sn"]


def test_two_testbeds_at_once_are_refused() -> None:
    """--inventory beside --stack."""
    with pytest.raises(InvalidInput, match="two testbeds"):
        target_of(Path("hosts.json"), "sn")


def test_a_stack_is_read_from_its_outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its inventory, or what to type when nothing is up."""
    stack = Stack("sn", Path(), command=ScriptedPulumi([(OUTPUT, engine.outputs(engine.inventory())), (OUTPUT, "{}")]))
    monkeypatch.setattr(target, "stack_of", lambda name: {"sn": stack}[name])
    assert Target(stack_name="sn").inventory() == engine.inventory()
    with pytest.raises(SameboxError, match="nothing is up in stack sn") as raised:
        Target(stack_name="sn").inventory()
    assert "samebox campaign aws CAMPAIGN --stack sn" in raised.value.next_step


@pytest.mark.parametrize(
    ("left", "words"), [(timedelta(minutes=8), "the hosts end at"), (-timedelta(hours=1), "ended at")]
)
def test_a_plan_longer_than_the_hosts_live_is_refused(
    left: timedelta, words: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Before earlier results are set aside, and before anything is done on a host."""
    end = (datetime.now(UTC) + left).strftime("%Y-%m-%dT%H:%M:%SZ")
    shown = engine.outputs(replace(engine.inventory(), expires=end))
    stack = Stack("sn", Path(), command=ScriptedPulumi([(OUTPUT, shown)]))
    monkeypatch.setattr(target, "stack_of", lambda _: stack)
    monkeypatch.setattr(target, "STACKS_STATE", tmp_path / "stacks")
    monkeypatch.setattr(campaign, "RESULTS", tmp_path / "results")
    earlier = tmp_path / "results" / "smoke"
    earlier.mkdir(parents=True)
    arguments = [str(CHECKOUT / "campaigns" / "smoke.toml"), "--stack", "sn", "--again"]
    result = CliRunner().invoke(campaign.run, arguments, standalone_mode=False)
    assert isinstance(result.exception, InvalidInput)
    assert words in str(result.exception)
    assert earlier.is_dir()
