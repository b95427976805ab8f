"""A broker is killed, or stands still for two seconds, under a load: clients go on, tell it, and nothing acknowledged is lost."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from bench.campaign.prepared import TOPIC
from bench.load.client_hosts import deploy_client
from bench.load.collect import collect_records
from bench.load.load import Hooks, Limits, LoadResult
from bench.load.worker_pool import run_load
from contract.workload import Workload
from provisioning.cache import user_cache
from provisioning.hosts.ssh import SshHost
from provisioning.software.store import Store
from systems.deployment import CLIENT, Topic
from systems.processes import states
from systems.registry import SYSTEMS, software
from tests.three_nodes import ThreeNodes
from tests.truth.faults import peers_of, signal_all, worker_pids

pytestmark = [pytest.mark.integration, pytest.mark.truth, pytest.mark.timeout(900)]
RATE_PER_S, WARMUP_S, PARTITIONS = 500, 2, 3
AFTER_S, FREEZE_S = 5.0, 2.0
# Until what the dead one led has another leader, which takes 9 s with Kafka and 30 s with Pulsar, and to pay what has piled up.
KILLED_S = {"kafka": 30, "nats": 25, "pulsar": 75, "rabbitmq": 25}
# One broker may lead all partitions, and nothing is acknowledged until another does.
SILENCE_S = 70.0
# Pulsar's client waits up to a minute between attempts to connect, and with the first message of a partition whose time is up it gives
# up all that wait there.
MAY_GIVE_UP = {"pulsar": {"Timeout"}}
# which systems keep a message from being stored twice, as they are set here
KNOWS_REPEATS = ("kafka", "nats")


@pytest.fixture(params=KILLED_S)
def cluster(request: pytest.FixtureRequest, hosts: dict[str, SshHost]) -> Iterator[ThreeNodes]:
    """Three nodes at level 1, freshly started on empty disks, and clients as they are where a workload has faults."""
    system = request.param
    cluster = ThreeNodes(
        system, tuple(hosts.values()), Store(user_cache(), software()), Topic(TOPIC, PARTITIONS), level="1",
        settings={CLIENT: SYSTEMS[system].client.UNDER_FAULTS},
    )  # fmt: skip
    with cluster.running():
        yield cluster


class Fault:
    """What is done to the processes of one host, `AFTER_S` into a load: a signal, and perhaps another one later."""

    def __init__(
        self, pids: Callable[[], Sequence[int]], number: signal.Signals, *, undone_by: signal.Signals | None = None
    ) -> None:
        self._pids, self._number, self._undone_by = pids, number, undone_by
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="fault", daemon=True)

    def on_progress(self, text: str) -> None:
        if text.endswith(" s left") and self._thread.ident is None:
            self._thread.start()

    def end(self) -> None:
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        if self._over.wait(AFTER_S):
            return
        pids = self._pids()
        signal_all(pids, self._number)
        if self._undone_by is not None:
            self._over.wait(FREEZE_S)
            signal_all(pids, self._undone_by)


def leading(cluster: ThreeNodes) -> str:
    """The host whose broker leads most."""
    leaders = cluster.deployment.leaders()
    return max(leaders, key=lambda host: leaders[host])


def pids_on(cluster: ThreeNodes, host: str) -> list[int]:
    """The process there that clients talk to."""
    found = [each for each in states(cluster.deployment.processes) if each.host == host]
    return [each.pid for each in found if each.pid is not None and each.daemon in ("broker", "server")]


@dataclass(frozen=True)
class Seen:
    """What the clients recorded: messages by producer and sequence."""

    acknowledged: set[tuple[int, int]]
    failed: Counter[str]
    received: Counter[tuple[int, int]]


def loaded(cluster: ThreeNodes, fault: Fault, measure_s: float, folder: Path) -> tuple[LoadResult, Seen]:
    """One load with the fault in it, and its records."""
    workload = Workload(
        name="broken", rate_per_s=RATE_PER_S, message_bytes=512, partitions=PARTITIONS,
        warmup_s=WARMUP_S, measure_s=measure_s, drain_s=70.0,
    )  # fmt: skip
    pythons = deploy_client(cluster.clients, user_cache(), print)
    try:
        spec = cluster.load(workload, limits=Limits(nothing_acknowledged_s=SILENCE_S))
        result = run_load(spec, cluster.clients, pythons, Hooks(on_progress=fault.on_progress))
    finally:
        fault.end()
    for worker in result.workers:
        print({key: worker[key] for key in ("worker", "errors", "client_errors", "repeated", "late", "cpu_s")})
    collect_records(result, cluster.clients, folder)
    produced = ds.dataset(folder / "produced").to_table().to_pylist()
    received = ds.dataset(folder / "consumed").to_table(columns=["producer", "sequence"]).to_pylist()
    seen = Seen(
        {(row["producer"], row["sequence"]) for row in produced if row["acked_ns"] is not None},
        Counter(row["error"] for row in produced if row["error"] is not None),
        Counter((row["producer"], row["sequence"]) for row in received),
    )
    print(
        len(seen.acknowledged), seen.failed, len(seen.received), "repeated", seen.received.total() - len(seen.received)
    )
    return result, seen


def assert_went_on(cluster: ThreeNodes, result: LoadResult, seen: Seen, measure_s: float) -> None:
    """The load ended by itself, every message was acknowledged in time, and everything that was is there."""
    assert result.abort is None
    assert seen.failed.keys() <= MAY_GIVE_UP.get(cluster.system, set())
    assert result.produced_rows == RATE_PER_S * (WARMUP_S + measure_s)
    assert len(seen.acknowledged) + seen.failed.total() == RATE_PER_S * (WARMUP_S + measure_s)
    assert seen.acknowledged - seen.received.keys() == set()
    if cluster.system in KNOWS_REPEATS:
        assert seen.received.total() == len(seen.received), "what was sent again is stored once"


def test_a_killed_leader_costs_time_and_no_message(cluster: ThreeNodes, tmp_path: Path) -> None:
    """Clients find those that lead instead, send again what had no answer, read on, and tell that connections were lost."""
    measure_s = KILLED_S[cluster.system]
    fault = Fault(lambda: pids_on(cluster, leading(cluster)), signal.SIGKILL)
    result, seen = loaded(cluster, fault, measure_s, tmp_path)
    assert_went_on(cluster, result, seen, measure_s)
    assert any(worker["client_errors"] for worker in result.workers)


@pytest.mark.parametrize("cluster", ["nats"], indirect=True)
def test_a_killed_server_that_a_client_talks_to_costs_time_and_no_message(cluster: ThreeNodes, tmp_path: Path) -> None:
    """Of a system whose clients talk to any one of the servers: what was on its way through it is sent again by another."""

    def taken() -> Sequence[int]:
        [client] = cluster.clients
        producer = worker_pids(Path(client.record.root))[-1]
        [host] = [each.record.name for each in cluster.brokers if each.record.address in peers_of(producer)]
        return pids_on(cluster, host)

    result, seen = loaded(cluster, Fault(taken, signal.SIGKILL), 25, tmp_path)
    assert_went_on(cluster, result, seen, 25)
    [errors] = [worker["client_errors"] for worker in result.workers if worker["role"] == "producer"]
    assert errors["ConnectionLost"] == 1


# nothing takes the place of a dead Valkey server in a trial, but one that stands still goes on
@pytest.mark.parametrize("cluster", [*KILLED_S, "valkey"], indirect=True)
def test_a_leader_that_stands_still_for_two_seconds_costs_no_message(cluster: ThreeNodes, tmp_path: Path) -> None:
    """It is waited for: no client takes it for dead."""
    fault = Fault(lambda: pids_on(cluster, leading(cluster)), signal.SIGSTOP, undone_by=signal.SIGCONT)
    result, seen = loaded(cluster, fault, 12, tmp_path)
    assert_went_on(cluster, result, seen, 12)
