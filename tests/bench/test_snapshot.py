"""What is asked around a load, and when: before its first message, while its drain waits, afterwards. And what a failure leaves."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench.campaign.campaign_file import load_campaign
from bench.campaign.order import order_of
from bench.load.abort import Abort
from bench.progress import PlainReporter
from bench.run.attempt import TrialLog
from bench.run.snapshot import LoadSnapshots
from provisioning.errors import DeploymentError, HostUnreachable
from provisioning.hosts.daemons import DaemonState
from systems.deployment import Endpoints

SMOKE = Path(__file__).resolve().parents[2] / "campaigns" / "smoke.toml"
INTENDED = {"broker/broker-1": {"key": "1"}}
STATE = DaemonState("broker-1", "broker", 7, 1000, False)
WAIT_S = 10.0


class Played:
    """A deployment that notes what it is asked; any other question is an error. `blocked`: its settings wait for it.

    `uncounted`: what its first counts fail with, in turn.
    """

    def __init__(
        self,
        fails: Exception | None = None,
        blocked: threading.Event | None = None,
        uncounted: Sequence[Exception] = (),
    ) -> None:
        self.asked: list[str] = []
        self._fails, self._blocked, self._uncounted = fails, blocked, list(uncounted)
        self.processes = self

    def states(self) -> Sequence[DaemonState]:
        self.asked.append("daemons")
        return [STATE]

    def effective_settings(self) -> dict[str, Any]:
        if self._blocked is not None:
            assert self._blocked.wait(WAIT_S)
        self.asked.append("settings")
        if self._fails is not None:
            raise self._fails
        return {"broker/broker-1": {"key": "2"}}

    def leaders(self) -> dict[str, int]:
        return {"broker-1": 6}

    def endpoints(self) -> Endpoints:
        return Endpoints("127.0.0.1:1", {"acks": "all"})

    def messages_stored(self) -> int:
        self.asked.append("stored")
        if self._uncounted:
            raise self._uncounted.pop(0)
        return 5

    def under_replicated(self) -> Sequence[str]:
        self.asked.append("replicas")
        raise DeploymentError("no answer")


class Scene:
    """An LoadSnapshots with a log, over one host that isn't touched."""

    def __init__(self, deployment: Played, closed: threading.Event | None = None) -> None:
        self.deployment, self.telemetry_started, self.closed = deployment, 0, closed or threading.Event()
        spec = order_of(load_campaign(SMOKE))[0]
        self.log = TrialLog(spec, PlainReporter(lambda _line: None), lambda _name: contextlib.nullcontext())
        host = SimpleNamespace(name="broker-1", close=self.closed.set)
        telemetry = SimpleNamespace(start=self._start)
        self.around = LoadSnapshots(deployment, INTENDED, telemetry, [host], self.log)  # type: ignore[arg-type]

    def _start(self) -> None:
        self.telemetry_started += 1


@pytest.fixture(autouse=True)
def _hosts_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.run.snapshot.states", Played.states)
    monkeypatch.setattr("bench.run.snapshot.facts.boot_ids", lambda hosts: {host.name: "b" for host in hosts})
    clocks = {"broker-1": SimpleNamespace(bound_ns=3, source="PHC0")}
    monkeypatch.setattr("bench.run.snapshot.clock_bounds", lambda _hosts: clocks)


def test_what_is_found_is_in_the_log() -> None:
    """Before the first message all that is asked before it; the count once, begun ahead; a counter that can't be read is null."""
    scene = Scene(Played())
    with scene.around as around:
        hooks = around.hooks(lambda: None)
        hooks.before_start()
        assert scene.log.settings["drift"] == [
            {"component": "broker/broker-1", "key": "key", "intended": "1", "effective": "2"}
        ]
        assert scene.log.settings["client"] == {"acks": "all"}
        assert (scene.log.sampled, scene.telemetry_started) == (True, 1)
        assert "stored" not in scene.deployment.asked
        hooks.all_received()
        around.await_before()
        around.take_after()
    assert sorted(scene.deployment.asked) == ["daemons", "daemons", "replicas", "replicas", "settings", "stored"]
    found = scene.log.observations
    assert (found["messages_stored"], found["under_replicated"]) == (5, None)
    assert found["not_counted"] == {"under_replicated": "no answer"}
    assert found["boot_ids"] == {"before": {"broker-1": "b"}, "after": {"broker-1": "b"}}
    assert found["clocks"] == [{"host": "broker-1", "bound_before_ns": 3, "bound_after_ns": 3, "source": "PHC0"}]
    assert [(each["pid_at_start"], each["pid_at_end"]) for each in found["daemons"]] == [(7, 7)]


def test_a_load_that_never_says_that_it_received_everything_is_counted_afterwards() -> None:
    """Some of its messages are missing, or its tools don't tell."""
    scene = Scene(Played())
    with scene.around as around:
        around.hooks(lambda: None).before_start()
        around.take_after()
    assert scene.log.observations["messages_stored"] == 5


@pytest.mark.parametrize(
    ("uncounted", "stored", "asked"),
    [
        ([DeploymentError("busy")], 5, 2),
        ([DeploymentError("busy"), DeploymentError("still busy")], None, 2),
        ([HostUnreachable("broker-1", "gone")], None, 1),
    ],
)
def test_a_count_that_fails_is_asked_for_once_more(
    uncounted: Sequence[Exception], stored: int | None, asked: int
) -> None:
    """A busy system may not answer in time once; one whose host is gone isn't asked again. Why it failed is kept."""
    scene = Scene(Played(uncounted=uncounted))
    with scene.around as around:
        around.hooks(lambda: None).before_start()
        around.take_after()
    found = scene.log.observations
    assert found["messages_stored"] == stored
    assert found["not_counted"].get("messages_stored", "") == ("" if stored else str(uncounted[-1]))
    assert scene.deployment.asked.count("stored") == asked


def test_the_first_message_waits_for_the_answers() -> None:
    """No question may go on beside what is measured."""
    blocked = threading.Event()
    scene = Scene(Played(blocked=blocked))
    with scene.around as around:
        hooks = around.hooks(lambda: None)
        starting = threading.Thread(target=hooks.before_start)
        starting.start()
        starting.join(0.2)
        assert starting.is_alive()
        assert hooks.watch() is None
        blocked.set()
        starting.join(WAIT_S)
    assert scene.deployment.asked == ["daemons", "settings"]


def test_a_system_that_can_not_be_asked_ends_the_load_while_clients_connect() -> None:
    """Its own reason is the one to give, not that clients could not connect. What was known before stays known."""
    scene = Scene(Played(DeploymentError("broker-1: broker not running any more")))
    with scene.around as around:
        with pytest.raises(DeploymentError, match="not running"):
            around.await_before()
        with pytest.raises(DeploymentError, match="not running"):
            around.hooks(lambda: Abort("nothing-acknowledged", "outcome", "nobody there", None)).watch()
    assert scene.log.settings["effective"] == {}
    assert scene.log.observations["boot_ids"] == {"before": {"broker-1": "b"}}
    assert not scene.closed.is_set()


def test_after_an_abort_the_system_is_not_asked() -> None:
    """One that has stopped answering would only let minutes pass; processes and hosts are looked at all the same."""
    scene = Scene(Played())
    with scene.around as around:
        around.hooks(lambda: None).before_start()
        scene.log.end("nothing-acknowledged", "outcome", "hung")
        around.take_after()
    assert scene.deployment.asked == ["daemons", "settings", "daemons"]
    assert (scene.log.observations["messages_stored"], scene.log.observations["under_replicated"]) == (None, None)
    assert scene.log.observations["daemons"]


def test_an_interrupt_cuts_the_questions_off() -> None:
    """Closing the hosts is what ends a question that hangs."""
    closed = threading.Event()
    scene = Scene(Played(blocked=closed), closed)
    with pytest.raises(KeyboardInterrupt), scene.around:
        raise KeyboardInterrupt
    assert closed.is_set()
    assert scene.deployment.asked == ["daemons", "settings"]
