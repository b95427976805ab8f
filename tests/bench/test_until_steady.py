"""A whole load whose warm-up lasts until the system is steady. What producers say of their latency is made up, so that no test depends
on how busy this machine is.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.load.load import Limits, LoadResult, LoadSpec
from bench.worker.schedule import SECOND_NS
from contract.workload import Workload
from tests.bench.fake_client import FakeBroker
from tests.bench.thread_host import ThreadHost, ThreadProcess, load, rows_of

TOPIC, RATE_PER_S, MEASURE_S = "t", 400, 1.0
LIMITS = Limits(ready_s=60, lead_s=0.1, nothing_acknowledged_s=60, silence_s=60, quiet_s=0.4, ending_s=30)


pytestmark = pytest.mark.usefixtures("quick_progress")


@pytest.fixture(autouse=True)
def short_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds of half a second at least, with ten reports of each producer instead of two."""
    monkeypatch.setattr("bench.load.warmup_watch.SHORTEST_ROUND_NS", SECOND_NS // 2)
    monkeypatch.setattr("bench.load.warmup_watch.REPORTED_NS", SECOND_NS // 5)


def run(tmp_path: Path, medians_ns: Iterator[int], *, warmup_s: float, warmup: Any = "until-steady") -> LoadResult:
    """The load; producers report these medians, one after the other. Its records are in `trial`."""
    said: list[dict[str, Any]] = []

    def report(_process: ThreadProcess, line: str) -> str:
        event = json.loads(line)
        if "answered" in event:
            said.append(dict(event))
            event |= {"answered": 10, "answered_p50_ns": next(medians_ns)}
        return json.dumps(event)

    workload = Workload(
        name="test", rate_per_s=RATE_PER_S, message_bytes=64, measure_s=MEASURE_S, partitions=3, producers=2, consumers=2,
        warmup_s=warmup_s, warmup=warmup, drain_s=4.0,
    )  # fmt: skip
    hosts = [ThreadHost(f"client-{number}", tmp_path, report) for number in (1, 2)]
    with FakeBroker([TOPIC]) as broker:
        spec = LoadSpec(workload, "tests.bench.fake_client", broker.service_url, {}, (TOPIC,), seed=1, limits=LIMITS)
        result = load(spec, hosts)
    rows = rows_of(result, hosts, tmp_path / "trial", "produced")
    received = rows_of(result, hosts, tmp_path / "trial", "consumed")
    spans = {phase["name"]: (phase["start_ns"], phase["end_ns"]) for phase in result.phases}
    assert result.abort is None
    assert all(spans[row["phase"]][0] <= row["intended_ns"] < spans[row["phase"]][1] for row in [*rows, *received])
    assert spans["measure"][1] - spans["measure"][0] == MEASURE_S * SECOND_NS
    seconds = (spans["measure"][1] - spans["warmup"][0]) / SECOND_NS
    assert abs(len(rows) - RATE_PER_S * seconds) <= 2 and len(received) == len(rows)
    assert bool(said) is (warmup == "until-steady")
    assert sum(event["answered"] for event in said) <= len(rows)
    assert all(event["answered_p50_ns"] > 0 for event in said if event["answered"])
    return result


def warmed_up_s(result: LoadResult) -> float:
    """How long the warm-up was."""
    warmup = result.phases[0]
    return float(warmup["end_ns"] - warmup["start_ns"]) / SECOND_NS


def test_the_measurement_begins_when_the_system_is_steady(tmp_path: Path) -> None:
    """Before the bound, and ends so much earlier: every row is under the phase that its time falls in, and the schedule is whole."""
    result = run(tmp_path, itertools.repeat(5_000_000), warmup_s=20)
    told = result.observations["warmup"]
    assert told["steady"] is True
    assert warmed_up_s(result) == told["lasted_s"] < 20
    assert told["rounds_p50_ms"][-5:] == [5.0] * 5


def test_the_measurement_begins_at_the_bound_at_the_latest(tmp_path: Path) -> None:
    """Of a system that isn't steady by then; the record says so."""
    result = run(tmp_path, itertools.count(1_000_000, 1_000_000), warmup_s=4.5)
    assert warmed_up_s(result) == 4.5
    assert result.observations["warmup"]["steady"] is False


def test_a_fixed_warm_up_asks_for_no_latency(tmp_path: Path) -> None:
    """Its workers report what they always did, and nothing of it is recorded."""
    result = run(tmp_path, itertools.repeat(1), warmup_s=0.5, warmup="fixed")
    assert warmed_up_s(result) == 0.5
    assert result.observations == {}
