"""Real Redpanda brokers on the local testbed, through real SSH, for whoever has the archive: make test-redpanda REDPANDA=FILE.

samebox's makers never ran these tests to their end: they had no archive. Until somebody has, they are expectations.
"""

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
from systems.processes import collect_logs, states
from systems.redpanda import layout
from systems.redpanda.deployment import RedpandaDeployment
from systems.registry import DURABILITY
from systems.settings import Drift, drift
from tests.given import archives_of
from tests.systems.real_cluster import Cluster, altered, configured

pytestmark = [pytest.mark.integration, pytest.mark.redpanda]
MESSAGES = 1000
PARTITIONS = 6


@pytest.fixture(scope="module")
def cluster(hosts: dict[str, SshHost]) -> Iterator[Cluster[RedpandaDeployment]]:
    """Three brokers at level 1. On broker-2 a file was changed behind the kit's back."""
    plan = Plan(DURABILITY["1"], (Topic("cycle", PARTITIONS),), {}, {"broker": {"crash_loop_limit": "7"}})
    with altered(
        RedpandaDeployment, hosts, plan, file="redpanda/redpanda.yaml", old=b"crash_loop_limit: 7",
        new=b"crash_loop_limit: 8", archives=archives_of("redpanda"),
    ) as started:  # fmt: skip
        yield started


def test_only_the_altered_property_drifts(cluster: Cluster[RedpandaDeployment]) -> None:
    """Everything else that was rendered is what the running brokers, their processes and the topic say; its version among it."""
    assert drift(cluster.intended, cluster.deployment.effective_settings()) == (
        Drift("broker/broker-2", "crash_loop_limit", "7", "8"),
    )


def test_every_process_binds_its_hosts_address_only(cluster: Cluster[RedpandaDeployment]) -> None:
    """No listener on 0.0.0.0 or on another host's address."""
    for host in cluster.brokers:
        pid = daemons.running(host)[layout.BROKER]
        sockets = f"ls -l /proc/{pid}/fd | sed -n 's/.*socket:.\\([0-9]*\\).*/\\1/p'"
        listening = host.run(
            f"for inode in $({sockets}); do awk -v i=$inode '$4 == \"0A\" && $10 == i {{print $2}}' /proc/net/tcp /proc/net/tcp6; done"
        ).stdout.split()
        address = "".join(f"{int(part):02X}" for part in reversed(host.record.address.split(".")))
        ports = (layout.CLIENT_PORT, layout.ADMIN_PORT, layout.RPC_PORT)
        assert set(listening) == {f"{address}:{port:04X}" for port in ports}


def test_the_consumers_offsets_are_there_before_any_consumer(cluster: Cluster[RedpandaDeployment]) -> None:
    """Else the first one waits until the brokers have made their topic."""
    client = AdminClient({"bootstrap.servers": cluster.deployment.endpoints().service_url})
    offsets = client.list_topics(timeout=60).topics["__consumer_offsets"]
    assert [len(partition.replicas) for partition in offsets.partitions.values()] == [3, 3, 3]


def test_the_brokers_own_count_of_messages(cluster: Cluster[RedpandaDeployment]) -> None:
    """None before the load, and what was acknowledged after it."""
    assert cluster.deployment.messages_stored() == 0
    endpoints = cluster.deployment.endpoints()
    producer = Producer({"bootstrap.servers": endpoints.service_url, **endpoints.client_settings, "log_level": 3})
    for at in range(MESSAGES):
        producer.produce("cycle", str(at).encode())
    assert producer.flush(60) == 0
    assert cluster.deployment.messages_stored() == MESSAGES
    assert cluster.deployment.under_replicated() == []


def test_where_leaders_landed_is_told(cluster: Cluster[RedpandaDeployment]) -> None:
    """Every partition of the trial's topic is at one of the brokers; the probe topic's and the groups' are in no count."""
    leaders = cluster.deployment.leaders()
    assert set(leaders) == {host.name for host in cluster.brokers}
    assert sum(leaders.values()) == PARTITIONS


def test_a_second_start_is_refused(cluster: Cluster[RedpandaDeployment]) -> None:
    """What runs is never started over."""
    with pytest.raises(Exception, match="already running: broker") as refusal:
        cluster.deployment.start()
    assert "broker-1" in str(refusal.value)


def test_stop_leaves_nothing_and_the_logs_come_home(cluster: Cluster[RedpandaDeployment], tmp_path: Path) -> None:
    """Every process is gone; logs and configuration of every host are fetched; asking on is an error, not a hang."""
    before = states(cluster.deployment.processes)
    assert all(state.pid and state.rss_peak_bytes and not state.out_of_memory for state in before)
    killed = daemons.stop_everything(cluster.brokers)
    assert not any(killed.values())
    assert all(state.pid is None for state in states(cluster.deployment.processes))
    collect_logs(cluster.deployment.processes, tmp_path)
    for host in cluster.brokers:
        assert b"Successfully started Redpanda!" in (tmp_path / host.name / "redpanda-broker.log").read_bytes()
        assert (tmp_path / host.name / "redpanda.yaml").is_file()
        assert (tmp_path / host.name / ".bootstrap.yaml").is_file()
    with pytest.raises(DeploymentError, match=r"no longer running.*broker-1: broker"):
        cluster.deployment.effective_settings()


@pytest.mark.parametrize(
    ("file", "old", "new", "named"),
    [
        ("redpanda/redpanda.yaml", b"developer_mode: false", b"developer_mode: true", "developer_mode=true"),
    ],
)
def test_a_broker_that_was_put_into_development_mode_is_refused(
    file: str, old: bytes, new: bytes, named: str, hosts: dict[str, SshHost]
) -> None:
    """At its start, by what it says of itself, whatever was rendered."""
    plan = Plan(DURABILITY["2"], (Topic("cycle", 1),), {}, {})
    with configured(RedpandaDeployment, hosts, plan, archives_of("redpanda")) as cluster:
        host = hosts["broker-2"]
        path = f"{host.record.root}/etc/{file}"
        host.put(host.get(path).replace(old, new), path)
        with pytest.raises(DeploymentError, match=rf"development mode is refused.*broker/broker-2.{named}"):
            cluster.deployment.start()


def test_a_broker_that_dies_at_start_is_named_with_its_log(hosts: dict[str, SshHost]) -> None:
    """An option that it doesn't know ends the start long before its limit, with the reason that its log gives."""
    refused = {"seastar/broker/broker-2": {"no-such-option-anywhere": "1"}}
    plan = Plan(DURABILITY["2"], (Topic("cycle", 3),), {}, refused)
    with (
        configured(RedpandaDeployment, hosts, plan, archives_of("redpanda")) as broken,
        pytest.raises(DeploymentError, match=r"broker-2: broker died(.|\n)*no-such-option-anywhere"),
    ):
        broken.deployment.start()
