"""The campaign of all systems, as `samebox plan --json` shows it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

from bench.checkout import CHECKOUT
from bench.cli.main import samebox
from systems.registry import DURABILITY, SYSTEMS

FILE = str(CHECKOUT / "campaigns" / "five-systems.toml")
MOST_S = 95 * 60  # of the plan, which expects more runs of a search than most take


def planned(*options: str) -> dict[str, Any]:
    found = CliRunner().invoke(samebox, ["plan", FILE, *options, "--json"], catch_exceptions=False)
    document: dict[str, Any] = json.loads(found.stdout)
    return document


@pytest.fixture(scope="module")
def whole() -> dict[str, Any]:
    return planned()


@pytest.fixture(scope="module")
def local() -> dict[str, Any]:
    return planned("--scale", "local")


def test_every_system_runs_or_says_why_not(whole: dict[str, Any]) -> None:
    """At levels 1 and 2, in both experiments: it runs, or its cell is empty with a reason."""
    ran = {(trial["system"], DURABILITY[trial["durability"]].level, trial["experiment"]) for trial in whole["trials"]}
    empty = {(cell["system"], cell["experiment"]) for cell in whole["empty_cells"]}
    for experiment in ("FIVE-E1", "FIVE-E2"):
        for system in SYSTEMS:
            assert {(system, 1, experiment), (system, 2, experiment)} <= ran or (system, experiment) in empty
    assert all(cell["reason"] for cell in whole["empty_cells"])


def test_loads_differ_in_partitions_and_pacing_alone(whole: dict[str, Any]) -> None:
    """1 KiB, 1 and 6 partitions, at one fixed rate and at the highest sustained."""
    loads = {(each["workload"]["pacing"], each["workload"]["partitions"]) for each in whole["trials"]}
    assert loads == {(pacing, partitions) for pacing in ("open-loop", "search") for partitions in (1, 6)}
    assert {each["workload"]["message_bytes"] for each in whole["trials"]} == {1024}
    fixed = [each["workload"] for each in whole["trials"] if each["workload"]["pacing"] == "open-loop"]
    assert len({each["rate_per_s"] for each in fixed}) == 1


def test_every_pair_gets_an_interval_and_a_noise_band() -> None:
    """Ten blocks, and A/A blocks enough: the plan doesn't say that they are too few."""
    said = CliRunner().invoke(samebox, ["plan", FILE], catch_exceptions=False).stdout
    assert "10 blocks and" in said
    assert "Too few A/A blocks" not in said


def test_the_local_scale_takes_an_hour_and_a_half_at_most_and_shows_every_percentile(local: dict[str, Any]) -> None:
    """Each cell once, and messages enough for a p99.9."""
    assert local["estimate_s"] < MOST_S
    assert {trial["block"] for trial in local["trials"]} == {1}
    assert {trial["block_kind"] for trial in local["trials"]} == {"A/B"}
    for workload in (trial["workload"] for trial in local["trials"]):
        if workload["pacing"] == "open-loop":
            assert workload["rate_per_s"] * workload["measure_s"] >= 10_000
