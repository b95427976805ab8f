"""Real NATS servers on the local testbed, through real SSH: one start, syncing switched off underneath, a stop."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from contract.workload import Workload
from provisioning.errors import DeploymentError
from provisioning.hosts import daemons
from provisioning.hosts.agents import HttpRequest, http
from provisioning.hosts.ssh import SshHost
from systems.client import ClientSpec
from systems.deployment import Plan, Topic
from systems.nats import client, layout
from systems.nats.deployment import NatsDeployment
from systems.processes import collect_logs, states
from systems.registry import DURABILITY
from systems.settings import Drift, drift
from tests.systems.real_cluster import Cluster, altered, configured
from tests.systems.told import Told

pytestmark = pytest.mark.integration
MESSAGES = 1000
PARTITIONS = 6


@pytest.fixture(scope="module")
def cluster(hosts: dict[str, SshHost]) -> Iterator[Cluster[NatsDeployment]]:
    """Three servers at level 1. On broker-2 a file was changed behind the kit's back: it syncs every two minutes, as the default is."""
    own = {"server/broker-3": {"jetstream.limits.max_ack_pending": "70000", "ping_max": "3"}}
    plan = Plan(DURABILITY["1"], (Topic("cycle", PARTITIONS),), {}, own)
    with altered(NatsDeployment, hosts, plan, file="nats/nats-server.conf", old=b'"always"', new=b'"2m"') as started:
        yield started


def spec_of(cluster: Cluster[NatsDeployment], **changes: object) -> ClientSpec:
    """How to connect, each message to another partition than the one before."""
    workload = Workload("w", 1000, 1024, 1.0, partitions=PARTITIONS, in_flight=MESSAGES, partitioning="round-robin")
    endpoints = cluster.deployment.endpoints()
    spec = ClientSpec("", endpoints.service_url, "cycle", endpoints.client_settings, workload, 30.0, 30.0)
    return dataclasses.replace(spec, **changes)  # type: ignore[arg-type]


def test_only_the_server_that_was_altered_drifts(cluster: Cluster[NatsDeployment]) -> None:
    """Its sync interval and the digest of what it has read; on the others all that was rendered is what the processes say."""
    found = drift(cluster.intended, cluster.deployment.effective_settings())
    assert found[0] == Drift("server/broker-2", "jetstream.sync_interval", "always", "2m")
    # what a server doesn't show is known by the digest alone, so it isn't known of this one
    assert {each.key for each in found[1:]} == {layout.DIGEST, "cluster.no_advertise", "cluster.routes"}
    assert {each.component for each in found} == {"server/broker-2"}


def test_every_process_binds_its_hosts_address_only(cluster: Cluster[NatsDeployment]) -> None:
    """No listener on 0.0.0.0 or on another host's address."""
    for host in cluster.brokers:
        pid = daemons.running(host)[layout.SERVER]
        sockets = f"ls -l /proc/{pid}/fd | sed -n 's/.*socket:.\\([0-9]*\\).*/\\1/p'"
        listening = host.run(
            f"for inode in $({sockets}); do awk -v i=$inode '$4 == \"0A\" && $10 == i {{print $2}}' /proc/net/tcp /proc/net/tcp6; done"
        ).stdout.split()
        address = "".join(f"{int(part):02X}" for part in reversed(host.record.address.split(".")))
        ports = (layout.CLIENT_PORT, layout.CLUSTER_PORT, layout.MONITOR_PORT)
        assert sorted(listening) == sorted(f"{address}:{port:04X}" for port in ports)


def test_what_is_acknowledged_is_counted_and_received_in_order(cluster: Cluster[NatsDeployment]) -> None:
    """None before the load; afterwards the streams have what was acknowledged, and two members of a subscription share it."""
    assert cluster.deployment.messages_stored() == 0
    told = Told(MESSAGES)
    producer = client.connect_producer(spec_of(cluster), told)
    consumers = [
        client.connect_consumer(spec_of(cluster, members=2, member=member), "s", f"consumer-{member}")
        for member in (0, 1)
    ]
    try:
        for sequence in range(MESSAGES):
            producer.send(sequence, sequence.to_bytes(8, "big"))
        told.wait()
        assert told.failures == []
        received: list[list[tuple[int, int]]] = [[], []]
        while sum(map(len, received)) < MESSAGES:
            before = sum(map(len, received))
            for consumer, into in zip(consumers, received, strict=True):
                into += [(at, int.from_bytes(payload, "big")) for at, payload in consumer.receive(5.0)]
            assert sum(map(len, received)) > before, "nothing came within ten seconds"
    finally:
        producer.close()
        for consumer in consumers:
            consumer.close()
    assert cluster.deployment.messages_stored() == MESSAGES
    assert cluster.deployment.under_replicated() == []
    assert [{at for at, _ in into} for into in received] == [{0, 2, 4}, {1, 3, 5}]
    partition_of = dict(told.acknowledgements)
    for into in received:
        for partition in range(PARTITIONS):
            of_partition = [sequence for at, sequence in into if at == partition]
            assert of_partition == sorted(of_partition)
        assert all(partition_of[sequence] == at for at, sequence in into)


def test_a_subscription_goes_on_where_it_was(cluster: Cluster[NatsDeployment]) -> None:
    """What was acknowledged by the members before isn't delivered again."""
    consumer = client.connect_consumer(spec_of(cluster), "s", "another")
    try:
        assert consumer.receive(2.0) == []
        assert consumer.errors() == {}
    finally:
        consumer.close()


def test_where_leaders_landed_is_told(cluster: Cluster[NatsDeployment]) -> None:
    """Every partition of the trial's topic is at one of the servers; the probe topic's is in no count."""
    leaders = cluster.deployment.leaders()
    assert set(leaders) == {host.name for host in cluster.brokers}
    assert sum(leaders.values()) == PARTITIONS


def test_the_streams_defaults_are_the_vendors(cluster: Cluster[NatsDeployment]) -> None:
    """A stream for which nothing is asked gets what samebox writes down."""
    broker = cluster.brokers[0]
    admin = cluster.deployment._admin
    [stream] = admin.create_streams({"plain": {"name": "plain", "subjects": ["plain"]}}, 1).values()
    topic = cluster.intended["topic"]
    assert {key: str(stream.config[key]) for key in topic} == topic
    url = f"http://{broker.record.address}:{layout.MONITOR_PORT}/healthz"
    assert json.loads(http(broker, [HttpRequest("GET", url)])[0].body) == {"status": "ok"}


def test_a_second_start_is_refused(cluster: Cluster[NatsDeployment]) -> None:
    """What runs is never started over."""
    with pytest.raises(Exception, match="already running: server") as refusal:
        cluster.deployment.start()
    assert "broker-1" in str(refusal.value)


def test_stop_leaves_nothing_and_the_logs_come_home(cluster: Cluster[NatsDeployment], tmp_path: Path) -> None:
    """Every process is gone; logs and configuration of every host are fetched; asking on is an error, not a hang."""
    before = states(cluster.deployment.processes)
    assert all(state.pid and state.rss_peak_bytes and not state.out_of_memory for state in before)
    killed = daemons.stop_everything(cluster.brokers)
    assert not any(killed.values())
    assert all(state.pid is None for state in states(cluster.deployment.processes))
    collect_logs(cluster.deployment.processes, tmp_path)
    for host in cluster.brokers:
        assert b"Server is ready" in (tmp_path / host.name / "nats-server.log").read_bytes()
        assert (tmp_path / host.name / "nats-server.conf").is_file()
    with pytest.raises(DeploymentError, match=r"no longer running.*broker-1: server"):
        cluster.deployment.effective_settings()


def test_a_server_that_dies_at_start_is_named_with_its_log(hosts: dict[str, SshHost]) -> None:
    """A key that the server doesn't know ends the start long before its limit, with the reason that its log gives."""
    misspelt = {"server/broker-2": {"jetstream.sync_intervall": "always"}}
    plan = Plan(DURABILITY["2"], (Topic("cycle", 3),), {}, misspelt)
    with (
        configured(NatsDeployment, hosts, plan) as broken,
        pytest.raises(DeploymentError, match=r"broker-2: server died(.|\n)*sync_intervall"),
    ):
        broken.deployment.start()
