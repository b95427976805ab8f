"""Real Pulsar processes on the local testbed killed, emptied and started again: who leads, who coordinates, what comes back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from provisioning.hosts.ssh import SshHost
from systems.processes import Process, running
from systems.pulsar.deployment import PulsarDeployment
from systems.pulsar.readback import zookeeper_modes
from tests.systems import broken
from tests.three_nodes import ThreeNodes

pytestmark = pytest.mark.integration
SESSION_S = 120.0  # ownership ends with a session in ZooKeeper, 30 s after its last sign of life


@pytest.fixture(scope="module")
def nodes(hosts: dict[str, SshHost]) -> Iterator[ThreeNodes]:
    """Three ZooKeeper servers, bookies and brokers with some messages."""
    with broken.three("pulsar", hosts) as nodes:
        yield nodes


def of_kind(nodes: ThreeNodes, daemon: str) -> set[Process]:
    return {each for each in nodes.deployment.processes if each.daemon == daemon}


def test_where_partitions_are_is_told(nodes: ThreeNodes) -> None:
    """Each is led by one of the brokers and kept by the three bookies; leaders are as they were when the topic was complete."""
    placements = broken.placements(nodes.deployment)
    assert {found.leader for found in placements} <= of_kind(nodes, "broker")
    assert all(set(found.followers) == of_kind(nodes, "bookie") for found in placements)
    broken.require_leaders_as_told(nodes.deployment, placements)


def test_the_coordinator_is_zookeepers_leader(nodes: ThreeNodes) -> None:
    """As the servers' own logs say."""
    leading = "grep -c 'LEADING - LEADER ELECTION TOOK' {} || true"
    told = {each: each.host.run(leading.format(each.log_path)).stdout.strip() for each in of_kind(nodes, "zookeeper")}
    assert [each for each, times in told.items() if times == "1"] == [nodes.deployment.coordinator()]


def test_a_leader_that_is_killed_is_followed_by_another_and_comes_back(nodes: ThreeNodes) -> None:
    """Nothing lacks copies meanwhile, for a broker keeps none; its earlier log is kept."""
    deployment = nodes.deployment
    before = deployment.placement(0, 0)
    broken.kill(before.leader)
    now = broken.led_by_another(deployment, before.leader, SESSION_S)
    assert now.leader in of_kind(nodes, "broker")
    assert deployment.under_replicated() == []
    deployment.start_again(before.leader)
    assert before.leader.host.run(f"ls {before.leader.log_path}.1").stdout
    broken.send(nodes)


def test_a_coordinator_that_comes_back_without_data_follows_another(nodes: ThreeNodes) -> None:
    """It gets the metadata from the new leader."""
    deployment = nodes.deployment
    assert isinstance(deployment, PulsarDeployment)
    before, now = broken.kill_coordinator(deployment)
    broken.empty(deployment, before)
    deployment.start_again(before)
    modes = zookeeper_modes(deployment._layout.zookeepers)
    assert (modes[now.host.name], modes[before.host.name]) == ("leader", "follower")
    broken.send(nodes)


def test_a_replaced_bookie_has_a_copy_of_everything_again(nodes: ThreeNodes) -> None:
    """It comes back without any data, and is ready when it has copied all that the metadata say it has."""
    deployment = nodes.deployment
    replaced = deployment.placement(0, 0).followers[1]
    broken.kill(replaced)
    broken.until_missed(deployment, SESSION_S)
    broken.bring_back_empty(deployment, replaced)
    assert broken.on_disk(deployment, replaced) == broken.MESSAGES
    assert {name: len(daemons) for name, daemons in running(deployment.processes).items()} == {
        host.name: 3 for host in nodes.brokers
    }
    broken.send(nodes)


def test_a_bookie_that_is_killed_comes_back_with_its_data(nodes: ThreeNodes) -> None:
    """It isn't taken for one whose disk was replaced."""
    deployment = nodes.deployment
    killed = deployment.placement(0, 0).followers[0]
    broken.kill(killed)
    broken.bring_back(deployment, killed)
    assert killed.host.run(f"ls {killed.etc}").stdout.count("bookkeeper-replaced.conf") == 0
    broken.send(nodes)
