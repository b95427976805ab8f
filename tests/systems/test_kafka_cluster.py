"""Real Kafka brokers on the local testbed, through real SSH: one start, one altered and one misspelt key, one stop."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from provisioning.cache import user_cache
from provisioning.errors import DeploymentError
from provisioning.hosts import daemons
from provisioning.hosts.host import Host, on_all
from provisioning.hosts.ssh import SshHost
from provisioning.reset.wiping import wipe
from provisioning.software.store import Store
from systems.deployment import Plan, Topic
from systems.jvm.readback import look
from systems.kafka.deployment import KafkaDeployment
from systems.processes import collect_logs, states
from systems.registry import DURABILITY, software
from systems.settings import Drift, Settings, drift

pytestmark = pytest.mark.integration
MESSAGES = 1000


@dataclasses.dataclass(frozen=True)
class Cluster:
    """A started deployment and what was intended of it."""

    deployment: KafkaDeployment
    intended: Settings
    brokers: tuple[Host, ...]


@pytest.fixture(scope="module")
def cluster(hosts: dict[str, SshHost]) -> Iterator[Cluster]:
    """Three combined nodes at level 1; on broker-2 a key was changed behind the kit's back, on broker-3 one is misspelt."""
    everyone = tuple(hosts.values())
    brokers = tuple(host for host in everyone if host.record.role == "broker")
    daemons.stop_everything(everyone)
    on_all("emptying data directories", brokers, wipe)
    deployment = KafkaDeployment(everyone, Store(user_cache(), software()))
    deployment.install()
    misspelt = {"broker/broker-3": {"num.network.thraeds": "3"}}
    intended = deployment.configure(Plan(DURABILITY["1"], (Topic("cycle", 6),), {}, misspelt))
    path = f"{hosts['broker-2'].record.root}/etc/kafka/broker.properties"
    altered = hosts["broker-2"].get(path).replace(b"num.io.threads=8", b"num.io.threads=7")
    hosts["broker-2"].put(altered, path)
    try:
        deployment.start()
        deployment.create_topics()
        yield Cluster(deployment, intended, brokers)
    finally:
        daemons.stop_everything(everyone)
        on_all("emptying data directories", brokers, wipe)


def test_only_the_altered_and_the_misspelt_key_drift(cluster: Cluster) -> None:
    """Everything else that was rendered is what the running processes say of themselves."""
    assert set(drift(cluster.intended, cluster.deployment.effective_settings())) == {
        Drift("broker/broker-2", "num.io.threads", "8", "7"),
        Drift("broker/broker-3", "num.network.thraeds", "3", None),
    }


def test_the_consumers_offsets_are_there_before_any_consumer(cluster: Cluster) -> None:
    """Else the first one is told to come again later, and comes after the others."""
    client = AdminClient({"bootstrap.servers": cluster.deployment.endpoints().service_url})
    offsets = client.list_topics(timeout=60).topics["__consumer_offsets"]
    assert [len(partition.replicas) for partition in offsets.partitions.values()] == [3, 3, 3]


def test_every_process_binds_its_hosts_address_only(cluster: Cluster) -> None:
    """No listener on 0.0.0.0 or on another host's address."""
    for host in cluster.brokers:
        evidence = look(host, daemons.running(host))
        assert set(evidence.listeners["broker"]) == {f"{host.record.address}:{port}" for port in (9092, 9093)}


def test_the_brokers_own_count_of_messages(cluster: Cluster) -> None:
    """None before the load, and what was acknowledged after it."""
    assert cluster.deployment.messages_stored() == 0
    endpoints = cluster.deployment.endpoints()
    producer = Producer({"bootstrap.servers": endpoints.service_url, **endpoints.client_settings, "log_level": 3})
    for at in range(MESSAGES):
        producer.produce("cycle", str(at).encode())
    assert producer.flush(60) == 0
    assert cluster.deployment.messages_stored() == MESSAGES
    assert cluster.deployment.under_replicated() == []


def test_where_leaders_landed_is_told(cluster: Cluster) -> None:
    """Every partition of the trial's topic is at one of the brokers; the probe topic's and Kafka's own are in no count."""
    leaders = cluster.deployment.leaders()
    assert set(leaders) == {host.name for host in cluster.brokers}
    assert sum(leaders.values()) == 6


def test_a_second_start_is_refused(cluster: Cluster) -> None:
    """What runs is never started over."""
    with pytest.raises(Exception, match="already running: broker") as refusal:
        cluster.deployment.start()
    assert "broker-1" in str(refusal.value)


def test_stop_leaves_nothing_and_the_logs_come_home(cluster: Cluster, tmp_path: Path) -> None:
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


def test_a_broker_that_dies_at_start_is_named_with_its_log(hosts: dict[str, SshHost], cluster: Cluster) -> None:
    """A value that the broker refuses ends the start long before its limit, with the reason that its log gives."""
    on_all("emptying data directories", cluster.brokers, wipe)
    deployment = KafkaDeployment(tuple(hosts.values()), Store(user_cache(), software()))
    deployment.install()
    refused = {"jvm/broker/broker-2": {"NoSuchFlagAnywhere": "true"}}
    deployment.configure(Plan(DURABILITY["2"], (Topic("cycle", 3),), {}, refused))
    try:
        with pytest.raises(DeploymentError, match=r"broker-2: broker died(.|\n)*NoSuchFlagAnywhere"):
            deployment.start()
    finally:
        daemons.stop_everything(cluster.brokers)
