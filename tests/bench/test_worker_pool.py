"""Several loads by the same workers: who stays connected, and that no run's messages become another's."""

from __future__ import annotations

import dataclasses
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from bench.load.load import Hooks, Limits, LoadResult, LoadSpec
from bench.load.worker_pool import WorkerPool
from contract.workload import Workload
from provisioning.errors import DeploymentError
from provisioning.hosts.host import Host
from tests.bench.fake_client import Behaviour, FakeBroker
from tests.bench.thread_host import ThreadHost, ThreadProcess, rows_of

pytestmark = pytest.mark.usefixtures("quick_progress")

LIMITS = Limits(ready_s=60, lead_s=0.1, nothing_acknowledged_s=60, quiet_s=0.2, ending_s=30)
WORKLOAD = Workload(
    name="test",
    rate_per_s=400,
    message_bytes=64,
    measure_s=0.5,
    partitions=3,
    producers=2,
    consumers=2,
    warmup_s=0,
    drain_s=1.0,
)
WORKERS = 4


def spec_of(broker: FakeBroker, **changes: Any) -> LoadSpec:
    """A load of half a second, with a probe."""
    workload = dataclasses.replace(WORKLOAD, **changes)
    return LoadSpec(
        workload, "tests.bench.fake_client", broker.service_url, {}, ("t",), seed=1, probe_topic="probe", limits=LIMITS
    )


def run_all(clients: list[ThreadHost], *specs: LoadSpec) -> list[LoadResult]:
    """One crew runs them in turn."""
    with crew_of(clients) as crew:
        return [crew.run(spec) for spec in specs]


def crew_of(clients: list[ThreadHost]) -> WorkerPool:
    """Nobody in it yet."""
    hosts: list[Host] = [*clients]
    return WorkerPool(hosts, {host.name: "python3" for host in hosts})


def test_workers_started_ahead_do_the_first_run(clients: list[ThreadHost]) -> None:
    """None is started twice, each is where it would be anyway; one that there is no job for ends with the crew."""
    with FakeBroker(["t", "probe"]) as broker, crew_of(clients) as crew:
        spec = spec_of(broker)
        crew.start_ahead(dataclasses.replace(spec.workload, consumers=3))
        result = crew.run(spec)
        assert [sum(not process.orders for process in client.processes) for client in clients] == [1, 0]
    assert result.produced_rows == 200
    assert [worker["host"] for worker in result.workers] == ["client-1", "client-2"] * 2
    assert [len(client.processes) for client in clients] == [3, 2]
    for client in clients:
        assert all(process.ended.wait(60) for process in client.processes)


def test_workers_started_ahead_of_no_run_end(clients: list[ThreadHost]) -> None:
    """A system that didn't start has no load."""
    crew = crew_of(clients)
    crew.start_ahead(WORKLOAD)
    crew.start_ahead(WORKLOAD)
    assert sum(len(client.processes) for client in clients) == WORKERS
    crew.close()
    crew.close()
    assert all(process.ended.wait(60) for client in clients for process in client.processes)


def test_workers_stay_connected_while_only_the_rate_changes(clients: list[ThreadHost], tmp_path: Path) -> None:
    """One process and one connection each, one probe per producer; every run has its own rows, times and counts."""
    with FakeBroker(["t", "probe"]) as broker:
        results = run_all(clients, *(spec_of(broker, rate_per_s=rate) for rate in (400, 800, 200)))
    assert broker.connections == WORKERS + WORKLOAD.producers
    assert broker.stored["probe"] == WORKLOAD.producers
    assert sum(len(client.processes) for client in clients) == WORKERS
    assert (
        [result.produced_rows for result in results] == [result.consumed_rows for result in results] == [200, 400, 100]
    )
    assert len({result.directory for result in results}) == 3
    assert len({result.first_acknowledgement_ms for result in results}) == 1
    for number, result in enumerate(results):
        [phase] = result.phases
        for kind in ("produced", "consumed"):
            rows = rows_of(result, clients, tmp_path / str(number), kind)
            assert all(phase["start_ns"] <= row["intended_ns"] < phase["end_ns"] for row in rows)
    assert all(process.ended.is_set() for client in clients for process in client.processes)


def test_another_way_to_connect_is_another_connection(clients: list[ThreadHost]) -> None:
    """The processes stay."""
    with FakeBroker(["t", "probe"]) as broker:
        results = run_all(clients, spec_of(broker), spec_of(broker, in_flight=7))
    assert [result.produced_rows for result in results] == [200, 200]
    assert broker.connections == 2 * (WORKERS + WORKLOAD.producers)
    assert sum(len(client.processes) for client in clients) == WORKERS


def test_other_workers_are_other_processes(clients: list[ThreadHost]) -> None:
    """The first ones have ended by then."""
    with FakeBroker(["t", "probe"]) as broker:
        run_all(clients, spec_of(broker), spec_of(broker, producers=1))
    assert sum(len(client.processes) for client in clients) == WORKERS + 3
    assert all(process.ended.is_set() for client in clients for process in client.processes)


def test_a_connection_from_which_answers_are_missing_is_given_up(clients: list[ThreadHost], tmp_path: Path) -> None:
    """What the first run still waited for is no answer to the second one's messages, and no message of it either."""
    with FakeBroker(["t", "probe"], behaviour=Behaviour(ack_delay_s=2.4)) as broker:
        impatient = spec_of(broker, measure_s=0.8, drain_s=2.0)
        first, second = run_all(clients, impatient, spec_of(broker, drain_s=5.0))
    assert first.abort is None
    assert any(row["acked_ns"] is None for row in rows_of(first, clients, tmp_path / "first", "produced"))
    rows = rows_of(second, clients, tmp_path / "second", "produced")
    assert len(rows) == second.consumed_rows == 200
    # the broker waits by the monotonic clock, rows have the wall clock's time, which may be slewed
    assert min(row["acked_ns"] - row["sent_ns"] for row in rows) >= 2_300_000_000
    assert broker.connections == WORKERS + WORKLOAD.producers + 2 * WORKLOAD.producers
    received = [worker["rows"] + worker["foreign"] for worker in second.workers if worker["role"] == "consumer"]
    assert sum(received) == broker.stored["t"] - first.consumed_rows


def test_a_connection_that_was_lost_meanwhile_is_given_up_and_told(clients: list[ThreadHost]) -> None:
    """All its messages were answered, but what was sent again may be answered once more, and not as the next run's."""
    with FakeBroker(["t", "probe"], behaviour=Behaviour(disconnect=True)) as broker:
        first, _ = run_all(clients, spec_of(broker), spec_of(broker))
    assert broker.connections == WORKERS + WORKLOAD.producers + 2 * WORKLOAD.producers
    told = [worker["client_errors"] for worker in first.workers if worker["role"] == "producer"]
    assert told == [{"Disconnected": 1}] * WORKLOAD.producers


def test_nothing_is_sent_before_what_must_be_over_is(clients: list[ThreadHost]) -> None:
    """It is called once a run, when all workers are connected and before any of them has been told when to start."""
    seen: list[tuple[int, int]] = []
    over_ns: list[int] = []
    with FakeBroker(["t", "probe"]) as broker, crew_of(clients) as crew:

        def before_start() -> None:
            time.sleep(0.3)
            seen.append((broker.connections, broker.stored["t"]))
            over_ns.append(time.time_ns())

        first = crew.run(spec_of(broker), Hooks(before_start=before_start))
        crew.run(spec_of(broker), Hooks(before_start=before_start))
    assert seen == [(WORKERS + WORKLOAD.producers, 0), (WORKERS + WORKLOAD.producers, first.produced_rows)]
    assert first.phases[0]["start_ns"] >= over_ns[0]


def test_a_worker_that_gives_up_waiting_for_the_start_ends_the_load(clients: list[ThreadHost]) -> None:
    """It has not begun: no phases, no rows, and nothing that would pass for a run without messages."""

    def before_start() -> None:
        for process in (process for host in clients for process in host.processes):
            assert process.heard_out.wait(60)

    limits = dataclasses.replace(LIMITS, before_start_s=0.0, lead_s=-89.9)  # a worker waits for the start for 0.1 s
    with FakeBroker(["t", "probe"]) as broker, crew_of(clients) as crew:
        spec = dataclasses.replace(spec_of(broker), limits=limits)
        result = crew.run(spec, Hooks(before_start=before_start))
        assert broker.stored["t"] == 0
    assert result.abort is not None
    assert (result.abort["rule"], result.abort["axis"]) == ("worker-died", "validity")
    assert "gave up before the load, which was late: no start within 0.1 s" in result.abort["reason"]
    assert result.phases == ()


def test_a_worker_that_gives_up_while_the_others_are_told_ends_the_load_too(tmp_path: Path) -> None:
    """Its notice comes after the last look before the start: no load by fewer workers passes for the whole one."""
    told, prepared = threading.Event(), threading.Event()

    def late_notice(_process: ThreadProcess, line: str) -> str:
        if '"aborted"' in line:
            assert told.wait(60)
        return line

    hosts = [ThreadHost("client-1", tmp_path, late_notice), ThreadHost("client-2", tmp_path, late_notice)]

    def before_start() -> None:
        for process in (process for host in hosts for process in host.processes):
            assert process.aborted.wait(60)
        prepared.set()

    def on_progress(_line: str) -> None:
        if prepared.is_set():
            told.set()

    limits = dataclasses.replace(LIMITS, before_start_s=0.0, lead_s=-89.9)
    with FakeBroker(["t", "probe"]) as broker, crew_of(hosts) as crew:
        spec = dataclasses.replace(spec_of(broker), limits=limits)
        result = crew.run(spec, Hooks(before_start=before_start, on_progress=on_progress))
        assert broker.stored["t"] == 0
    assert result.abort is not None
    assert (result.abort["rule"], result.abort["axis"]) == ("worker-died", "validity")


def test_what_fails_before_the_start_is_raised_and_leaves_no_worker(clients: list[ThreadHost]) -> None:
    """A system that can't be asked any more isn't loaded."""

    def before_start() -> None:
        raise DeploymentError("broker-1: not running any more")

    with FakeBroker(["t", "probe"]) as broker:
        with pytest.raises(DeploymentError, match="not running"), crew_of(clients) as crew:
            crew.run(spec_of(broker), Hooks(before_start=before_start))
        assert broker.stored["t"] == 0
    assert all(process.ended.wait(60) for client in clients for process in client.processes)


def test_it_is_told_once_that_everything_was_received(clients: list[ThreadHost]) -> None:
    """Before the run is over, which stays to see whether more comes; in each run anew."""
    seen: list[tuple[int, bool]] = []
    with FakeBroker(["t", "probe"]) as broker, crew_of(clients) as crew:

        def all_received() -> None:
            waiting = any(
                '"stop"' in order for client in clients for process in client.processes for order in process.orders
            )
            seen.append((broker.stored["t"], waiting))

        first = crew.run(spec_of(broker), Hooks(all_received=all_received))
        assert seen == [(first.produced_rows, False)]
        for client in clients:
            for process in client.processes:
                process.orders.clear()
        second = crew.run(spec_of(broker), Hooks(all_received=all_received))
    assert seen[1:] == [(first.produced_rows + second.produced_rows, False)]


def test_what_does_not_all_arrive_is_never_said_to_have(clients: list[ThreadHost]) -> None:
    """A broker that keeps messages to itself: the drain gives up, and nobody is told that it is over."""
    seen: list[str] = []
    with (
        FakeBroker(["t", "probe"], behaviour=Behaviour(lose=lambda sequence: sequence % 7 == 3)) as broker,
        crew_of(clients) as crew,
    ):
        result = crew.run(spec_of(broker), Hooks(all_received=lambda: seen.append("told")))
    assert result.abort is None
    assert result.consumed_rows < result.produced_rows
    assert seen == []
