"""A whole load from the operator's side, with workers as threads and a broker in memory that can misbehave."""

from __future__ import annotations

import dataclasses
import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from bench.load.abort import Abort
from bench.load.collect import collect_records
from bench.load.load import Hooks, Limits, LoadSpec
from contract.workload import Workload
from provisioning.errors import CommandFailed, Completed, HostUnreachable
from tests.bench.fake_client import Behaviour, FakeBroker
from tests.bench.thread_host import ThreadHost, ThreadProcess, load, rows_of

pytestmark = pytest.mark.usefixtures("quick_progress")

TOPIC = "t"
# a busy machine holds threads up for seconds: only a test of a limit has it short
LIMITS = Limits(ready_s=60, lead_s=0.1, nothing_acknowledged_s=60, silence_s=60, quiet_s=0.4, ending_s=30)
IMPATIENT = dataclasses.replace(LIMITS, nothing_acknowledged_s=4)
WORKLOAD = Workload(
    name="test", rate_per_s=400, message_bytes=64, measure_s=1.5, partitions=3, producers=2, consumers=2,
    warmup_s=0.5, drain_s=4.0,
)  # fmt: skip
SCHEDULED = 800


def spec_of(broker: FakeBroker, limits: Limits = LIMITS, **changes: Any) -> LoadSpec:
    """A load of two seconds on the broker in memory."""
    workload = dataclasses.replace(WORKLOAD, **changes)
    return LoadSpec(workload, "tests.bench.fake_client", broker.service_url, {}, (TOPIC,), seed=1, limits=limits)


def test_every_scheduled_message_has_a_row_and_every_receipt_one(clients: list[ThreadHost], tmp_path: Path) -> None:
    """Rows = schedule, received = acknowledged, phases by intended time, workers spread over hosts, files removed there."""
    said: list[str] = []
    with FakeBroker([TOPIC]) as broker:
        result = load(spec_of(broker), clients, Hooks(on_progress=said.append))
    assert result.abort is None
    assert result.produced_rows == result.consumed_rows == broker.stored[TOPIC] == SCHEDULED
    rows = rows_of(result, clients, tmp_path / "trial", "produced")
    for producer in (0, 1):
        own = [row for row in rows if row["producer"] == producer]
        assert [row["sequence"] for row in own] == list(range(SCHEDULED // 2))
    start = result.phases[0]["start_ns"]
    assert sorted(row["intended_ns"] - start for row in rows) == [k * 2_500_000 for k in range(SCHEDULED)]
    assert all(row["intended_ns"] <= min(row["sent_ns"], row["acked_ns"]) and row["error"] is None for row in rows)
    assert [phase["name"] for phase in result.phases] == ["warmup", "measure"]
    boundary = result.phases[1]["start_ns"]
    assert all((row["phase"] == "warmup") == (row["intended_ns"] < boundary) for row in rows)
    received = rows_of(result, clients, tmp_path / "trial", "consumed")
    key = ("producer", "sequence", "partition", "intended_ns", "phase")
    assert sorted([row[k] for k in key] for row in received) == sorted([row[k] for k in key] for row in rows)
    assert all(row["received_ns"] >= row["intended_ns"] for row in received)
    assert [(w["worker"], w["host"]) for w in result.workers] == [
        ("consumer-0", "client-1"), ("consumer-1", "client-2"), ("producer-0", "client-1"), ("producer-1", "client-2"),
    ]  # fmt: skip
    assert all(w["cpu_s"] >= 0 and w["wall_s"] > 1.9 and w["rss_peak_bytes"] > 0 for w in result.workers)
    measured = [w["measured"] for w in result.workers]
    assert all(1.0 < one["seconds"] <= 1.5 and one["cpu_user_s"] >= 0 and one["cpu_system_s"] >= 0 for one in measured)
    assert [w["state"] for w in result.workers] == ["done"] * 4
    assert result.first_acknowledgement_ms is not None
    assert result.watched_until_ns is not None
    assert result.phases[-1]["end_ns"] <= result.watched_until_ns["producers"] <= result.watched_until_ns["consumers"]
    assert f"rm -rf -- {tmp_path}/client-1/{result.directory}" in clients[0].asked
    assert any("800 sent, 800 acknowledged, 800 received, draining" in text for text in said)


def test_who_is_ready_while_nobody_looks_is_not_late(tmp_path: Path) -> None:
    """The operator is held up beyond the limit while the last workers become ready: they are looked at once more."""
    said_ready: list[str] = []

    def note(_process: ThreadProcess, line: str) -> str:
        if json.loads(line)["event"] == "ready":
            said_ready.append(line)
        return line

    def held_up() -> Abort | None:
        while len(said_ready) < 4:
            time.sleep(0.01)
        time.sleep(0.4)
        return None

    hosts = [ThreadHost(f"client-{number}", tmp_path, note) for number in (1, 2)]
    with FakeBroker([TOPIC]) as broker:
        limits = dataclasses.replace(LIMITS, ready_s=0.3)
        result = load(spec_of(broker, limits=limits, measure_s=0.2, warmup_s=0.1), hosts, Hooks(watch=held_up))
    assert result.abort is None


def test_who_spoke_while_nobody_listened_has_not_been_silent(tmp_path: Path) -> None:
    """The operator is held up for longer than a worker may be silent: what was said meanwhile is heard before anybody is judged."""
    held = threading.Event()

    def held_up() -> Abort | None:
        if started.is_set() and not held.is_set():
            held.set()
            time.sleep(5.3)
        return None

    started = threading.Event()
    hosts = [ThreadHost(f"client-{number}", tmp_path) for number in (1, 2)]
    with FakeBroker([TOPIC]) as broker:
        limits = dataclasses.replace(LIMITS, silence_s=5, nothing_acknowledged_s=5)
        result = load(
            spec_of(broker, limits=limits, measure_s=6.0), hosts, Hooks(watch=held_up, before_start=started.set)
        )
    assert result.abort is None
    assert not any("true" in host.asked for host in hosts)


def test_each_subscription_receives_everything(clients: list[ThreadHost]) -> None:
    """Two subscriptions: twice the receipts, and the drain waits for both."""
    with FakeBroker([TOPIC]) as broker:
        result = load(spec_of(broker, subscriptions=2), clients)
    assert result.consumed_rows == 2 * result.produced_rows == 2 * SCHEDULED


def test_a_stall_costs_what_it_would_have_cost_a_user(clients: list[ThreadHost], tmp_path: Path) -> None:
    """A full window delays sends but moves no intended time: response latency shows the stall, publish latency hides it."""
    with FakeBroker([TOPIC], behaviour=Behaviour(stall_s=(0.5, 1.5))) as broker:
        result = load(spec_of(broker, in_flight=5), clients)
    assert result.abort is None
    rows = rows_of(result, clients, tmp_path / "trial", "produced")
    assert len(rows) == SCHEDULED
    start = result.phases[0]["start_ns"]
    assert sorted(row["intended_ns"] - start for row in rows) == [k * 2_500_000 for k in range(SCHEDULED)]
    response_ms = [(row["acked_ns"] - row["intended_ns"]) / 1e6 for row in rows]
    publish_ms = [(row["acked_ns"] - row["sent_ns"]) / 1e6 for row in rows]
    late = sum(latency > 200 for latency in response_ms)
    assert late > 0.25 * SCHEDULED
    # two windows of five in the stall; a busy machine delays some more
    assert 10 <= sum(latency > 200 for latency in publish_ms) < late / 4
    for producer in (0, 1):
        own = sorted((row for row in rows if row["producer"] == producer), key=lambda row: int(row["sequence"]))
        # a send is timed after the window has made room for it
        assert all(later["sent_ns"] >= earlier["acked_ns"] for earlier, later in zip(own, own[5:], strict=False))


def test_loss_is_visible_and_the_drain_gives_up(clients: list[ThreadHost], tmp_path: Path) -> None:
    """Acknowledged messages that never arrive: the produced rows say acknowledged, the consumed ones lack them."""
    lost = Behaviour(lose=lambda sequence: sequence % 100 == 7)
    with FakeBroker([TOPIC], behaviour=lost) as broker:
        result = load(spec_of(broker, limits=dataclasses.replace(LIMITS, stalled_drain_s=1.5)), clients)
    assert result.abort is None
    acked = {(row["producer"], row["sequence"]) for row in rows_of(result, clients, tmp_path / "trial", "produced")}
    got = {(row["producer"], row["sequence"]) for row in rows_of(result, clients, tmp_path / "trial", "consumed")}
    assert acked - got == {(producer, sequence) for producer in (0, 1) for sequence in (7, 107, 207, 307)}


def test_repeats_are_rows_too(clients: list[ThreadHost]) -> None:
    """A message delivered twice is received twice, and doesn't hide that others are still to come."""
    with FakeBroker([TOPIC], behaviour=Behaviour(repeat=lambda sequence: sequence < 50)) as broker:
        result = load(spec_of(broker), clients)
    assert result.consumed_rows == SCHEDULED + 2 * 50


def test_failures_are_rows_with_the_clients_words(clients: list[ThreadHost], tmp_path: Path) -> None:
    """Refused: never sent. Failed: sent, never acknowledged. Both carry the client's error."""
    behaviour = Behaviour(refuse=lambda s: s == 3, fail=lambda s: s == 5)
    with FakeBroker([TOPIC], behaviour=behaviour) as broker:
        result = load(spec_of(broker), clients)
    rows = [row for row in rows_of(result, clients, tmp_path / "trial", "produced") if row["error"] is not None]
    shown = [(row["sequence"], row["error"], row["sent_ns"] is None, row["acked_ns"], row["partition"]) for row in rows]
    assert shown == [(3, "REFUSED", True, None, None), (5, "FAILED", False, None, None)] * 2
    assert result.produced_rows == SCHEDULED


def test_backpressure_delays_but_skips_nothing(clients: list[ThreadHost], tmp_path: Path) -> None:
    """A client whose buffer is full gets the same message again."""
    with FakeBroker([TOPIC], behaviour=Behaviour(buffer=1, ack_delay_s=0.002)) as broker:
        result = load(spec_of(broker), clients)
    assert all(row["acked_ns"] for row in rows_of(result, clients, tmp_path / "trial", "produced"))
    assert broker.stored[TOPIC] == SCHEDULED


def test_a_silent_broker_ends_the_load_as_an_outcome(clients: list[ThreadHost], tmp_path: Path) -> None:
    """Nothing acknowledged while messages are in flight: aborted, and the messages whose turn had come are rows."""
    with FakeBroker([TOPIC], behaviour=Behaviour(silent_from=50)) as broker:
        result = load(spec_of(broker, limits=IMPATIENT, in_flight=20, measure_s=60.0), clients)
    assert result.abort is not None
    assert (result.abort["rule"], result.abort["axis"], result.abort["host"]) == (
        "nothing-acknowledged",
        "outcome",
        None,
    )
    assert "nothing was acknowledged for" in result.abort["reason"]
    rows = [row for row in rows_of(result, clients, tmp_path / "trial", "produced") if row["producer"] == 0]
    assert [row["sequence"] for row in rows] == list(range(len(rows)))
    assert all(row["acked_ns"] for row in rows[:50])
    assert all(row["sent_ns"] and row["acked_ns"] is None for row in rows[50:70])
    assert all(row["sent_ns"] is None for row in rows[70:])
    assert 200 < len(rows) < 6000


def test_a_system_that_fails_every_message_has_stopped_answering(clients: list[ThreadHost]) -> None:
    """Nothing is in flight, because each message is given up at once, and still nothing is acknowledged."""
    with FakeBroker([TOPIC], behaviour=Behaviour(fail=lambda s: s >= 50)) as broker:
        result = load(spec_of(broker, limits=IMPATIENT, measure_s=60.0), clients)
    assert result.abort is not None
    assert (result.abort["rule"], result.abort["axis"]) == ("nothing-acknowledged", "outcome")
    assert "failed; 100 had been before" in result.abort["reason"]


def test_a_system_silent_through_the_drain_has_stopped_answering(clients: list[ThreadHost]) -> None:
    """It falls silent so late that the schedule and the drain are over before the limit is: the schedule is recorded whole."""
    with FakeBroker([TOPIC], behaviour=Behaviour(silent_from=300)) as broker:
        result = load(spec_of(broker, drain_s=2.0), clients)
    assert result.abort is not None
    assert (result.abort["rule"], result.abort["axis"]) == ("nothing-acknowledged", "outcome")
    assert result.produced_rows == SCHEDULED


def test_a_watch_ends_the_load(clients: list[ThreadHost], tmp_path: Path) -> None:
    """What the caller sees beyond the workers ends the run with the caller's reason, and the rows are kept."""
    seen = Abort("disk-full", "validity", "nothing left", "broker-2")
    began = time.monotonic()
    with FakeBroker([TOPIC]) as broker:
        spec = spec_of(broker, measure_s=60.0)
        result = load(spec, clients, Hooks(watch=lambda: seen if time.monotonic() - began > 2 else None))
    assert result.abort == seen.to_json()
    assert 0 < len(rows_of(result, clients, tmp_path / "trial", "produced")) == result.produced_rows < 60 * 400


def test_a_broker_slow_for_ever_ends_with_unsent_rows(clients: list[ThreadHost], tmp_path: Path) -> None:
    """What could not be sent until the drain was over is a row all the same: the whole schedule is there."""
    with FakeBroker([TOPIC], behaviour=Behaviour(ack_delay_s=0.1)) as broker:
        result = load(spec_of(broker, in_flight=5, drain_s=1.5), clients)
    assert result.abort is None
    rows = rows_of(result, clients, tmp_path / "trial", "produced")
    assert len(rows) == SCHEDULED
    unsent = [row for row in rows if row["sent_ns"] is None]
    assert 200 < len(unsent) < 700
    assert all(row["acked_ns"] is None and row["error"] is None for row in unsent)


def test_nobody_to_connect_to_is_the_systems_outcome(clients: list[ThreadHost]) -> None:
    """A client that finds no topic: nothing was ever acknowledged, and the client's words say why."""
    with FakeBroker(["another"]) as broker:
        result = load(spec_of(broker), clients)
    assert result.abort is not None
    assert (result.abort["rule"], result.abort["axis"]) == ("nothing-acknowledged", "outcome")
    assert "NO_TOPIC" in result.abort["reason"]
    assert (result.phases, result.produced_rows, result.consumed_rows) == ((), 0, 0)


def test_a_worker_that_dies_ends_the_load_as_invalid(tmp_path: Path) -> None:
    """Its output ends in the middle: validity, with host and name; the others end and keep their rows."""

    def die(process: ThreadProcess, line: str) -> str | None:
        if '"lag_ns"' in line and '"sent": 0' not in line:
            process.output.put(None)
            return None
        return line

    hosts = [ThreadHost("client-1", tmp_path), ThreadHost("client-2", tmp_path, die)]
    with FakeBroker([TOPIC]) as broker:
        result = load(spec_of(broker, measure_s=60.0), hosts)
    assert result.abort is not None
    assert (result.abort["rule"], result.abort["axis"], result.abort["host"]) == ("worker-died", "validity", "client-2")
    assert "producer-1" in result.abort["reason"]
    assert result.produced_rows > 0
    # the end of its input is what tells the one that is counted as dead, and its threads see that in their own time
    assert all(process.aborted.wait(60) for host in hosts for process in host.processes)


def test_a_lost_host_ends_the_load_as_invalid(tmp_path: Path) -> None:
    """The connection is cut: validity, host-lost."""

    def cut(process: ThreadProcess, line: str) -> str | None:
        if '"lag_ns"' in line and '"sent": 0' not in line:
            process.output.put(HostUnreachable("client-2", "the connection was cut"))
            return None
        return line

    hosts = [ThreadHost("client-1", tmp_path), ThreadHost("client-2", tmp_path, cut)]
    with FakeBroker([TOPIC]) as broker:
        result = load(spec_of(broker, measure_s=60.0), hosts)
    assert result.abort is not None
    assert (result.abort["rule"], result.abort["axis"], result.abort["host"]) == ("host-lost", "validity", "client-2")


@pytest.mark.parametrize(
    ("answer", "rule"),
    [(None, "worker-died"), (HostUnreachable("client-2", "no connection"), "host-lost")],
)
def test_silence_is_a_dead_worker_or_a_lost_host(tmp_path: Path, answer: Exception | None, rule: str) -> None:
    """A worker that says nothing any more: whether its host still answers tells which."""

    def fall_silent(_process: ThreadProcess, line: str) -> str | None:
        return None if '"lag_ns"' in line else line

    hosts = [ThreadHost("client-1", tmp_path), ThreadHost("client-2", tmp_path, fall_silent)]
    hosts[1].answer = answer
    with FakeBroker([TOPIC]) as broker:
        limits = dataclasses.replace(LIMITS, silence_s=4)
        result = load(spec_of(broker, limits=limits, measure_s=60.0), hosts)
    assert result.abort is not None
    assert (result.abort["rule"], result.abort["axis"], result.abort["host"]) == (rule, "validity", "client-2")


def test_waiting_for_the_others_is_no_silence(tmp_path: Path) -> None:
    """A worker that was ready early has nothing to say until a slow one is ready, too."""

    def connect_slowly(_process: ThreadProcess, line: str) -> str | None:
        if '"ready"' in line:
            time.sleep(6.0)
        return line

    hosts = [ThreadHost("client-1", tmp_path), ThreadHost("client-2", tmp_path, connect_slowly)]
    with FakeBroker([TOPIC]) as broker:
        result = load(spec_of(broker, limits=dataclasses.replace(LIMITS, silence_s=5)), hosts)
    assert result.abort is None
    assert result.produced_rows == SCHEDULED


def test_a_full_disk_is_told_as_such(clients: list[ThreadHost], monkeypatch: pytest.MonkeyPatch) -> None:
    """Records that can't be written end the load on the validity axis, naming the host."""

    def full(*_arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("bench.worker.records.RecordWriter.add", full)
    with FakeBroker([TOPIC]) as broker:
        result = load(spec_of(broker), clients)
    assert result.abort is not None
    assert (result.abort["rule"], result.abort["axis"]) == ("disk-full", "validity")
    assert result.abort["host"] in ("client-1", "client-2")


def test_an_interrupt_ends_the_workers(clients: list[ThreadHost]) -> None:
    """Ctrl-C goes on to the caller, and no worker is left behind."""
    seen = time.monotonic()

    def interrupt(text: str) -> None:
        if "acknowledged" in text and time.monotonic() - seen > 0.5:
            raise KeyboardInterrupt

    with FakeBroker([TOPIC]) as broker:
        with pytest.raises(KeyboardInterrupt):
            load(spec_of(broker, measure_s=60.0), clients, Hooks(on_progress=interrupt))
        for host in clients:
            for process in host.processes:
                assert process.ended.wait(60)


def test_a_probe_needs_an_acknowledgement(clients: list[ThreadHost]) -> None:
    """The probe goes to its own topic, one per producer, and never into the measured one."""
    with FakeBroker([TOPIC, "probe"]) as broker:
        result = load(dataclasses.replace(spec_of(broker), probe_topic="probe"), clients)
    assert broker.stored == {TOPIC: SCHEDULED, "probe": 2}
    assert result.consumed_rows == SCHEDULED


def test_records_that_cannot_be_fetched_stay(clients: list[ThreadHost], tmp_path: Path) -> None:
    """A host whose files could not be fetched keeps them for another try."""
    with FakeBroker([TOPIC]) as broker:
        result = load(spec_of(broker), clients)

    def unreachable(path: str, target: Path) -> None:
        raise CommandFailed("client-1", Completed(f"cat {path} {target}", "", "gone", 1))

    clients[0].fetch = unreachable  # type: ignore[method-assign]
    with pytest.raises(Exception, match="collecting records failed on client-1"):
        collect_records(result, [*clients], tmp_path / "trial")
    assert not any("rm -rf" in command for command in clients[0].asked)
    assert any("rm -rf" in command for command in clients[1].asked)
