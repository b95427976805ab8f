"""Real ZooKeeper, bookies and Pulsar brokers on the local testbed, through real SSH: one start, two wrong keys, one stop."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pulsar  # type: ignore[import-untyped]
import pytest

from provisioning.hosts import daemons
from provisioning.hosts.ssh import SshHost
from systems.deployment import Plan, Topic
from systems.jvm.readback import look
from systems.processes import collect_logs, states
from systems.pulsar.deployment import PulsarDeployment
from systems.registry import DURABILITY
from systems.settings import Drift, drift
from tests.systems.real_cluster import Cluster, altered

pytestmark = pytest.mark.integration
MESSAGES = 1000


@pytest.fixture(scope="module")
def cluster(hosts: dict[str, SshHost]) -> Iterator[Cluster[PulsarDeployment]]:
    """Nine processes at level 1; a bookie's key was changed behind the kit's back, one key of each kind of process is misspelt."""
    misspelt = {
        "zookeeper/broker-1": {"tickTme": "3000"},
        "bookie/broker-1": {"journalSyncDat": "true"},
        "broker/broker-3": {"loadBalancerEnabeld": "true"},
    }
    plan = Plan(DURABILITY["1"], (Topic("cycle", 6),), {}, misspelt)
    with altered(
        PulsarDeployment,
        hosts,
        plan,
        file="pulsar/bookkeeper.conf",
        old=b"journalSyncData=true",
        new=b"journalSyncData=false",
    ) as started:
        yield started


def test_only_the_altered_and_the_misspelt_keys_drift(cluster: Cluster[PulsarDeployment]) -> None:
    """Also in bookies and ZooKeeper, which repeat keys that they don't know."""
    assert set(drift(cluster.intended, cluster.deployment.effective_settings())) == {
        Drift("bookie/broker-2", "journalSyncData", "true", "false"),
        Drift("zookeeper/broker-1", "tickTme", "3000", None),
        Drift("bookie/broker-1", "journalSyncDat", "true", None),
        Drift("broker/broker-3", "loadBalancerEnabeld", "true", None),
    }


def test_every_process_binds_its_hosts_address_only(cluster: Cluster[PulsarDeployment]) -> None:
    """No listener on 0.0.0.0 or on another host's address."""
    ports = {"zookeeper": {2181, 3888}, "bookie": {3181, 8000}, "broker": {6650, 8080}}
    for host in cluster.brokers:
        for daemon, addresses in look(host, daemons.running(host)).listeners.items():
            assert {address.rpartition(":")[0] for address in addresses} == {host.record.address}
            assert {int(address.rpartition(":")[2]) for address in addresses} - {2888} == ports[daemon]


def test_the_brokers_own_count_of_messages(cluster: Cluster[PulsarDeployment]) -> None:
    """None before the load, and after it messages, not the batches that they came in."""
    assert cluster.deployment.messages_stored() == 0
    quiet = pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)
    client = pulsar.Client(cluster.deployment.endpoints().service_url, logger=quiet)
    producer = client.create_producer("cycle", batching_enabled=True, block_if_queue_full=True)
    for at in range(MESSAGES):
        producer.send_async(str(at).encode(), lambda *_: None)
    producer.flush()
    client.close()
    assert cluster.deployment.messages_stored() == MESSAGES
    assert cluster.deployment.under_replicated() == []


def test_where_partitions_landed_is_told(cluster: Cluster[PulsarDeployment]) -> None:
    """Every partition of the trial's topic is at one of the brokers; the probe topic's is in no count."""
    leaders = cluster.deployment.leaders()
    assert set(leaders) == {host.name for host in cluster.brokers}
    assert sum(leaders.values()) == 6


def test_stop_leaves_nothing_and_the_logs_come_home(cluster: Cluster[PulsarDeployment], tmp_path: Path) -> None:
    """A dead bookie is seen as lost replicas; then every process is gone, and logs and configuration are fetched."""
    before = states(cluster.deployment.processes)
    assert len(before) == 9
    assert all(state.pid and state.rss_peak_bytes and not state.out_of_memory for state in before)
    daemons.stop(cluster.brokers[2], ["bookie"])
    assert cluster.deployment.under_replicated() == ["ledgers on bookie/broker-3"]
    daemons.stop_everything(cluster.brokers)
    assert all(state.pid is None for state in states(cluster.deployment.processes))
    assert all(daemons.running(host) == {} for host in cluster.brokers)
    collect_logs(cluster.deployment.processes, tmp_path)
    for host in cluster.brokers:
        found = {path.name for path in (tmp_path / host.name).iterdir()}
        assert {"pulsar-zookeeper.log", "pulsar-bookie.log", "pulsar-broker.log"} <= found
        assert {"zoo.cfg", "bookkeeper.conf", "broker.conf", "broker.jvm"} <= found
