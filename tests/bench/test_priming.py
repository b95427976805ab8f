"""When a system is started once beforehand, and what becomes of one that can't be."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench.campaign.campaign_file import load_campaign
from bench.campaign.contestant import plain
from bench.campaign.order import TrialSpec, order_of
from bench.load.load import LoadSpec
from bench.progress import PlainReporter
from bench.run import priming
from provisioning.errors import DeploymentError, HostUnreachable
from provisioning.hosts.host import ScriptedHost
from provisioning.hosts.inventory import HostRecord, Role, SshAddress
from systems.deployment import Endpoints, Plan, Topic
from systems.registry import DURABILITY

SMOKE = Path(__file__).resolve().parents[2] / "campaigns" / "smoke.toml"
PLAN = Plan(DURABILITY["2"], (Topic("samebox", 100),), {}, {})
ROLES: tuple[tuple[str, Role], ...] = (("broker-1", "broker"), ("client-1", "client"))
HOSTS = [
    ScriptedHost(
        HostRecord(name, role, SshAddress("127.0.0.1", 22, "nobody", ""), "127.0.0.1", "/srv", (), "i", "t", 1)
    )
    for name, role in ROLES
]
KILLED: dict[str, tuple[str, ...]] = {"broker-1": ("broker",)}
ENDED: dict[str, tuple[str, ...]] = {"broker-1": ()}


class Played:
    """A deployment that notes its verbs; any but these is an error."""

    system = "kafka"

    def __init__(self, verbs: list[str], *, there: bool = False, fails: Exception | None = None) -> None:
        self._verbs, self._there, self._fails = verbs, there, fails
        self.plan: Plan | None = None

    def install(self) -> None:
        self._verbs.append("install")

    def primed(self) -> bool:
        return self._there

    def configure(self, plan: Plan) -> None:
        self.plan = plan

    def start(self) -> None:
        self._verbs.append("start")
        if self._fails is not None:
            raise self._fails

    def create_topics(self) -> None:
        self._verbs.append("topics")

    def effective_settings(self) -> dict[str, Any]:
        self._verbs.append("settings")
        return {}

    def endpoints(self) -> Endpoints:
        return Endpoints("127.0.0.1:1", {})

    def messages_stored(self) -> int:
        self._verbs.append("count")
        return 1

    def under_replicated(self) -> Sequence[str]:
        self._verbs.append("replicas")
        return ()

    def keep_priming(self) -> None:
        self._verbs.append("keep")


@pytest.fixture
def verbs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What happened, in order; hosts are not touched."""
    happened: list[str] = []

    def stop(hosts: Sequence[Any], **_options: Any) -> dict[str, tuple[str, ...]]:
        del hosts
        happened.append("stop")
        return ENDED

    monkeypatch.setattr("bench.run.priming.daemons.stop_everything", stop)

    def load(spec: LoadSpec, clients: Sequence[Any], pythons: Any) -> SimpleNamespace:
        assert (spec.topics, spec.workload.partitions) == ((priming.TOPIC.name,), priming.TOPIC.partitions)
        assert ([host.name for host in clients], pythons) == (["client-1"], {"client-1": "python3"})
        happened.append("load")
        return SimpleNamespace(abort=None)

    monkeypatch.setattr("bench.run.priming.run_load", load)
    monkeypatch.setattr("bench.run.priming.reset", lambda *_args, **_options: happened.append("reset"))
    return happened


def record(deployment: Played) -> list[str]:
    """The lines that the user sees."""
    lines: list[str] = []
    reporter = PlainReporter(lines.append)
    first = order_of(load_campaign(SMOKE))[0]
    reporter.plan([priming.step_of(first)])
    equipped: Any = SimpleNamespace(
        hosts=HOSTS, clients=HOSTS[1:], pythons={"client-1": "python3"}, plans={first.trial: PLAN},
        deployment={first.contestant: deployment}.__getitem__, drop_caches=None,
    )  # fmt: skip
    priming.prime(first, equipped, reporter)
    return lines


def test_it_starts_ends_and_keeps(verbs: list[str]) -> None:
    """With the plan of the first trial, but for its topic: a hundred partitions would only take time."""
    deployment = Played(verbs)
    record(deployment)
    asked = ["settings", "load", "count", "replicas"]
    assert verbs == ["install", "reset", "start", "topics", *asked, "stop", "keep"]
    assert deployment.plan == dataclasses.replace(PLAN, topics=(priming.TOPIC,), prime=True)


def test_class_data_is_recorded_once(verbs: list[str]) -> None:
    """Hosts that have it are left alone."""
    record(Played(verbs, there=True))
    assert verbs == ["install"]


def test_half_an_archive_is_not_kept(verbs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a process that had to be killed."""
    monkeypatch.setattr("bench.run.priming.daemons.stop_everything", lambda _hosts, **_options: KILLED)
    record(Played(verbs))
    assert verbs[-1] == "replicas"


def test_a_system_that_fails_is_left_to_its_trials(verbs: list[str]) -> None:
    """They record why; the user is told now."""
    lines = record(Played(verbs, fails=DeploymentError("the broker died")))
    assert verbs == ["install", "reset", "start", "stop"]
    assert any("pulsar could not be primed" in line and "the broker died" in line for line in lines)


def test_a_load_that_ends_early_is_left_to_its_trials(verbs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A system that has stopped answering isn't asked for its counters."""
    hung = SimpleNamespace(abort={"reason": "nothing was acknowledged"})
    monkeypatch.setattr("bench.run.priming.run_load", lambda *_args: hung)
    lines = record(Played(verbs))
    assert verbs == ["install", "reset", "start", "topics", "settings", "stop"]
    assert any("could not be primed" in line and "nothing was acknowledged" in line for line in lines)


def test_a_lost_host_ends_the_campaign(verbs: list[str]) -> None:
    """Nothing is left running on the others."""
    with pytest.raises(HostUnreachable):
        record(Played(verbs, fails=HostUnreachable("broker-1", "cut off")))
    assert verbs[-1] == "stop"


def test_few_trials_are_not_worth_it() -> None:
    """It takes longer than it saves them."""
    (first, *_rest) = order_of(load_campaign(SMOKE))
    other = dataclasses.replace(first, contestant=plain("pulsar"))
    few: list[TrialSpec] = [other] * (priming.PAYS_FROM_TRIALS - 1)
    enough = [
        dataclasses.replace(first, contestant=plain("kafka"), block=number)
        for number in range(priming.PAYS_FROM_TRIALS)
    ]
    assert priming.worth_priming([*few, *enough]) == (enough[0],)
