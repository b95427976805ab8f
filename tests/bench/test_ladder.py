"""A ladder becomes an open loop per rung, in an order drawn for each block; all contestants run a rung back to back."""

from __future__ import annotations

import dataclasses
import json
from itertools import groupby
from pathlib import Path

import pytest
from click.testing import CliRunner

from bench.campaign.blocks import blocks_of
from bench.campaign.campaign_file import load_campaign
from bench.campaign.choice import Choice
from bench.campaign.ladder import Span, rungs_of, span_of, workloads_in
from bench.campaign.order import TrialSpec, order_of
from bench.campaign.scale import Scale
from bench.checkout import CHECKOUT
from bench.cli.main import samebox
from contract.workload import Workload
from provisioning.errors import InvalidInput
from tests.analysis.synthetic_results import Plan, write_results

FILE = """
schema = 1
name = "curve"
question = "How fast, at which rate?"
seed = 7
systems = ["pulsar", "kafka"]
durability = [1, 2]
blocks = 3

[[workloads]]
name = "curve"
pacing = "ladder"
rates_per_s = [1000, 2000, 4000, 8000]
rate_per_s = 8000
message_bytes = 1024
measure_s = 20
goal_p99_ms = 20

[[workloads]]
name = "steady"
rate_per_s = 500
message_bytes = 1024
measure_s = 20
"""
LADDER = Workload("curve", 8000, 1024, 20, pacing="ladder", rates_per_s=(1000, 4000, 8000), goal_p99_ms=20, producers=2)


def trials(folder: Path, before: str = "", after: str = "") -> tuple[TrialSpec, ...]:
    """The order of the campaign, after one replacement."""
    file = folder / "curve.toml"
    file.write_text(FILE.replace(before, after) if before else FILE)
    return order_of(load_campaign(file))


def test_a_rung_is_an_open_loop_that_knows_its_ladder() -> None:
    """Everything else is the ladder's: what only a ladder has is gone."""
    lowest, *_, highest = rungs_of(LADDER)
    assert lowest == dataclasses.replace(
        LADDER, name="curve-1000", rate_per_s=1000, pacing="open-loop", rates_per_s=(), ladder="curve"
    )
    assert (highest.name, highest.goal_p99_ms, highest.rung_rates_per_s) == ("curve-8000", 20, (8000,))


def test_any_other_workload_is_itself() -> None:
    """Not renamed, not changed."""
    steady = Workload("steady", 500, 1024, 20)
    assert rungs_of(steady) == (steady,)


def test_all_contestants_run_a_rung_back_to_back(tmp_path: Path) -> None:
    """Of each block, rung and level the two systems' trials are neighbours; every rung is there once."""
    found = trials(tmp_path)
    cells = [key for key, _ in groupby(found, key=lambda spec: (spec.block, spec.workload.name, spec.durability))]
    assert len(cells) == len(set(cells)) == 3 * 5 * 2
    assert all(
        len(list(own)) == 2 for _, own in groupby(found, key=lambda spec: (spec.block, spec.workload, spec.durability))
    )
    assert found[0].trial.startswith("b01-1-pulsar-l1-curve-")


def test_the_rungs_order_is_drawn_for_each_block_from_the_seed(tmp_path: Path) -> None:
    """Not that of the file in every block, and the same again for the same seed; other workloads keep their place."""
    drawn = {
        block: list(
            dict.fromkeys(
                spec.workload.name for spec in trials(tmp_path) if spec.block == block and spec.durability == "1"
            )
        )
        for block in (1, 2, 3)
    }
    assert {names[-1] for names in drawn.values()} == {"steady"}
    assert len({tuple(names) for names in drawn.values()}) > 1
    assert [
        each.name for each in workloads_in(blocks_of(3, 0)[1], load_campaign(tmp_path / "curve.toml").workloads, 7)
    ] == drawn[2]


def test_a_ladder_changes_nothing_of_the_trials_beside_it(tmp_path: Path) -> None:
    """Where places are shuffled, those of other workloads follow from the seed as ever."""
    file = tmp_path / "steady.toml"
    first, _, second = FILE.split("[[workloads]]")
    file.write_text((first + "[[workloads]]" + second).replace("blocks = 3", 'blocks = 3\norder = "fixed"'))
    alone = order_of(load_campaign(file))
    beside = trials(tmp_path, "blocks = 3", 'blocks = 3\norder = "fixed"')
    assert [spec for spec in beside if spec.workload.name == "steady"] == list(alone)


def test_a_name_that_a_rung_has_is_taken(tmp_path: Path) -> None:
    """Trials are named by their workloads."""
    with pytest.raises(InvalidInput, match="key 'workloads': curve-2000 is listed twice"):
        trials(tmp_path, '"steady"', '"curve-2000"')


def test_a_scale_shrinks_every_rung() -> None:
    """As an open loop: none below the least rate, none below a message a second for each producer, and each once."""
    scale = Scale(rate=0.1, least_rate_per_s=300)
    assert scale.of(LADDER).rung_rates_per_s == (300, 400, 800)
    assert Scale(rate=0.001, least_rate_per_s=1).of(LADDER).rung_rates_per_s == (2, 4, 8)
    assert Scale(rate=0.01).of(LADDER).rung_rates_per_s == (100,)
    spread = dataclasses.replace(LADDER, rates_per_s=(), lowest_rate_per_s=1000, rungs=4)
    assert scale.of(spread).rung_rates_per_s == (300, 416, 577, 800)


def test_a_ladder_represents_as_a_whole(tmp_path: Path) -> None:
    """Its rungs answer one question together."""
    trials(tmp_path)
    file = tmp_path / "curve.toml"
    chosen = Choice(representative=True).of(load_campaign(file), where=str(file))
    assert {spec.workload.name for spec in order_of(chosen)} == {f"curve-{rate}" for rate in (1000, 2000, 4000, 8000)}


def test_a_ladder_goes_from_where_the_slowest_is_at_rest_to_where_the_fastest_fails() -> None:
    """A quarter of the lowest rate sustained; the highest that failed, or, where none did, a tenth above the highest sustained."""
    assert span_of([(40_000, 41_234), (8_000, 8_200)]) == Span(2_000, 41_200)
    assert span_of([(40_000, None), (8_000, 8_200)]) == Span(2_000, 44_000)
    assert span_of([(3, None)]) == Span(1, 3)


def test_the_command_prints_the_keys_of_a_ladder(tmp_path: Path) -> None:
    """Per workload and level of the campaign's searches; they are keys that a campaign file takes. Nothing of trials that searched
    for nothing, or found nothing."""
    searches: dict[str, tuple[int | None, int | None] | None] = {
        "a": (8000, 8200),
        "b": (4000, None),
        "c": (None, 500),
        "d": None,
    }
    plans = []
    for at, (name, found) in enumerate(searches.items(), start=1):
        search: dict[str, object] = {"attempts": []}
        if found:
            search |= {"rate_per_s": found[0], "failed_per_s": found[1]}
        plans.append(
            Plan(
                f"b01-{at}-{name}-l1-max",
                1,
                at,
                name,
                only_telemetry=True,
                observations={"search": search if found else None},
            )
        )
    results = write_results(tmp_path / "results" / "demo", plans)
    said = CliRunner().invoke(
        samebox, ["rungs", str(results), "--rungs", "5"], standalone_mode=False, catch_exceptions=False
    )
    assert said.output == (
        "# steady, durability level 1: 4,000 to 8,000 msg/s were sustained\n"
        'pacing = "ladder"\nlowest_rate_per_s = 1000\nrate_per_s = 8200\nrungs = 5\n\n'
    )


def test_the_example_fits_a_machine() -> None:
    """At its local scale in well under half an hour, every rung by both systems; whole, it has blocks enough for intervals."""
    file = CHECKOUT / "campaigns" / "curve.toml"
    said = CliRunner().invoke(samebox, ["plan", str(file), "--scale", "local", "--json"], catch_exceptions=False)
    document = json.loads(said.stdout)
    assert document["estimate_s"] < 25 * 60
    assert len(document["trials"]) == 2 * 8
    assert load_campaign(file).blocks >= 6
