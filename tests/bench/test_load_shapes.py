"""The shapes that a load can have beside a steady rate of one topic: closed loops, backlogs, several topics, nobody reading."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path
from typing import Any

import pytest

from bench.load.load import Limits, LoadResult, LoadSpec
from bench.load.sustained import judge
from bench.worker.control import Control
from bench.worker.schedule import SECOND_NS
from contract.workload import Backlog, Workload
from tests.bench.fake_client import Behaviour, FakeBroker
from tests.bench.thread_host import ThreadHost, load, rows_of

pytestmark = pytest.mark.usefixtures("quick_progress")

TOPIC = "t"
LIMITS = Limits(ready_s=60, lead_s=0.1, nothing_acknowledged_s=60, silence_s=60, quiet_s=0.4, ending_s=30)
WORKLOAD = Workload(
    name="test", rate_per_s=400, message_bytes=64, measure_s=1.0, partitions=3, producers=2, consumers=2,
    warmup_s=0.5, drain_s=4.0,
)  # fmt: skip


def spec_of(broker: FakeBroker, topics: tuple[str, ...] = (TOPIC,), **changes: Any) -> LoadSpec:
    """A load on the broker in memory."""
    workload = dataclasses.replace(WORKLOAD, **changes)
    return LoadSpec(workload, "tests.bench.fake_client", broker.service_url, {}, topics, seed=1, limits=LIMITS)


def test_a_closed_loop_of_one_has_one_message_in_flight(clients: list[ThreadHost], tmp_path: Path) -> None:
    """Each message's turn comes after the answer to the one before, and the answers' delay sets the rate."""
    with FakeBroker([TOPIC], behaviour=Behaviour(ack_delay_s=0.02)) as broker:
        result = load(spec_of(broker, pacing="closed-loop", rate_per_s=100_000, producers=1, in_flight=1), clients)
    rows = rows_of(result, clients, tmp_path / "trial", "produced")
    assert result.abort is None
    assert 20 <= len(rows) <= 75  # at most one in 20 ms of 1.5 s
    assert all(after["intended_ns"] >= before["acked_ns"] for before, after in itertools.pairwise(rows))
    assert {row["phase"] for row in rows} == {"warmup", "measure"}
    assert result.consumed_rows == len(rows)


def test_a_closed_loop_keeps_below_its_rate(clients: list[ThreadHost], tmp_path: Path) -> None:
    """The rate is a bound: never sent faster, however quickly the answers come."""
    with FakeBroker([TOPIC]) as broker:
        result = load(spec_of(broker, pacing="closed-loop", rate_per_s=200, in_flight=10), clients)
    rows = rows_of(result, clients, tmp_path / "trial", "produced")
    for producer in (0, 1):
        turns = [row["intended_ns"] for row in rows if row["producer"] == producer]
        assert all(after - before >= SECOND_NS // 100 for before, after in itertools.pairwise(turns))
        assert 100 <= len(turns) <= 150


def test_an_overdriven_loop_fills_its_window(clients: list[ThreadHost], tmp_path: Path) -> None:
    """With a large window as much is on its way as it holds, and nothing is lost from the records."""
    with FakeBroker([TOPIC], behaviour=Behaviour(ack_delay_s=0.3)) as broker:
        result = load(
            spec_of(broker, pacing="closed-loop", rate_per_s=100_000, producers=1, in_flight=100, warmup_s=0), clients
        )
    rows = rows_of(result, clients, tmp_path / "trial", "produced")
    assert [row["sequence"] for row in rows] == list(range(len(rows)))
    assert all(row["acked_ns"] is not None for row in rows)
    assert len({row["sequence"] for row in rows if row["sent_ns"] < rows[0]["acked_ns"]}) == 100


def test_a_backlog_is_built_drained_and_followed_by_a_tail(clients: list[ThreadHost], tmp_path: Path) -> None:
    """The late readers get nothing while it is built, then all of it; phases are recorded as such, the producers never pause."""
    backlog = Backlog(size_bytes=400 * 64 * 2, consumers=1, catch_up_s=30)
    with FakeBroker([TOPIC]) as broker:
        result = load(spec_of(broker, backlog=backlog), clients)
    assert result.abort is None
    assert result.caught_up is True
    assert [phase["name"] for phase in result.phases] == ["warmup", "build", "drain", "tail"]
    spans = {phase["name"]: (phase["start_ns"], phase["end_ns"]) for phase in result.phases}
    assert spans["build"][1] - spans["build"][0] == 2 * SECOND_NS
    assert spans["tail"][1] - spans["tail"][0] == SECOND_NS
    rows = rows_of(result, clients, tmp_path / "trial", "produced")
    assert all(spans[row["phase"]][0] <= row["intended_ns"] < spans[row["phase"]][1] for row in rows)
    seconds = (spans["tail"][1] - spans["warmup"][0]) / SECOND_NS
    assert abs(len(rows) - 400 * seconds) <= 2
    assert all(row["acked_ns"] is not None for row in rows)
    received = rows_of(result, clients, tmp_path / "trial", "consumed")
    late = [row for row in received if row["subscription"] == "catch-up-0"]
    assert len(late) == len(rows)
    assert min(row["received_ns"] for row in late) >= spans["drain"][0]
    tailing = [row for row in received if row["subscription"] == "subscription-0"]
    assert len(tailing) == len(rows)
    assert min(row["received_ns"] for row in tailing) < spans["build"][1]


def test_a_backlog_that_is_not_read_in_time_ends_the_run_and_says_so(clients: list[ThreadHost], tmp_path: Path) -> None:
    """No tail is made up for readers that can't catch up."""
    # far more is lost than may be left over, also where counts are told late
    backlog = Backlog(size_bytes=4000 * 64, consumers=1, catch_up_s=5)
    with FakeBroker([TOPIC], behaviour=Behaviour(lose=lambda sequence: sequence % 50 > 0)) as broker:
        result = load(spec_of(broker, rate_per_s=2000, backlog=backlog, consumers=0, drain_s=1), clients)
    assert result.caught_up is False
    assert [phase["name"] for phase in result.phases] == ["warmup", "build", "drain"]
    assert {row["phase"] for row in rows_of(result, clients, tmp_path / "trial", "produced")} == {
        "warmup",
        "build",
        "drain",
    }


def test_several_topics_have_their_own_workers_and_partitions(clients: list[ThreadHost], tmp_path: Path) -> None:
    """Workers are spread evenly; partitions are numbered through all topics, so that no two are taken for one."""
    with FakeBroker(["t-0", "t-1"]) as broker:
        result = load(spec_of(broker, topics=("t-0", "t-1"), consumers=4, subscriptions=2), clients)
    assert result.abort is None
    assert broker.stored == {"t-0": 300, "t-1": 300}
    rows = rows_of(result, clients, tmp_path / "trial", "produced")
    assert {row["partition"] for row in rows if row["producer"] == 0} == {0, 1, 2}
    assert {row["partition"] for row in rows if row["producer"] == 1} == {3, 4, 5}
    received = rows_of(result, clients, tmp_path / "trial", "consumed")
    for subscription in ("subscription-0", "subscription-1"):
        own = sorted((r["producer"], r["sequence"]) for r in received if r["subscription"] == subscription)
        assert own == sorted((row["producer"], row["sequence"]) for row in rows)


def test_nobody_needs_to_read(clients: list[ThreadHost]) -> None:
    """Producers only: the run ends when they are done."""
    with FakeBroker([TOPIC]) as broker:
        result = load(spec_of(broker, consumers=0), clients)
    assert result.abort is None
    assert (result.produced_rows, result.consumed_rows) == (600, 0)


def test_a_load_that_asks_for_it_keeps_what_its_workers_count(clients: list[ThreadHost]) -> None:
    """Of each worker, with the time at which it counted, and what of a producer's messages was in flight then."""
    with FakeBroker([TOPIC], behaviour=Behaviour(ack_delay_s=0.25)) as broker:
        result = load(dataclasses.replace(spec_of(broker, measure_s=2.5), sampled=True), clients)
        silent = load(spec_of(broker), clients)
    judged = judge(result.samples, 400, from_s=0.5, to_s=3.0, errors=result.unread)
    assert judged.acked_per_s == pytest.approx(400, rel=0.1)
    assert judged.in_flight >= 25, "200 a second of each producer, answered after a quarter of one"
    assert [each["unanswered"] for each in result.workers if each["role"] == "producer"] == [0, 0]
    assert not silent.samples


@pytest.mark.parametrize("directory", ["", ".", "load", "load/", "load/..", "/load/x", "other/x"])
def test_records_never_lie_in_a_hosts_root(directory: str) -> None:
    """Collecting removes their folder on the client hosts, whatever else is in it."""
    with pytest.raises(ValueError, match="no folder of a run's records"):
        LoadResult(directory, (), (), (), (), None, 0, None, None)


def test_an_end_that_is_told_too_late_is_no_end() -> None:
    """A row may have been written under the wrong phase by then: the worker must fail, not guess."""
    control = Control()
    control.handle({"phase_ends_ns": 1_000, "end_ns": 2_000})
    with pytest.raises(TimeoutError, match="the order that ends a phase arrived"):
        control.require_in_time()
