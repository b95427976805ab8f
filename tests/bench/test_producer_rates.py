"""Workloads that ask more of one process than it has been measured to send are told before anything is spent."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any

import pytest
from click.testing import CliRunner

from bench.campaign.contestant import plain
from bench.campaign.order import TrialSpec
from bench.campaign.producer_rates import beyond_a_process, warning_lines
from bench.checkout import CHECKOUT
from bench.cli.main import samebox
from contract.workload import Workload
from systems.registry import SYSTEMS

CAMPAIGNS = CHECKOUT / "campaigns"
MEASURED = {name: system.producer_rate.messages_per_s for name, system in SYSTEMS.items() if not system.untried}
SYSTEM, SLOWER = sorted(MEASURED, key=lambda name: -MEASURED[name])[:2]
RATE = SYSTEMS[SYSTEM].producer_rate.messages_per_s


def trial(system: str = SYSTEM, name: str = "steady", **changes: Any) -> TrialSpec:
    """One of a workload at twice the rate of a process, by two producers, unless changed."""
    usual = {"rate_per_s": 2 * RATE, "message_bytes": 1024, "measure_s": 10, "producers": 2}
    return TrialSpec(f"b01-{system}-{name}", 1, 1, plain(system), "1", Workload(name, **{**usual, **changes}), "one")


def test_each_producer_is_held_against_what_one_process_sends() -> None:
    """Not the workload's rate, and not more than once for all blocks; the native tools have a load of their own."""
    assert beyond_a_process([trial()]) == ()
    over = trial(rate_per_s=2 * RATE + 2)
    native = dataclasses.replace(over, generator="native")
    (found,) = beyond_a_process([over, dataclasses.replace(over, block=2), native])
    assert (found.system, found.asked_per_s, found.measured_per_s, found.producers) == (SYSTEM, RATE + 1, RATE, 2)
    assert [each.system for each in beyond_a_process([trial(), trial(SLOWER)])] == [SLOWER]


def test_of_a_rate_that_is_only_a_bound_what_is_expected_counts() -> None:
    """A search may be allowed to go far; it is told where it is expected to."""
    search: dict[str, Any] = {"pacing": "search", "rate_per_s": 100 * RATE, "producers": 1}
    assert beyond_a_process([trial(**search, expected_rate_per_s=RATE)]) == ()
    assert len(beyond_a_process([trial(**search, expected_rate_per_s=RATE + 1)])) == 1


def test_the_warning_names_figures_their_source_and_what_to_do() -> None:
    """A line for each rate of a system, with its workloads; no line where nothing is asked."""
    assert warning_lines(()) == []
    lines = warning_lines(beyond_a_process([trial(name=name, producers=1) for name in ("one", "two")]))
    assert f"  {SYSTEM}: {2 * RATE:,} msg/s per producer, {RATE:,} measured: one, two" in lines
    assert any(SYSTEMS[SYSTEM].producer_rate.source in line for line in lines)
    assert "`producers` shares the rate" in lines[-1]


@pytest.mark.parametrize(
    "arguments", [("plan", "--stack", "sn2022"), ("cost", "--stack", "sn2022"), ("plan", "--scale", "local")]
)
def test_plan_and_cost_warn(arguments: tuple[str, ...]) -> None:
    """The report of 2022 as published asks 125,000 a second of each producer; shrunk to this machine it asks for little."""
    command, *options = arguments
    said = CliRunner().invoke(samebox, [command, str(CAMPAIGNS / "sn2022.toml"), *options])
    assert said.exit_code == 0, said.output
    shrunk = "--scale" in options
    assert ("125,000 msg/s per producer" in said.output) is not shrunk
    document = json.loads(
        CliRunner().invoke(samebox, [command, str(CAMPAIGNS / "sn2022.toml"), *options, "--json"]).stdout
    )
    assert bool(document["beyond_a_process"]) is not shrunk


def test_the_figures_are_those_of_the_readme() -> None:
    """A new measurement there is a new figure here; what was never run isn't there."""
    rows = re.findall(
        r"^\| (\w+), highest rate, (one process|two processes) \| ([\d,]+) msg/s",
        (CHECKOUT / "README.md").read_text(), re.MULTILINE,
    )  # fmt: skip
    printed = {
        name.lower(): int(rate.replace(",", "")) // (2 if processes == "two processes" else 1)
        for name, processes, rate in rows
    }
    assert printed == MEASURED
