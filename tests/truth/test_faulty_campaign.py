"""Campaigns in which brokers die or freeze, a worker is killed, a connection is cut: what is recorded, and what comes after."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from provisioning.hosts import daemons
from provisioning.hosts.inventory import Inventory
from provisioning.hosts.ssh import SshHost
from systems.processes import states
from tests.truth.campaigns import Act, Played, Scene, play
from tests.truth.faults import connection_pids, listening_ports, pids_of, processes_of, signal_all, worker_pids

pytestmark = [pytest.mark.integration, pytest.mark.truth, pytest.mark.timeout(3600)]
SILENCE_S = 30.0  # the real limit of "nothing acknowledged"
END_WITHIN_S = 30.0
OUTCOME = ("nothing-acknowledged", "outcome", None)


def freeze(scene: Scene, *hosts: str) -> None:
    """Every daemon on those hosts (none named: on all) stops answering and stays there."""
    signal_all(pids_of(scene.deployment, hosts or None), signal.SIGSTOP)


def kill(scene: Scene, *hosts: str, daemon: str = "broker") -> None:
    """One daemon on each of those hosts is killed."""
    pids = [each.pid for each in states(scene.deployment.processes) if each.host in hosts and each.daemon == daemon]
    signal_all([pid for pid in pids if pid is not None], signal.SIGKILL)


def kill_a_worker(scene: Scene) -> None:
    """The last worker that was started, a producer, is killed."""
    signal_all(worker_pids(scene.root("client-1"))[-1:], signal.SIGKILL)


def cut_off(scene: Scene, host: str) -> None:
    """Every SSH connection to a host is cut; its server goes on listening."""
    signal_all(connection_pids(scene.root(host)), signal.SIGKILL)


# of systems with one process on each host, called alike
SERVERS_ALIKE = [
    Act("all-frozen", freeze),
    Act("one-killed", lambda scene: kill(scene, "broker-2", daemon="server"), measure_s=25),
    Act("two-killed", lambda scene: kill(scene, "broker-2", "broker-3", daemon="server")),
    Act("two-frozen", lambda scene: freeze(scene, "broker-2", "broker-3")),
    Act("worker-killed", kill_a_worker),
    Act("client-cut-off", lambda scene: cut_off(scene, "client-1")),
]
# Who a dead broker's partitions go to is known once its session has ended: 9 s with Kafka, 30 s with Pulsar. Messages to them wait
# until then, so the schedule must go on for longer, or nothing at all would be acknowledged after it.
ACTS = {
    "kafka": [
        Act("all-frozen", freeze),
        Act("one-killed", lambda scene: kill(scene, "broker-2"), measure_s=25),
        Act("two-killed", lambda scene: kill(scene, "broker-1", "broker-2")),
        Act("two-frozen", lambda scene: freeze(scene, "broker-1", "broker-2")),
        Act("worker-killed", kill_a_worker),
        Act("client-cut-off", lambda scene: cut_off(scene, "client-1")),
    ],
    "nats": SERVERS_ALIKE,
    "pulsar": [
        Act("all-frozen", freeze),
        Act("one-killed", lambda scene: kill(scene, "broker-2"), measure_s=75),
        Act("bookies-killed", lambda scene: kill(scene, "broker-1", "broker-2", daemon="bookie")),
        Act("worker-killed", kill_a_worker),
        Act("client-cut-off", lambda scene: cut_off(scene, "client-1")),
    ],
    "rabbitmq": SERVERS_ALIKE,
    # all streams are on the first server: nothing takes its place, and either of the others is enough
    "valkey": [*SERVERS_ALIKE, Act("primary-killed", lambda scene: kill(scene, "broker-1", daemon="server"))],
}


@pytest.fixture(scope="module", params=list(ACTS))
def played(
    request: pytest.FixtureRequest,
    local_testbed: Inventory,
    hosts: dict[str, SshHost],
    tmp_path_factory: pytest.TempPathFactory,
) -> Played:
    """One campaign per system, all its acts in turn, run once for all tests."""
    return play(request.param, ACTS[request.param], local_testbed, hosts, tmp_path_factory.mktemp(request.param))


def names_of(played: Played, *wanted: str) -> list[str]:
    """Those of the wanted acts that this system has."""
    found = [name for name in wanted if name in played.trials]
    assert found
    return found


def test_a_system_that_stops_answering_is_an_outcome(played: Played) -> None:
    """Frozen for good, or fewer alive than an acknowledgement needs: aborted as the system's doing, and not excluded for it."""
    for name in names_of(played, "all-frozen", "two-frozen", "two-killed", "bookies-killed", "primary-killed"):
        assert played.abort(name) == OUTCOME, name
        assert played.checks[name]["kept-answering"]["verdict"] == "not met", name
        assert played.excluded_by(name) == {}, name
        assert "messages were in flight" in played.trials[name]["abort"]["reason"]


def test_one_killed_broker_of_three_is_an_outcome_without_an_abort(played: Played) -> None:
    """The others carry on: nothing acknowledged is lost, the loss of the broker is a result, and the trial counts."""
    assert played.abort("one-killed") is None
    outcomes = played.verdicts("one-killed", "outcome")
    assert (outcomes["brokers-kept"], outcomes["kept-answering"], outcomes["no-loss"]) == ("not met", "met", "met")
    assert re.search("(broker|server) on broker-2", played.checks["one-killed"]["brokers-kept"]["sentence"])
    assert played.excluded_by("one-killed") == {}


def test_a_killed_worker_is_invalid(played: Played) -> None:
    """The kit's own failure, with worker, host and how it ended."""
    assert played.abort("worker-killed") == ("worker-died", "validity", "client-1")
    assert "producer-1: it was killed by a signal" in played.trials["worker-killed"]["abort"]["reason"]
    assert played.excluded_by("worker-killed")["hosts-kept"] == "invalid"


def test_a_cut_connection_is_invalid(played: Played) -> None:
    """The host can't be heard any more, whoever is at fault."""
    assert played.abort("client-cut-off") == ("host-lost", "validity", "client-1")
    assert played.excluded_by("client-cut-off")["hosts-kept"] == "invalid"


def test_every_abort_ends_its_trial_soon(played: Played) -> None:
    """Within seconds of the rule: the silence that it waits for, then workers, counters, daemons and records are done with."""
    for name in played.at_ns:
        abort = played.trials[name]["abort"]
        if abort is not None:
            limit_s = END_WITHIN_S + (SILENCE_S if abort["rule"] == "nothing-acknowledged" else 0)
            assert played.over_s(name) < limit_s, name


def test_no_daemon_outlives_its_trial(played: Played) -> None:
    """Frozen, orphaned or healthy: gone before the trial's records are collected."""
    assert played.outlived == {name: [] for name in played.at_ns}


def test_the_trial_after_them_is_clean(played: Played) -> None:
    """After everything that broke before it, an undisturbed trial on the same testbed is valid and loses nothing."""
    assert played.abort("after") is None
    assert played.excluded_by("after") == {}
    outcomes = played.verdicts("after", "outcome")
    assert [outcomes[check] for check in ("no-loss", "no-duplicates", "brokers-kept", "kept-answering")] == ["met"] * 4


def test_nothing_is_left(played: Played, hosts: Mapping[str, SshHost]) -> None:
    """No daemon, worker, sampler or tool runs on any host, and no broker's port is taken."""
    assert played.trials
    deadline = time.monotonic() + 30
    while any(left := {name: processes_of(Path(host.record.root)) for name, host in hosts.items()}.values()):
        assert time.monotonic() < deadline, left
        time.sleep(0.5)
    assert all(daemons.running(host) == {} for host in hosts.values())
    ports = {name: listening_ports(host.record.address) for name, host in hosts.items()}
    assert ports == {name: {host.record.ssh.port} for name, host in hosts.items()}
