"""Real RabbitMQ nodes on the local testbed, through real SSH: queues with one altered node, then streams, then a misspelt key."""

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
from systems.client import ClientError, ClientSpec
from systems.deployment import Plan, Topic
from systems.processes import collect_logs, states
from systems.rabbitmq import client, layout
from systems.rabbitmq.deployment import RabbitDeployment
from systems.registry import DURABILITY
from systems.settings import Drift, drift
from tests.systems.real_cluster import Cluster, altered, configured
from tests.systems.told import Told

pytestmark = pytest.mark.integration
MESSAGES = 1000
PARTITIONS = 6


@pytest.fixture(scope="module")
def cluster(hosts: dict[str, SshHost]) -> Iterator[Cluster[RabbitDeployment]]:
    """Three nodes at level 1; on broker-2 syncing was switched off behind the kit's back."""
    plan = Plan(DURABILITY["1"], (Topic("cycle", PARTITIONS),), {}, {})
    with altered(
        RabbitDeployment, hosts, plan, file="rabbitmq/advanced.config", old=b"datasync", new=b"none"
    ) as started:
        yield started


def spec(deployment: RabbitDeployment, **changes: object) -> ClientSpec:
    """How a worker of a load would connect."""
    endpoints = deployment.endpoints()
    workload = Workload("w", rate_per_s=1000, message_bytes=100, measure_s=1, partitions=PARTITIONS)
    made = ClientSpec(
        "systems.rabbitmq.client", endpoints.service_url, "cycle", endpoints.client_settings, workload, 30.0, 20.0
    )
    return dataclasses.replace(made, **changes)  # type: ignore[arg-type]


def sent(deployment: RabbitDeployment) -> Told:
    """What became of MESSAGES messages."""
    told = Told(MESSAGES)
    with closing(client.connect_producer(spec(deployment), told)) as producer:
        for at in range(MESSAGES):
            producer.send(at, b"%08d" % at)
        told.wait()
    return told


def read_by_two(deployment: RabbitDeployment) -> list[bytes]:
    """All that two members of a subscription get, each from its own partitions."""
    received: list[bytes] = []
    for member in (0, 1):
        consumer = client.connect_consumer(spec(deployment, members=2, member=member), "s", f"consumer-{member}")
        while some := consumer.receive(1.0):
            assert {partition % 2 for partition, _ in some} == {member}
            received += [payload for _, payload in some]
        consumer.close()
        assert not consumer.errors()
    return received


def test_syncing_that_is_switched_off_underneath_is_the_only_drift(cluster: Cluster[RabbitDeployment]) -> None:
    """Told by the process that writes the log; everything else that was rendered is what the nodes say of themselves."""
    found = drift(cluster.intended, cluster.deployment.effective_settings())
    assert set(found) == {Drift("ra/broker-2", "wal_sync_method", "datasync", "none")}


def test_what_is_acknowledged_is_counted_and_read(cluster: Cluster[RabbitDeployment]) -> None:
    """By the nodes' own count, before and after consumers have read it; and what was acknowledged is in no queue any more."""
    assert cluster.deployment.messages_stored() == 0
    told = sent(cluster.deployment)
    assert sorted(sequence for sequence, _ in told.acknowledgements) == list(range(MESSAGES))
    assert cluster.deployment.messages_stored() == MESSAGES
    assert sorted(read_by_two(cluster.deployment)) == [b"%08d" % at for at in range(MESSAGES)]
    assert cluster.deployment.messages_stored() == MESSAGES
    again = client.connect_consumer(spec(cluster.deployment), "s", "consumer-2")
    assert not again.receive(1.0)
    again.close()


def test_every_process_binds_its_hosts_address_only(cluster: Cluster[RabbitDeployment]) -> None:
    """No listener on 0.0.0.0 or on another host's address, for clients or for nodes; and there is no epmd."""
    for process in cluster.deployment.processes:
        pid = daemons.running(process.host)[layout.SERVER]
        said = process.host.run(f"ss -Hltnp | grep 'pid={pid},' | awk '{{print $4}}'").stdout.split()
        assert sorted(said) == sorted([f"{process.address}:{layout.PORT}", f"{process.address}:{layout.NODE_PORT}"])


def test_the_cookie_is_nobodys_to_read(cluster: Cluster[RabbitDeployment], tmp_path: Path) -> None:
    """It is in no command line and in nothing that is fetched, and each host has the same one, for its owner alone."""
    cookies = set()
    for process in cluster.deployment.processes:
        path = f"{layout.home(process)}/{layout.COOKIE}"
        assert process.host.run(f"stat -c %a {path}").stdout.strip() == "400"
        cookies.add(process.host.get(path))
    [cookie] = cookies
    words = cluster.brokers[0].run("cat /proc/[0-9]*/cmdline | tr '\\0' ' '").stdout
    assert cookie.decode() not in words
    collect_logs(cluster.deployment.processes, tmp_path)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and cookie in path.read_bytes()]


def test_where_the_leaders_are_is_told(cluster: Cluster[RabbitDeployment]) -> None:
    """In turn over the nodes; and nothing lacks a copy."""
    assert sum(cluster.deployment.leaders().values()) == PARTITIONS
    assert set(cluster.deployment.leaders().values()) == {PARTITIONS // 3}
    assert cluster.deployment.under_replicated() == []


def test_a_topic_that_is_not_there_is_told_at_once(cluster: Cluster[RabbitDeployment]) -> None:
    """Not waited for until the end of the time."""
    with pytest.raises(ClientError, match=r"NoSuchTopic.*404 NOT_FOUND"):
        client.connect_producer(spec(cluster.deployment, topic="other"), Told())


def test_a_second_start_is_refused(cluster: Cluster[RabbitDeployment]) -> None:
    """What runs is never started over."""
    with pytest.raises(Exception, match="already running: server"):
        cluster.deployment.start()


def test_a_node_that_is_gone_is_told(cluster: Cluster[RabbitDeployment]) -> None:
    """Every queue lacks its copy; and messages that a quorum has are still acknowledged."""
    daemons.stop(cluster.deployment.processes[2].host)
    assert len(cluster.deployment.under_replicated()) == PARTITIONS
    with pytest.raises(DeploymentError, match=r"no longer running.*broker-3: server"):
        cluster.deployment.effective_settings()
    assert len(sent(cluster.deployment).acknowledgements) == MESSAGES


def test_stop_leaves_nothing_and_the_logs_come_home(cluster: Cluster[RabbitDeployment], tmp_path: Path) -> None:
    """Every process is gone; logs and configuration of every host are fetched; asking on is an error, not a hang."""
    killed = daemons.stop_everything(cluster.brokers)
    assert not any(killed.values())
    assert all(state.pid is None for state in states(cluster.deployment.processes))
    collect_logs(cluster.deployment.processes, tmp_path)
    for host in cluster.brokers:
        assert b"Server startup complete" in (tmp_path / host.name / "rabbitmq-server.log").read_bytes()
        assert (tmp_path / host.name / "rabbitmq.conf").is_file()
        assert (tmp_path / host.name / "advanced.config").is_file()
    with pytest.raises(DeploymentError, match="can't be asked queues"):
        cluster.deployment.under_replicated()


def test_streams_keep_what_was_read(hosts: dict[str, SshHost]) -> None:
    """As they were intended to run: no drift; every message counted, and read from the first one by each who comes."""
    plan = Plan(DURABILITY["2-stream"], (Topic("cycle", PARTITIONS),), {}, {})
    with configured(RabbitDeployment, hosts, plan) as streams:
        deployment = streams.deployment
        deployment.start()
        deployment.create_topics()
        assert drift(streams.intended, deployment.effective_settings()) == ()
        assert deployment.under_replicated() == []
        assert len(sent(deployment).acknowledgements) == MESSAGES
        assert deployment.messages_stored() == MESSAGES
        for _ in range(2):
            assert sorted(read_by_two(deployment)) == [b"%08d" % at for at in range(MESSAGES)]
        assert deployment.messages_stored() == MESSAGES


def test_a_node_that_dies_at_start_is_named_with_its_log(hosts: dict[str, SshHost]) -> None:
    """A key that the node doesn't know ends the start long before its limit, with the reason that its log gives."""
    plan = Plan(DURABILITY["2"], (Topic("cycle", 3),), {}, {"server/broker-1": {"no_such_key": "1"}})
    with (
        configured(RabbitDeployment, hosts, plan) as broken,
        pytest.raises(DeploymentError, match=r"broker-1: server died(.|\n)*no_such_key"),
    ):
        broken.deployment.start()
