"""How much of a campaign is run: scales by their rules, what represents an experiment, and how the choice is remembered."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bench.campaign.campaign_file import load_campaign
from bench.campaign.choice import Choice, choice_of
from bench.campaign.estimate import (
    AROUND_A_RUN_S,
    CONNECT_S,
    SEARCH_CONFIRMATIONS,
    SEARCH_FINDS,
    SEARCH_RISES,
    SEARCH_STEPS,
    SEARCH_WARMUPS,
    gibibytes,
    load_s,
    messages,
    messages_kept,
    sending_s,
)
from bench.campaign.prepared import Prepared, plan_of, prepare
from bench.campaign.scale import Scale
from bench.cli.main import samebox
from bench.load.search import WARMUP_RUN_S
from bench.orchestrator.place import TASK_SCHEMA, Task
from bench.results.folder import Results
from bench.run.equipped import Equipped
from bench.run.manifest import Origin, manifest_of
from bench.run.runner import require_continuable
from bench.run.vetted import Vetted
from contract.workload import LEAST_BOUND_S, Workload
from provisioning.document import build
from provisioning.errors import InvalidInput
from systems.registry import SYSTEMS
from tests.aws import engine

CAMPAIGN = """
schema = 1
name = "two"
question = "Which?"
seed = 7
systems = ["pulsar", "kafka"]
blocks = 2
[scales.tiny]
rate = 0.01
duration = 0.1
[[experiments]]
id = "X-1"
title = "first"
durability = [1, 2]
durability_of = { kafka = [2] }
representative = { durability = [2], workload = "large" }
[[experiments.workloads]]
name = "small"
rate_per_s = 1000
message_bytes = 100
measure_s = 200
[[experiments.workloads]]
name = "large"
rate_per_s = 100_000
message_bytes = 1024
measure_s = 200
[[experiments]]
id = "X-2"
title = "second"
systems = ["kafka"]
durability = [2, 1]
[[experiments.workloads]]
name = "other"
rate_per_s = 5000
message_bytes = 1024
measure_s = 60
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The campaign above as a file."""
    path = tmp_path / "two.toml"
    path.write_text(CAMPAIGN)
    return path


def workload(**changes: Any) -> Workload:
    """A workload as a campaign file would give it."""
    keys = {"name": "steady", "rate_per_s": 50_000, "message_bytes": 1024, "measure_s": 180, **changes}
    return build(Workload, keys, where="test.toml")


def names(prepared: Prepared) -> list[str]:
    """The trials in their order."""
    return [trial.trial for trial in prepared.trials]


def test_a_scale_shrinks_each_dimension_by_its_own_rule() -> None:
    """An open loop's rate, times, partitions; what belongs to messages and clients stays."""
    scale = Scale(rate=0.01, bound=0.5, duration=0.1, partitions=0.1)
    full = workload(partitions=2000, warmup_s=60, subscriptions=2, consumers=4, drain_s=300)
    small = scale.of(full)
    assert (small.rate_per_s, small.partitions, small.warmup_s, small.measure_s, small.drain_s) == (500, 200, 6, 18, 30)
    grown = dataclasses.replace(small, rate_per_s=50_000, partitions=2000, warmup_s=60, measure_s=180, drain_s=300)
    assert grown == full


def test_a_warm_up_until_steady_keeps_the_time_that_it_takes_to_tell() -> None:
    """A scale doesn't shrink its bound below what a campaign file may say."""
    full = workload(warmup_s=120, warmup="until-steady")
    assert Scale(duration=0.1).of(full).warmup_s == LEAST_BOUND_S
    assert Scale(duration=0.5).of(full).warmup_s == 60


def test_nothing_is_shrunk_below_its_least_and_what_is_below_stays() -> None:
    """The least value bounds the shrinking; it never makes anything larger."""
    scale = Scale(rate=0.0001, duration=0.01, partitions=0.01)
    small = scale.of(workload(partitions=500))
    assert (small.rate_per_s, small.partitions, small.measure_s) == (100, 100, 10)
    tiny = workload(rate_per_s=40, partitions=3, measure_s=5, warmup_s=1)
    assert scale.of(tiny) == tiny


def test_a_search_and_a_closed_loop_keep_a_bound_that_can_be_reached() -> None:
    """Their rate is only a bound: it has a factor of its own, and what is expected follows it."""
    search = workload(pacing="search", rate_per_s=1_000_000, expected_rate_per_s=400_000)
    small = Scale(rate=0.001, bound=0.1).of(search)
    assert (small.rate_per_s, small.expected_rate_per_s) == (100_000, 40_000)


def test_a_scale_may_bound_the_steps_of_a_search() -> None:
    """Of searches only, never upwards, in the estimate, and in what the report says."""
    scale = Scale(search_steps=4)
    search = workload(pacing="search")
    assert scale.of(search).search_steps == 4
    assert scale.of(dataclasses.replace(search, search_steps=2)).search_steps == 2
    assert scale.of(workload()).search_steps is None
    assert sending_s(scale.of(search)) < sending_s(search)
    assert scale.sentences() == ("steps of a search: at most 4",)


def test_a_scale_limits_the_blocks_of_either_kind(file: Path) -> None:
    """A campaign that has fewer keeps them; said in words beside the factors."""
    campaign = dataclasses.replace(
        load_campaign(file), blocks=6, aa_blocks=3, scales={"few": Scale(blocks=2, aa_blocks=0)}
    )
    found = Choice("few").of(campaign, where="")
    assert (found.blocks, found.aa_blocks) == (2, 0)
    fewer = Choice("few").of(dataclasses.replace(campaign, blocks=1, aa_blocks=0), where="")
    assert (fewer.blocks, fewer.aa_blocks) == (1, 0)
    assert campaign.scales["few"].sentences() == ("blocks: at most 2", "A/A blocks: at most 0")
    assert Choice("none").of(dataclasses.replace(campaign, scales={"none": Scale()}), where="").aa_blocks == 3


def test_topics_take_their_clients_with_them() -> None:
    """Consumers stay as many for each topic; producers of a topic have a rule of their own."""
    full = workload(topics=25, producers=250, consumers=25, partitions=1)
    small = Scale(topics=0.4, producers=0.2).of(full)
    assert (small.topics, small.producers, small.consumers) == (10, 20, 10)


def test_a_backlog_shrinks_and_is_given_less_time() -> None:
    """Its own factor; the bound on catching up is a time."""
    full = workload(backlog={"size_bytes": 2**39, "consumers": 2, "catch_up_s": 36_000})
    small = Scale(backlog=2**-12, duration=0.1).of(full)
    assert small.backlog is not None
    assert (small.backlog.size_bytes, small.backlog.catch_up_s, small.backlog.consumers) == (2**27, 3600, 2)


def test_only_rules_that_change_anything_are_said() -> None:
    """One sentence each, with the least value."""
    assert Scale().sentences() == ()
    assert Scale(rate=0.01, least_rate_per_s=50).sentences() == ("offered rate x 0.01, not below 50 msg/s",)
    assert Scale(backlog=0.00006).sentences() == ("backlog x 0.00006, not below 16 MiB",)


def test_an_experiment_is_represented_by_what_it_declares(file: Path) -> None:
    """Its declared promise and workload, else the first of each; blocks stay."""
    assert names(prepare(load_campaign(file), file, "local", Choice(representative=True))) == [
        "b01-1-pulsar-l2-large", "b01-2-kafka-l2-large", "b01-1-kafka-l2-other",
        "b02-1-kafka-l2-large", "b02-2-pulsar-l2-large", "b02-1-kafka-l2-other",
    ]  # fmt: skip


def test_a_system_runs_at_its_own_levels(file: Path) -> None:
    """`durability_of` leaves levels out that were never asked of a system, which are no empty cells then."""
    campaign = load_campaign(file)
    first = [trial for trial in prepare(campaign, file, "local").trials if trial.workload.name == "small"]
    assert {(trial.system, trial.durability) for trial in first} == {("pulsar", "1"), ("pulsar", "2"), ("kafka", "2")}


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("{ kafka = [2] }", "{ cafka = [2] }", "key 'experiments.0.durability_of.cafka'"),
        ("{ kafka = [2] }", "{ kafka = [3] }", "only systems and levels of the experiment"),
        ('systems = ["kafka"]', 'systems = ["pulsar"]', ""),
        ('["pulsar", "kafka"]', '["pulsar"]', "kafka is not one of the campaign's own: pulsar"),
        ("durability = [2], workload", "durability = [4], workload", "key 'experiments.0.representative.durability'"),
        ('workload = "large"', 'workload = "other"', "valid choices: small, large"),
    ],
)
def test_impossible_choices_are_refused(file: Path, before: str, after: str, words: str) -> None:
    """Naming the key and what could stand there."""
    file.write_text(CAMPAIGN.replace(before, after))
    if not words:
        assert load_campaign(file)
        return
    with pytest.raises(InvalidInput) as refused:
        load_campaign(file)
    assert words in str(refused.value)


@pytest.mark.parametrize(
    "command", ["plan", "run", "campaign local", "campaign aws --stack smoke", "cost", "plan --stack smoke"]
)
def test_an_unknown_scale_is_refused_by_every_command(file: Path, command: str) -> None:
    """With the file and the scales that it has."""
    with pytest.raises(InvalidInput, match=r"two\.toml: unknown scale 'tinny'. Valid choices: tiny"):
        CliRunner().invoke(
            samebox, [*command.split(), str(file), "--scale", "tinny"], standalone_mode=False, catch_exceptions=False
        )


def test_a_file_without_scales_says_so(file: Path) -> None:
    """And how to give it one."""
    file.write_text(CAMPAIGN.replace("[scales.tiny]\nrate = 0.01\nduration = 0.1\n", ""))
    with pytest.raises(InvalidInput, match="the file has no scales") as refused:
        Choice("local").of(load_campaign(file), where=str(file))
    assert "[scales.NAME]" in refused.value.next_step


def test_a_scale_without_a_campaign_is_refused() -> None:
    """`samebox cost --scale local` would have nothing to scale."""
    with pytest.raises(InvalidInput, match="name its file"):
        CliRunner().invoke(samebox, ["cost", "--scale", "local"], standalone_mode=False, catch_exceptions=False)


def manifest(prepared: Prepared) -> dict[str, Any]:
    """The manifest that a run of it would write, as read back from its file."""
    nothing: Any = None
    plans = {spec.trial: plan_of(spec, prepared.campaign, prepared.profile) for spec in prepared.trials}
    equipped = Equipped(prepared, (), nothing, {}, {}, {}, {}, plans, {})
    vetting = Vetted(1, {}, (), (), {}, {})
    document = manifest_of(equipped, engine.inventory(), vetting, [], origin=Origin("0", {}, ""), repeat=[])
    read: dict[str, Any] = json.loads(json.dumps(document))
    return read


@pytest.mark.parametrize("choice", [Choice(), Choice("tiny"), Choice(None, True), Choice("tiny", True)])
def test_a_choice_is_continued_from_its_manifest(file: Path, choice: Choice) -> None:
    """`resume` reads the file as written and what was chosen, and gets the very trials that the manifest lists."""
    document = manifest(prepare(load_campaign(file), file, "local", choice))
    again = prepare(load_campaign(file), file, "local", choice_of(document))
    assert json.loads(json.dumps(dataclasses.asdict(again.campaign))) == document["definition"]
    assert [trial.to_json() for trial in again.trials] == document["order"]
    assert again.choice == choice


def test_the_manifest_names_the_colours_of_its_systems(file: Path) -> None:
    """Those that they have in every report, of the systems of this campaign."""
    document = manifest(prepare(load_campaign(file), file, "local", Choice()))
    assert document["colours"] == {name: SYSTEMS[name].colour for name in document["definition"]["systems"]}


def test_the_manifest_says_the_scale_in_words(file: Path) -> None:
    """Name and rules, or null; and whether only what represents it was run."""
    assert manifest(prepare(load_campaign(file), file, "local"))["scale"] is None
    document = manifest(prepare(load_campaign(file), file, "local", Choice("tiny", True)))
    assert document["scale"]["name"] == "tiny"
    assert document["scale"]["rules"][0] == "offered rate x 0.01, not below 100 msg/s"
    assert document["representative"] is True


def test_results_of_another_choice_are_not_continued(file: Path, tmp_path: Path) -> None:
    """The same file at another scale describes other trials: results are never a mixture."""
    results = Results(tmp_path / "results")
    results.begin(manifest(prepare(load_campaign(file), file, "local", Choice("tiny"))), {}, file)
    assert results.campaign_file.read_text() == CAMPAIGN
    with pytest.raises(InvalidInput, match="no longer describes the trials"):
        require_continuable(results, prepare(load_campaign(file), file, "local"), engine.inventory())
    require_continuable(results, prepare(load_campaign(file), file, "local", Choice("tiny")), engine.inventory())
    elsewhere = dataclasses.replace(engine.inventory(), hosts=engine.inventory().hosts[1:])
    with pytest.raises(InvalidInput, match="began on other hosts"):
        require_continuable(results, prepare(load_campaign(file), file, "local", Choice("tiny")), elsewhere)


def test_a_campaign_begun_before_a_key_of_workloads_was_there_is_continued(file: Path, tmp_path: Path) -> None:
    """It has the key's default; with another value the file no longer describes its trials."""
    results = Results(tmp_path / "results")
    begun = manifest(prepare(load_campaign(file), file, "local"))
    for experiment in begun["definition"]["experiments"]:
        for each in experiment["workloads"]:
            del each["warmup"]
    results.begin(begun, {}, file)
    require_continuable(results, prepare(load_campaign(file), file, "local"), engine.inventory())
    file.write_text(CAMPAIGN.replace('name = "small"', 'name = "small"\nwarmup = "until-steady"\nwarmup_s = 60'))
    with pytest.raises(InvalidInput, match="no longer describes the trials"):
        require_continuable(results, prepare(load_campaign(file), file, "local"), engine.inventory())


def test_a_detached_campaign_is_told_the_choice() -> None:
    """What its host reads is what was typed."""
    task = Task(TASK_SCHEMA, "two.toml", {}, (), Origin("0", {}, ""), Choice("tiny", True))
    assert build(Task, json.loads(json.dumps(dataclasses.asdict(task))), where="task.json") == task


def test_options_are_typed_again_as_they_were() -> None:
    """The report's "repeat it" has them."""
    assert Choice().typed == ""
    assert Choice("local", True).typed == " --scale local --representative"


def test_a_search_and_a_backlog_cost_time_and_messages() -> None:
    """A search sends in every try; producers go on while a backlog is read."""
    search = workload(pacing="search", expected_rate_per_s=1000, warmup_s=10, measure_s=9)
    steps_s = SEARCH_WARMUPS * WARMUP_RUN_S + SEARCH_STEPS * (2 + 5)
    assert sending_s(search) == steps_s + SEARCH_CONFIRMATIONS * (10 + 9)
    assert messages(search) == SEARCH_RISES * 1000 * sending_s(search)
    assert messages_kept(search) == SEARCH_FINDS * 1000 * (10 + 9)
    runs = SEARCH_WARMUPS + SEARCH_STEPS + SEARCH_CONFIRMATIONS
    assert load_s(search) == sending_s(search) + CONNECT_S + runs * AROUND_A_RUN_S
    long = workload(pacing="search", expected_rate_per_s=1000, warmup_s=60, measure_s=180)
    assert sending_s(long) == SEARCH_WARMUPS * WARMUP_RUN_S + SEARCH_STEPS * (2 + 30) + SEARCH_CONFIRMATIONS * 240
    backlog = workload(rate_per_s=1024, backlog={"size_bytes": 100 * 2**20}, warmup_s=10, measure_s=30)
    assert sending_s(backlog) == 10 + 100 + 50 + 30
    hurried = workload(
        rate_per_s=1024, backlog={"size_bytes": 100 * 2**20, "catch_up_s": 20}, warmup_s=10, measure_s=30
    )
    assert sending_s(hurried) == 10 + 100 + 20 + 30


def test_sizes_are_told_in_three_figures() -> None:
    """From records of a smoke run to a backlog of half a TiB in three copies."""
    assert [gibibytes(size) for size in (5.0 * 2**20, 1.25 * 2**30, 4.861 * 2**40)] == ["5 MiB", "1.25 GiB", "4.86 TiB"]
