"""What a trial's generator hands on to the load below it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from bench.campaign.campaign_file import load_campaign
from bench.campaign.contestant import plain
from bench.campaign.order import order_of
from bench.load.load import Hooks, LoadResult, LoadSpec
from bench.run.generator import WorkerGenerator, octaves_below
from contract.workload import Workload
from systems.deployment import Endpoints, Plan, Topic
from systems.registry import DURABILITY

PLAN = Plan(DURABILITY["1"], (Topic("samebox", 1),), {}, {})
SMOKE = Path(__file__).resolve().parents[2] / "campaigns" / "smoke.toml"
ABORT = {"rule": "nothing-acknowledged", "axis": "outcome", "reason": "hung", "host": None}
STEADY = Workload(name="steady", rate_per_s=500, message_bytes=100, measure_s=1)
SEARCH = Workload(name="most", rate_per_s=500, message_bytes=100, measure_s=1, pacing="search", search_steps=2)


class WorkerPool:
    """Keeps the hooks of a run, which ends at once."""

    def __init__(self) -> None:
        self.hooks: list[Hooks] = []
        self.specs: list[LoadSpec] = []

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, *_raised: object) -> None:
        return None

    def run(self, spec: LoadSpec, hooks: Hooks) -> LoadResult:
        self.hooks.append(hooks)
        self.specs.append(spec)
        return LoadResult(
            directory="load/1", phases=(), workers=(), files=(), samples=(), caught_up=None, unread=0,
            first_acknowledgement_ms=None, abort=ABORT,
        )  # fmt: skip


@pytest.mark.parametrize(("workload", "told"), [(STEADY, True), (SEARCH, False)])
def test_only_a_run_that_is_known_to_be_the_last_says_that_it_received_everything(
    workload: Workload, told: bool
) -> None:
    """A search doesn't know: what is asked of brokers after one run would go on beside the next."""
    crew, seen = WorkerPool(), list[str]()
    spec = dataclasses.replace(order_of(load_campaign(SMOKE))[0], workload=workload)
    given: Any = crew
    workers = WorkerGenerator(spec, PLAN, [], given)
    hooks = Hooks(before_start=lambda: seen.append("before"), all_received=lambda: seen.append("received"))
    result = workers.load(Endpoints("127.0.0.1:1", {}), hooks, stored=lambda: 0)
    assert result.abort == ABORT
    [each] = crew.hooks
    each.before_start()
    each.all_received()
    assert seen == (["before", "received"] if told else ["before"])


def test_the_progress_of_a_search_says_which_run_it_is() -> None:
    """Not only for the moment in which that begins."""
    crew, said = WorkerPool(), list[str]()
    spec = dataclasses.replace(order_of(load_campaign(SMOKE))[0], workload=SEARCH)
    given: Any = crew
    hooks = Hooks(on_progress=said.append)
    WorkerGenerator(spec, PLAN, [], given).load(Endpoints("127.0.0.1:1", {}), hooks, stored=lambda: 0)
    crew.hooks[0].on_progress("7 sent")
    begun, of_the_run = said
    assert begun.startswith("search: ")
    assert of_the_run == f"{begun}: 7 sent"


def test_a_trial_records_what_its_clients_give_their_library() -> None:
    """The level's acks, the workload's batches and the system's own choices, in the library's words."""
    given: Any = WorkerPool()
    batched = dataclasses.replace(STEADY, batch_delay_ms=7, compression="lz4")
    spec = dataclasses.replace(order_of(load_campaign(SMOKE))[0], contestant=plain("kafka"), workload=batched)
    workers = WorkerGenerator(spec, PLAN, [], given)
    result = workers.load(Endpoints("127.0.0.1:1", {"acks": "1"}), Hooks(), stored=lambda: 0)
    client = result.observations["client"]
    assert (client["producer"]["acks"], client["producer"]["linger.ms"]) == ("1", "7")
    assert (client["producer"]["compression.type"], client["consumer"]["auto.offset.reset"]) == ("lz4", "earliest")


def test_what_a_load_says_of_its_warm_up_is_kept_with_the_trial() -> None:
    """Beside what the trial itself observes."""

    class Watching(WorkerPool):
        def run(self, spec: LoadSpec, hooks: Hooks) -> LoadResult:
            return dataclasses.replace(super().run(spec, hooks), observations={"warmup": {"steady": True}})

    given: Any = Watching()
    workers = WorkerGenerator(order_of(load_campaign(SMOKE))[0], PLAN, [], given)
    result = workers.load(Endpoints("127.0.0.1:1", {}), Hooks(), stored=lambda: 0)
    assert result.observations["warmup"] == {"steady": True}
    assert "client" in result.observations


def test_every_search_begins_elsewhere_and_the_same_trial_at_the_same_rate() -> None:
    """By seed and trial: the campaign's blocks and both places of one differ, what is done again doesn't."""
    names = [f"b{block:02d}-{position}-kafka-l2-most" for block in range(1, 51) for position in (1, 2)]
    begins = [octaves_below(7, name) for name in names]
    assert begins == [octaves_below(7, name) for name in names]
    assert len(set(begins)) == len(names)
    assert begins != [octaves_below(8, name) for name in names]
    assert 0 <= min(begins) < 0.1
    assert 0.9 < max(begins) < 1


def test_a_search_begins_below_what_it_expects() -> None:
    """At a rate by its own chance, up to half of it lower."""
    crew = WorkerPool()
    given: Any = crew
    searching = dataclasses.replace(SEARCH, rate_per_s=1_000_000, expected_rate_per_s=100_000)
    trials = [
        dataclasses.replace(order_of(load_campaign(SMOKE))[0], workload=searching, trial=f"b{n}", seed=1)
        for n in (1, 2)
    ]
    for spec in trials:
        workers = WorkerGenerator(spec, PLAN, [], given)
        workers.load(Endpoints("127.0.0.1:1", {}), Hooks(), stored=lambda: 0)
    first, second = (spec.workload.rate_per_s for spec in crew.specs)
    assert 50_000 <= min(first, second) < max(first, second) <= 100_000
    assert first == round(100_000 / 2 ** octaves_below(1, "b1"))
