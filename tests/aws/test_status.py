"""`samebox status`: what it looked at and what it didn't, for the local testbed and for a stack whose hosts don't answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from bench.cli import status as command
from provisioning.errors import HostUnreachable
from provisioning.hosts.inventory import Inventory
from provisioning.testbeds.aws.pulumi_command import ScriptedPulumi
from provisioning.testbeds.aws.stack import Stack
from provisioning.testbeds.local.testbed import LocalTestbed
from tests.aws import engine
from tests.aws.test_stack import OUTPUT

Status = Callable[..., str]


def ending(inventory: Inventory, hours: float) -> Inventory:
    """The inventory, whose hosts end so many hours from now."""
    return replace(inventory, expires=(datetime.now(UTC) + timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%SZ"))


@pytest.fixture
def status(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Status:
    """Types the command; no local testbed, no results, hosts that nobody reaches, and what stack sn exports."""

    def unreachable(inventory: Inventory) -> None:
        raise HostUnreachable(inventory.hosts[-1].name, "no SSH connection to it.")

    monkeypatch.setattr(command, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(command, "STACKS_STATE", tmp_path / "stacks")
    monkeypatch.setattr(command, "local_testbed", lambda: LocalTestbed(tmp_path / "testbed"))
    monkeypatch.setattr(command, "detached_state", unreachable)

    def run(*arguments: str, exported: str = "{}") -> str:
        stack = Stack("sn", tmp_path, command=ScriptedPulumi([(OUTPUT, exported)]))
        monkeypatch.setattr(command, "stack_of", lambda _: stack)
        result = CliRunner().invoke(command.status, arguments, standalone_mode=False)
        assert result.exception is None, result.exception
        return result.output

    return run


def test_without_a_stack_it_speaks_of_the_local_testbed_alone(status: Status, tmp_path: Path) -> None:
    """It says so, names the stacks that were worked on from here, and asks nobody about them."""
    assert status() == "local testbed: down\n"
    for name in ("smoke", "org--samebox--sn"):
        (tmp_path / "stacks" / name).mkdir(parents=True)
    said = status()
    assert said.startswith("local testbed: down\n")
    for name in ("smoke", "org/samebox/sn"):
        assert f"stack {name} was used from here and hasn't been looked at: samebox status --stack {name}" in said
    document = json.loads(status("--json"))
    assert (document["looked_at"], document["testbed"]) == ("local testbed", [])
    assert document["stacks_not_asked"] == ["org/samebox/sn", "smoke"]


def test_hosts_of_a_stack_that_do_not_answer_are_not_down(status: Status) -> None:
    """They cost money: they are counted with their end, and what isn't known is said."""
    shown = ending(engine.inventory(), 2)
    said = status("--stack", "sn", exported=engine.outputs(shown))
    assert f"stack sn: 4 hosts up until {shown.expires}" in said
    assert "whether a detached campaign runs there isn't known: client-1: no SSH connection" in said
    assert status("--stack", "sn") == "stack sn: down\n"


def test_hosts_past_their_end_are_not_called_up(status: Status) -> None:
    """Their timers have ended them, or should have: only a sweep knows."""
    shown = ending(engine.inventory(), -1)
    said = status("--stack", "sn", exported=engine.outputs(shown))
    assert f"stack sn: 4 hosts, whose time to live ended at {shown.expires}; `samebox sweep` shows what is left" in said
