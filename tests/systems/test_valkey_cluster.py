"""Real Valkey servers on the local testbed, through real SSH: one start, one altered and one misspelt key, one stop."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from contract.workload import Workload
from provisioning.errors import DeploymentError
from provisioning.hosts import daemons
from provisioning.hosts.ssh import SshHost
from systems.client import ClientSpec
from systems.deployment import Plan, Topic
from systems.processes import collect_logs, states
from systems.registry import DURABILITY
from systems.settings import Drift, drift
from systems.valkey import client
from systems.valkey.deployment import ValkeyDeployment
from systems.valkey.server import ask_server
from tests.systems.real_cluster import Cluster, altered, configured
from tests.systems.told import Told

pytestmark = pytest.mark.integration
MESSAGES = 1000
PARTITIONS = 6


@pytest.fixture(scope="module")
def cluster(hosts: dict[str, SshHost]) -> Iterator[Cluster[ValkeyDeployment]]:
    """A primary and two replicas at level 1; on broker-2 a key was changed behind the kit's back."""
    plan = Plan(DURABILITY["1"], (Topic("cycle", PARTITIONS),), {}, {})
    with altered(
        ValkeyDeployment, hosts, plan, file="valkey/valkey.conf", old=b"maxclients 10000", new=b"maxclients 9999"
    ) as started:
        yield started


def spec(deployment: ValkeyDeployment, **changes: object) -> ClientSpec:
    """How a worker of a load at level 1 would connect."""
    endpoints = deployment.endpoints()
    workload = Workload("w", rate_per_s=1000, message_bytes=100, measure_s=1, partitions=PARTITIONS)
    made = ClientSpec(
        "systems.valkey.client", endpoints.service_url, "cycle", endpoints.client_settings, workload, 30.0, 20.0
    )
    return dataclasses.replace(made, **changes)  # type: ignore[arg-type]


def test_only_the_altered_key_drifts(cluster: Cluster[ValkeyDeployment]) -> None:
    """Everything else that was rendered is what the running processes say of themselves, what they were built with as well."""
    found = drift(cluster.intended, cluster.deployment.effective_settings())
    assert set(found) == {Drift("server/broker-2", "maxclients", "10000", "9999")}


def test_syncing_that_is_switched_off_underneath_is_drift(cluster: Cluster[ValkeyDeployment]) -> None:
    """A node that stops syncing while it runs is told, by what it says of itself and not by its file."""
    replica = cluster.deployment.processes[2]
    assert ask_server(replica, [("CONFIG", "SET", "appendfsync", "no")]) == [b"OK"]
    try:
        found = drift(cluster.intended, cluster.deployment.effective_settings())
        assert Drift("server/broker-3", "appendfsync", "always", "no") in found
    finally:
        ask_server(replica, [("CONFIG", "SET", "appendfsync", "always")])


def test_what_is_acknowledged_is_counted_and_read(cluster: Cluster[ValkeyDeployment]) -> None:
    """By the server's own count, which is none before the load, and by two members of a subscription that share the partitions."""
    assert cluster.deployment.messages_stored() == 0
    told = Told(MESSAGES)
    with closing(client.connect_producer(spec(cluster.deployment), told)) as producer:
        for at in range(MESSAGES):
            producer.send(at, b"%08d" % at)
        told.wait()
    assert sorted(sequence for sequence, _ in told.acknowledgements) == list(range(MESSAGES))
    assert cluster.deployment.messages_stored() == MESSAGES
    received: list[bytes] = []
    for member in (0, 1):
        one = spec(cluster.deployment, members=2, member=member)
        consumer = client.connect_consumer(one, "s", f"consumer-{member}")
        while some := consumer.receive(0.5):
            assert {partition % 2 for partition, _ in some} == {member}
            received += [payload for _, payload in some]
        consumer.close()
        assert not consumer.errors()
    assert sorted(received) == [b"%08d" % at for at in range(MESSAGES)]
    again = client.connect_consumer(spec(cluster.deployment), "s", "consumer-2")
    assert not again.receive(0.5), "positions are taken down when a consumer is closed"
    again.close()


def test_every_process_binds_its_hosts_address_only(cluster: Cluster[ValkeyDeployment]) -> None:
    """No listener on 0.0.0.0 or on another host's address."""
    for process in cluster.deployment.processes:
        [told] = ask_server(process, [("INFO", "server")])
        assert isinstance(told, bytes)
        lines = [line for line in told.decode().splitlines() if line.startswith("listener")]
        assert lines == [f"listener0:name=tcp,bind={process.address},port=6379"]


def test_where_the_streams_are_is_told(cluster: Cluster[ValkeyDeployment]) -> None:
    """All of them at the first broker; and nothing lacks a copy."""
    assert cluster.deployment.leaders() == {"broker-1": PARTITIONS, "broker-2": 0, "broker-3": 0}
    assert cluster.deployment.under_replicated() == []


def test_a_second_start_is_refused(cluster: Cluster[ValkeyDeployment]) -> None:
    """What runs is never started over."""
    with pytest.raises(Exception, match="already running: server") as refusal:
        cluster.deployment.start()
    assert "broker-1" in str(refusal.value)


def test_a_replica_that_is_gone_is_told(cluster: Cluster[ValkeyDeployment]) -> None:
    """By name, as what lacks its copies; and a message that has the other one is still acknowledged."""
    replica = cluster.deployment.processes[2]
    daemons.stop(replica.host)
    assert cluster.deployment.under_replicated() == ["streams on server/broker-3"]
    with pytest.raises(DeploymentError, match=r"no longer running.*broker-3: server"):
        cluster.deployment.effective_settings()
    told = Told(1)
    with closing(client.connect_producer(spec(cluster.deployment), told)) as producer:
        producer.send(0, b"one copy and the primary's")
        told.wait()
    assert told.acknowledgements == [(0, 0)]


def test_a_quorum_that_is_gone_fails_messages(cluster: Cluster[ValkeyDeployment]) -> None:
    """WAIT's short count is no error of the server's, and yet the message is reported failed."""
    daemons.stop(cluster.deployment.processes[1].host)
    told = Told(1)
    with closing(client.connect_producer(spec(cluster.deployment, delivery_timeout_s=1.0), told)) as producer:
        producer.send(0, b"the primary's alone")
        told.wait()
    assert (told.acknowledgements, told.failures) == ([], [(0, "TooFewReplicas")])


def test_stop_leaves_nothing_and_the_logs_come_home(cluster: Cluster[ValkeyDeployment], tmp_path: Path) -> None:
    """Every process is gone; logs and configuration of every host are fetched; asking on is an error, not a hang."""
    daemons.stop_everything(cluster.brokers)
    assert all(state.pid is None for state in states(cluster.deployment.processes))
    assert all(daemons.running(host) == {} for host in cluster.brokers)
    collect_logs(cluster.deployment.processes, tmp_path)
    for host in cluster.brokers:
        assert b"Ready to accept connections" in (tmp_path / host.name / "valkey-server.log").read_bytes()
        assert (tmp_path / host.name / "valkey.conf").is_file()
    with pytest.raises(DeploymentError, match="can't be asked INFO replication"):
        cluster.deployment.under_replicated()


def test_a_server_that_dies_at_start_is_named_with_its_log(hosts: dict[str, SshHost]) -> None:
    """A key that the server doesn't know ends the start long before its limit, with the reason that its log gives."""
    plan = Plan(DURABILITY["2"], (Topic("cycle", 3),), {}, {"server/broker-1": {"no-such-key": "1"}})
    with (
        configured(ValkeyDeployment, hosts, plan) as broken,
        pytest.raises(DeploymentError, match=r"broker-1: server died(.|\n)*no-such-key"),
    ):
        broken.deployment.start()
