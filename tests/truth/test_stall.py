"""The stall proof: three real nodes stand still for two seconds, and the records show what that would have cost a user."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.dataset as ds
import pytest
from numpy.typing import NDArray

from bench.campaign.prepared import TOPIC
from bench.load.client_hosts import deploy_client
from bench.load.collect import collect_records
from bench.load.load import Hooks, LoadResult
from bench.load.worker_pool import run_load
from contract.workload import Workload
from provisioning.cache import user_cache
from provisioning.hosts.ssh import SshHost
from provisioning.software.store import Store
from systems.deployment import Topic
from systems.registry import software
from tests.given import systems_here
from tests.three_nodes import ThreeNodes
from tests.truth.faults import Freeze, pids_of

# a stall's cost with a fake broker, in `make test`: tests/bench/test_load_driver.py
pytestmark = [pytest.mark.integration, pytest.mark.truth, pytest.mark.timeout(900)]
RATE_PER_S, WARMUP_S, MEASURE_S = 200, 2, 18
PARTITIONS = 3
PRODUCERS = 4  # a window of one each: the rate needs an acknowledgement within 20 ms, not within 5
FREEZE_AFTER_S, FREEZE_S = 8.0, 2.0
MANY = 5_000
_AT_ONCE_NS = 100_000_000  # what was on its way when the freeze came may still arrive
_SECOND_NS = 1_000_000_000


@pytest.fixture(scope="module", params=systems_here())
def cluster(request: pytest.FixtureRequest, hosts: dict[str, SshHost]) -> Iterator[ThreeNodes]:
    """Three nodes, freshly started on empty disks."""
    cluster = ThreeNodes(
        request.param, tuple(hosts.values()), Store(user_cache(), software()), Topic(TOPIC, PARTITIONS)
    )
    with cluster.running():
        yield cluster


def load(
    cluster: ThreeNodes, freeze: Freeze, *, in_flight: int, measure_s: float = MEASURE_S, drain_s: float = 300.0
) -> LoadResult:
    """One load with a freeze in it."""
    workload = Workload(
        name="stall", rate_per_s=RATE_PER_S, message_bytes=1024, partitions=PARTITIONS, producers=PRODUCERS,
        batch_delay_ms=0, in_flight=in_flight, warmup_s=WARMUP_S, measure_s=measure_s, drain_s=drain_s,
    )  # fmt: skip
    pythons = deploy_client(cluster.clients, user_cache(), print)
    with freeze:
        return run_load(cluster.load(workload), cluster.clients, pythons, Hooks(on_progress=freeze.on_progress))


@dataclass(frozen=True)
class Rows:
    """The produced rows of one load in the order of the schedule; ns since `origin_ns` (epoch), NaN where there is none."""

    origin_ns: int
    intended: NDArray[np.float64]
    sent: NDArray[np.float64]
    acked: NDArray[np.float64]
    measured: NDArray[np.bool_]


def p99_s(latency_ns: NDArray[np.float64]) -> float:
    """The p99, seconds."""
    return float(np.percentile(latency_ns, 99, method="inverted_cdf")) / _SECOND_NS


def rows_of(result: LoadResult, cluster: ThreeNodes, folder: Path) -> Rows:
    """Fetches and reads a load's records."""
    collect_records(result, cluster.clients, folder)
    table = ds.dataset(folder / "produced").to_table()
    frame = table.to_pandas(integer_object_nulls=True).sort_values("intended_ns")
    for _, own in frame.groupby("producer"):
        assert list(own["sequence"]) == list(range(len(own)))
    origin_ns = int(frame["intended_ns"].iloc[0])

    def since_origin(column: str) -> NDArray[np.float64]:
        # the difference is taken in whole numbers: a double since the epoch is 256 ns coarse
        return np.array([np.nan if time_ns is None else time_ns - origin_ns for time_ns in frame[column]], np.float64)

    return Rows(
        origin_ns,
        since_origin("intended_ns"),
        since_origin("sent_ns"),
        since_origin("acked_ns"),
        np.array(frame["phase"] == "measure", np.bool_),
    )


@pytest.mark.parametrize("in_flight", [1, MANY])
def test_a_stall_is_what_it_would_have_cost_a_user(cluster: ThreeNodes, tmp_path: Path, in_flight: int) -> None:
    """All daemons frozen for 2 s of 20: response latency shows it with any window; publish latency hides it with a window of
    one, as a closed loop would, because the messages that had to wait had not been sent yet.

    On a busy machine publish latency is what it is without the freeze, be that more than 0.2 s.
    """
    freeze = Freeze(pids_of(cluster.deployment), after_s=FREEZE_AFTER_S, for_s=FREEZE_S)
    result = load(cluster, freeze, in_flight=in_flight)
    rows = rows_of(result, cluster, tmp_path)
    assert result.abort is None
    assert len(rows.intended) == RATE_PER_S * (WARMUP_S + MEASURE_S)
    assert set(np.diff(rows.intended)) == {_SECOND_NS / RATE_PER_S}, "a stall moves no intended time"
    assert not np.isnan(rows.acked).any()
    began, ended = freeze.began_ns - rows.origin_ns, freeze.ended_ns - rows.origin_ns
    during = (rows.intended > began + _AT_ONCE_NS) & (rows.intended < ended)
    assert during.sum() > 0.8 * RATE_PER_S * FREEZE_S
    assert (rows.acked[during] >= ended).all()
    assert p99_s((rows.acked - rows.intended)[rows.measured]) >= 1.5
    publish = rows.acked - rows.sent
    stalled = (rows.sent < ended) & (rows.acked >= ended)
    if in_flight == 1:
        assert stalled.sum() <= PRODUCERS
        undisturbed_s = p99_s(publish[rows.measured & ~stalled])
        assert p99_s(publish[rows.measured]) < max(0.2, 1.5 * undisturbed_s)
    else:
        assert stalled.sum() > 0.8 * RATE_PER_S * FREEZE_S
        assert p99_s(publish[rows.measured]) >= 1.5


def test_what_was_never_sent_is_a_row(cluster: ThreeNodes, tmp_path: Path) -> None:
    """Frozen from the middle past the end and the drain: every message of the schedule is there, those unsent as unsent."""
    freeze = Freeze(pids_of(cluster.deployment), after_s=FREEZE_AFTER_S, for_s=None)
    result = load(cluster, freeze, in_flight=1, measure_s=8, drain_s=3.0)
    assert result.abort is not None
    assert (result.abort["rule"], result.abort["axis"]) == ("nothing-acknowledged", "outcome")
    rows = rows_of(result, cluster, tmp_path)
    assert len(rows.intended) == RATE_PER_S * (WARMUP_S + 8)
    after = rows.intended > freeze.began_ns - rows.origin_ns + _AT_ONCE_NS
    assert after.sum() > 2 * RATE_PER_S
    assert np.isnan(rows.acked[after]).all()
    assert np.isfinite(rows.sent[after]).sum() <= PRODUCERS, "one message of each is in flight, the others wait for it"
