"""Whose a delay was, as the generator records it: a full window holds a message until it was last seen full, and nothing else does."""

from __future__ import annotations

import dataclasses
import itertools
import time
from pathlib import Path
from typing import Any

import pytest

from bench.load.load import Limits, LoadSpec
from bench.worker.schedule import SECOND_NS
from bench.worker.usage import Saturation
from contract.workload import Workload
from tests.bench.fake_client import Behaviour, FakeBroker
from tests.bench.thread_host import ThreadHost, load, rows_of

pytestmark = pytest.mark.usefixtures("quick_progress")

TOPIC = "t"
LIMITS = Limits(ready_s=60, lead_s=0.1, nothing_acknowledged_s=60, silence_s=60, quiet_s=0.4, ending_s=30)
WORKLOAD = Workload(
    name="test", rate_per_s=400, message_bytes=64, measure_s=1.5, partitions=3, producers=1, consumers=0,
    warmup_s=0.5, drain_s=4.0,
)  # fmt: skip
GAP_NS = SECOND_NS // 400


def produced(broker: FakeBroker, clients: list[ThreadHost], folder: Path, **changes: Any) -> list[dict[str, Any]]:
    """The rows of a load of two seconds on the broker in memory."""
    workload = dataclasses.replace(WORKLOAD, **changes)
    spec = LoadSpec(workload, "tests.bench.fake_client", broker.service_url, {}, (TOPIC,), seed=1, limits=LIMITS)
    return rows_of(load(spec, clients), clients, folder / "trial", "produced")


def test_waiting_for_ones_turn_is_no_holding_back(clients: list[ThreadHost], tmp_path: Path) -> None:
    """A system that answers at once never held a message, however long the sender slept between two of them."""
    with FakeBroker([TOPIC]) as broker:
        rows = produced(broker, clients, tmp_path)
    assert {row["held_until_ns"] for row in rows} == {None}


@pytest.mark.parametrize("changes", [{"in_flight": 5}, {}], ids=["full window", "full client"])
def test_a_stall_holds_messages_until_it_ends_and_no_longer(
    clients: list[ThreadHost], tmp_path: Path, changes: dict[str, int]
) -> None:
    """Messages that found the window, or the client's own buffer, full are held up to the stall's end; those queued behind them
    half a gap longer each, and none any more once the producer has caught up."""
    behaviour = Behaviour(stall_s=(0.5, 1.0), buffer=None if changes else 5)
    with FakeBroker([TOPIC], behaviour=behaviour) as broker:
        rows = produced(broker, clients, tmp_path, **changes)
    first_ns = rows[0]["sent_ns"]
    held = [row for row in rows if row["held_until_ns"] is not None]
    assert len(held) > 0.3 * SECOND_NS / GAP_NS
    assert all(row["intended_ns"] <= row["held_until_ns"] <= row["sent_ns"] for row in held)
    stalled = max(held, key=lambda row: row["held_until_ns"] - row["intended_ns"])
    end_ns = min(row["acked_ns"] for row in rows if row["acked_ns"] > first_ns + 0.99 * SECOND_NS)
    assert (
        end_ns - 0.2 * SECOND_NS < stalled["held_until_ns"] <= end_ns
    )  # it looks every 0.2 ms, on a machine however busy
    queue = [(a, b) for a, b in itertools.pairwise(held) if b["sequence"] == a["sequence"] + 1]
    assert all(b["held_until_ns"] > a["held_until_ns"] for a, b in queue)


def test_a_client_that_catches_up_too_slowly_is_late_by_itself(
    clients: list[ThreadHost], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a stall a producer is given half a gap a message; of one that needs 0.9 of a gap for each, the rest is its own delay."""
    with FakeBroker([TOPIC], behaviour=Behaviour(stall_s=(0.3, 0.8))) as broker:
        accept = broker.accept

        def slowly(*arguments: Any) -> None:
            time.sleep(0.9 * GAP_NS / SECOND_NS)
            accept(*arguments)

        monkeypatch.setattr(broker, "accept", slowly)
        rows = produced(broker, clients, tmp_path, in_flight=5)
    own_ms = [(row["sent_ns"] - max(row["intended_ns"], row["held_until_ns"] or 0)) / 1e6 for row in rows]
    assert max(own_ms) > 100  # the queue of 200 messages is caught up in twice the time that it is given


def test_a_client_that_is_busy_itself_excuses_nothing() -> None:
    """Beyond 0.8 of a core over the last tenth of a second a full window may be of the client's own making; after a pause nothing is
    known, and a client that waits is not busy."""
    cpu_ns = [0]
    saturation = Saturation(cpu_ns=lambda: cpu_ns[0])
    assert not saturation.at(1_000_000_000)
    cpu_ns[0] = 90_000_000
    assert not saturation.at(1_050_000_000)  # too soon to tell
    assert saturation.at(1_100_000_000)
    assert saturation.at(1_150_000_000)
    cpu_ns[0] += 50_000_000
    assert not saturation.at(1_200_000_000)
    cpu_ns[0] += 900_000_000
    assert not saturation.at(2_200_000_000)  # nobody has looked for a second


def test_a_saturated_clients_full_window_holds_nothing(
    clients: list[ThreadHost], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same stall in a client that has no time for acknowledgements is recorded as its own delay."""
    monkeypatch.setattr("bench.worker.usage.Saturation.at", lambda _self, _now_ns: True)
    with FakeBroker([TOPIC], behaviour=Behaviour(stall_s=(0.5, 1.0))) as broker:
        rows = produced(broker, clients, tmp_path, in_flight=5)
    assert {row["held_until_ns"] for row in rows} == {None}
    assert max(row["sent_ns"] - row["intended_ns"] for row in rows) > 0.4 * SECOND_NS


@pytest.mark.parametrize("pacing", ["open-loop", "closed-loop"])
def test_no_acknowledgement_is_older_than_its_message(clients: list[ThreadHost], tmp_path: Path, pacing: str) -> None:
    """A broker that answers at once: acknowledged after its turn came, as was taken and never moved to fit the send."""
    with FakeBroker([TOPIC]) as broker:
        rows = produced(broker, clients, tmp_path, pacing=pacing, in_flight=100)
    assert all(row["acked_ns"] >= row["intended_ns"] for row in rows)
