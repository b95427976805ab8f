"""Real Kafka brokers on the local testbed, through real SSH: one start, one altered and one misspelt key, one stop."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from provisioning.errors import DeploymentError
from provisioning.hosts import daemons
from provisioning.hosts.ssh import SshHost
from systems.deployment import Plan, Topic
from systems.jvm.readback import look
from systems.kafka.deployment import KafkaDeployment
from systems.processes import collect_logs, states
from systems.registry import DURABILITY
from systems.settings import Drift, drift
from tests.systems.real_cluster import Cluster, altered, configured

pytestmark = pytest.mark.integration
MESSAGES = 1000


@pytest.fixture(scope="module")
def cluster(hosts: dict[str, SshHost]) -> Iterator[Cluster[KafkaDeployment]]:
    """Three combined nodes at level 1; on broker-2 a key was changed behind the kit's back, on broker-3 one is misspelt."""
    misspelt = {"broker/broker-3": {"num.network.thraeds": "3"}}
    plan = Plan(DURABILITY["1"], (Topic("cycle", 6),), {}, misspelt)
    with altered(
        KafkaDeployment, hosts, plan, file="kafka/broker.properties", old=b"num.io.threads=8", new=b"num.io.threads=7"
    ) as started:
        yield started


def test_only_the_altered_and_the_misspelt_key_drift(cluster: Cluster[KafkaDeployment]) -> None:
    """Everything else that was rendered is what the running processes say of themselves."""
    assert set(drift(cluster.intended, cluster.deployment.effective_settings())) == {
        Drift("broker/broker-2", "num.io.threads", "8", "7"),
        Drift("broker/broker-3", "num.network.thraeds", "3", None),
    }


def test_the_consumers_offsets_are_there_before_any_consumer(cluster: Cluster[KafkaDeployment]) -> None:
    """Else the first one is told to come again later, and comes after the others."""
    client = AdminClient({"bootstrap.servers": cluster.deployment.endpoints().service_url})
    offsets = client.list_topics(timeout=60).topics["__consumer_offsets"]
    assert [len(partition.replicas) for partition in offsets.partitions.values()] == [3, 3, 3]


def test_every_process_binds_its_hosts_address_only(cluster: Cluster[KafkaDeployment]) -> None:
    """No listener on 0.0.0.0 or on another host's address."""
    for host in cluster.brokers:
        evidence = look(host, daemons.running(host))
        assert set(evidence.listeners["broker"]) == {f"{host.record.address}:{port}" for port in (9092, 9093)}


def test_the_brokers_own_count_of_messages(cluster: Cluster[KafkaDeployment]) -> None:
    """None before the load, and what was acknowledged after it."""
    assert cluster.deployment.messages_stored() == 0
    endpoints = cluster.deployment.endpoints()
    producer = Producer({"bootstrap.servers": endpoints.service_url, **endpoints.client_settings, "log_level": 3})
    for at in range(MESSAGES):
        producer.produce("cycle", str(at).encode())
    assert producer.flush(60) == 0
    assert cluster.deployment.messages_stored() == MESSAGES
    assert cluster.deployment.under_replicated() == []


def test_where_leaders_landed_is_told(cluster: Cluster[KafkaDeployment]) -> None:
    """Every partition of the trial's topic is at one of the brokers; the probe topic's and Kafka's own are in no count."""
    leaders = cluster.deployment.leaders()
    assert set(leaders) == {host.name for host in cluster.brokers}
    assert sum(leaders.values()) == 6


def test_a_second_start_is_refused(cluster: Cluster[KafkaDeployment]) -> None:
    """What runs is never started over."""
    with pytest.raises(Exception, match="already running: broker") as refusal:
        cluster.deployment.start()
    assert "broker-1" in str(refusal.value)


def test_stop_leaves_nothing_and_the_logs_come_home(cluster: Cluster[KafkaDeployment], tmp_path: Path) -> None:
    """Every process is gone; logs and configuration of every host are fetched; asking on is an error, not a hang."""
    before = states(cluster.deployment.processes)
    assert all(state.pid and state.rss_peak_bytes and not state.out_of_memory for state in before)
    daemons.stop_everything(cluster.brokers)
    assert all(state.pid is None for state in states(cluster.deployment.processes))
    assert all(daemons.running(host) == {} for host in cluster.brokers)
    collect_logs(cluster.deployment.processes, tmp_path)
    for host in cluster.brokers:
        assert b"Kafka Server started" in (tmp_path / host.name / "kafka-broker.log").read_bytes()
        assert (tmp_path / host.name / "broker.properties").is_file()
    with pytest.raises(DeploymentError, match=r"no longer running.*broker-1: broker"):
        cluster.deployment.effective_settings()


def test_a_broker_that_dies_at_start_is_named_with_its_log(hosts: dict[str, SshHost]) -> None:
    """A value that the broker refuses ends the start long before its limit, with the reason that its log gives."""
    refused = {"jvm/broker/broker-2": {"NoSuchFlagAnywhere": "true"}}
    plan = Plan(DURABILITY["2"], (Topic("cycle", 3),), {}, refused)
    with (
        configured(KafkaDeployment, hosts, plan) as broken,
        pytest.raises(DeploymentError, match=r"broker-2: broker died(.|\n)*NoSuchFlagAnywhere"),
    ):
        broken.deployment.start()
