"""Kafka's files and tables, without a broker."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest

from provisioning.errors import DeploymentError, UnsupportedDurability
from provisioning.hosts.host import Host, ScriptedHost
from provisioning.hosts.inventory import DataDir, HostRecord, Role, SshAddress
from systems.deployment import Plan, Topic
from systems.jvm.processes import settings_of
from systems.jvm.rendering import properties
from systems.kafka import layout
from systems.kafka.deployment import KafkaDeployment
from systems.kafka.durability import LEVELS, level_settings
from systems.processes import Process
from systems.registry import DURABILITY
from tests.systems.installed import Installed


def host(name: str, address: str, role: Role = "broker") -> Host:
    disks = tuple(DataDir(f"/srv/{name}/data{at}", "/dev/x", "/", False) for at in (1, 2))
    return ScriptedHost(
        HostRecord(name, role, SshAddress(address, 22, "b", ""), address, f"/srv/{name}", disks, "", "", 1)
    )


BROKERS = [host(f"broker-{at}", f"10.0.0.{at}") for at in (1, 2, 3)]
METADATA = [host(f"metadata-{at}", f"10.0.1.{at}", "metadata") for at in (1, 2, 3)]


def plan(level: str = "1", **changes: Any) -> Plan:
    return dataclasses.replace(Plan(DURABILITY[level], (Topic("t", 6),), {}, {}), **changes)


def config(node: Process, nodes: Sequence[Process], asked: Plan) -> dict[str, str]:
    return properties(layout.files(node, nodes, asked)[node.config_path])


def test_without_metadata_hosts_every_broker_is_a_controller() -> None:
    """Three combined nodes vote among themselves, each bound to its own address."""
    nodes = layout.nodes(BROKERS)
    settings = config(nodes[1], nodes, plan())
    assert settings["process.roles"] == "broker,controller"
    assert settings["controller.quorum.voters"] == "1@10.0.0.1:9093,2@10.0.0.2:9093,3@10.0.0.3:9093"
    assert settings["listeners"] == "PLAINTEXT://10.0.0.2:9092,CONTROLLER://10.0.0.2:9093"
    assert settings["log.dirs"] == "/srv/broker-2/data1/kafka,/srv/broker-2/data2/kafka"


def test_with_metadata_hosts_controllers_go_there() -> None:
    """Brokers lose their vote, controllers lose their clients."""
    nodes = layout.nodes([*BROKERS, *METADATA])
    broker = config(nodes[0], nodes, plan())
    controller = config(nodes[3], nodes, plan())
    assert broker["process.roles"] == "broker"
    assert broker["listeners"] == "PLAINTEXT://10.0.0.1:9092"
    assert broker["controller.quorum.voters"] == controller["controller.quorum.voters"]
    assert controller["controller.quorum.voters"].startswith("101@10.0.1.1:9093,")
    assert controller["listeners"] == "CONTROLLER://10.0.1.1:9093"
    assert "advertised.listeners" not in controller
    # the cluster's dynamic default comes from the controllers and would overrule the brokers' files
    assert broker["min.insync.replicas"] == controller["min.insync.replicas"] == "2"


def test_the_consumers_offsets_lie_as_the_brokers_are_told() -> None:
    """A campaign's own settings for that topic hold for it, although the kit makes it."""
    nodes = layout.nodes(BROKERS)
    made = layout.offsets_topic(config(nodes[0], nodes, plan()))
    assert (made.topic.partitions, made.replicas, made.settings["segment.bytes"]) == (3, 3, "104857600")
    own = {"offsets.topic.num.partitions": "50", "offsets.topic.segment.bytes": "1048576"}
    made = layout.offsets_topic(config(nodes[0], nodes, plan(overrides={"broker": own})))
    assert (made.topic.partitions, made.replicas, made.settings["segment.bytes"]) == (50, 3, "1048576")


def test_client_hosts_get_nothing() -> None:
    """Only brokers and metadata hosts run Kafka; without a broker there is no Kafka."""
    with pytest.raises(DeploymentError, match="role broker"):
        layout.nodes([host("client-1", "10.0.2.1", "client")])


def test_the_levels_as_a_table() -> None:
    """Levels 1 and 3 flush every record, the others leave it to the page cache; who acknowledges is the client's acks."""
    flushed = {name for name, level in LEVELS.items() if level.flushing["flush.messages"] == "1"}
    assert flushed == {"1", "3"}
    assert {LEVELS[name].flushing["flush.messages"] for name in ("2", "4", "none")} == {str(2**63 - 1)}
    assert {name: level.client["acks"] for name, level in LEVELS.items()} == {
        "1": "all", "2": "all", "3": "1", "4": "1", "none": "0",
    }  # fmt: skip


@pytest.mark.parametrize(("copies", "quorum"), [(1, 1), (2, 2), (3, 2), (5, 3)])
def test_the_quorum_follows_the_replication_factor(copies: int, quorum: int) -> None:
    """Of the topics and of the cluster's own; more copies than brokers are refused."""
    assert {level.topic(copies)["min.insync.replicas"] for level in LEVELS.values()} == {str(quorum)}
    [node, *_] = nodes = layout.nodes([host(f"broker-{at}", f"10.0.0.{at}") for at in range(1, 6)])
    rendered = config(node, nodes, plan(replication_factor=copies))
    assert rendered["offsets.topic.replication.factor"] == rendered["default.replication.factor"] == str(copies)
    assert rendered["min.insync.replicas"] == str(quorum)
    with pytest.raises(
        DeploymentError, match="kafka needs 5 broker hosts for as many copies; the inventory has 3"
    ) as refusal:
        KafkaDeployment(BROKERS, Installed("4.3.1")).intended_settings(plan(replication_factor=5))
    assert "replication_factor" in refusal.value.next_step


@pytest.mark.parametrize("level", ["2-bypass", "4-bypass"])
def test_a_level_that_there_is_not_is_refused(level: str) -> None:
    """Never silently downgraded."""
    with pytest.raises(UnsupportedDurability, match=f"level {level}") as refusal:
        level_settings(DURABILITY[level])
    assert refusal.value.next_step == "Levels it has: 1, 2, 3, 4, none."


def test_the_level_goes_over_the_clients_settings() -> None:
    """A profile sets the client as it likes, but what an acknowledgement promises is the level's."""
    tidied = "rm -rf /srv/{0}/tmp/processes; mkdir -p /srv/{0}/tmp/processes; rm -f /srv/{0}/log/kafka-broker.log*"
    brokers = [ScriptedHost(each.record, {tidied.format(each.name): ""}) for each in BROKERS]
    deployment = KafkaDeployment(brokers, Installed("4.3.1"))
    deployment.install()
    deployment.configure(plan("3", overrides={"client": {"acks": "all", "max_partition_fetch_bytes": "1"}}))
    assert deployment.endpoints().client_settings == {"acks": "1", "max_partition_fetch_bytes": "1"}


def test_memory_and_overrides_reach_the_files() -> None:
    """The profile's heap and a campaign's settings are rendered, and are intended because they are rendered."""
    asked = plan(memory={"broker": {"heap": "1g"}}, overrides={"broker/broker-1": {"num.io.threads": "2"}})
    nodes = layout.nodes(BROKERS)
    intended = settings_of(nodes[0], layout.files(nodes[0], nodes, asked))
    assert intended["jvm/broker/broker-1"]["MaxHeapSize"] == str(2**30)
    assert intended["broker/broker-1"]["num.io.threads"] == "2"
    other = settings_of(nodes[1], layout.files(nodes[1], nodes, asked))
    assert other["broker/broker-2"]["num.io.threads"] == "8"


def test_every_key_is_rendered_once() -> None:
    """A key that stands twice would be intended as one thing and run as another."""
    for inventory in (BROKERS, [*BROKERS, *METADATA]):
        nodes = layout.nodes(inventory)
        for node in nodes:
            lines = layout.files(node, nodes, plan())[node.config_path].splitlines()
            keys = [line.partition("=")[0] for line in lines if line and not line.startswith("#")]
            assert len(keys) == len(set(keys))
