"""Real Kafka brokers on the local testbed killed, emptied and started again: who leads, who coordinates, what comes back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from shlex import join

import pytest

from provisioning.hosts.ssh import SshHost
from systems.jvm.processes import tool_arguments
from systems.kafka.deployment import KafkaDeployment
from systems.kafka.layout import node_id, service_url
from systems.processes import running
from tests.systems import broken
from tests.three_nodes import ThreeNodes

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def nodes(hosts: dict[str, SshHost]) -> Iterator[ThreeNodes]:
    """Three combined nodes with some messages."""
    with broken.three("kafka", hosts) as nodes:
        yield nodes


def quorum_of(deployment: KafkaDeployment) -> int:
    """The leader's node id, as Kafka's own tool tells it."""
    [node, *_] = deployment.processes
    classpath = f"{node.host.record.root}/{deployment._software}/libs/*"
    tool = ("org.apache.kafka.tools.MetadataQuorumCommand", "--bootstrap-server", service_url(deployment.processes))
    command = join(("java", f"@{tool_arguments(node)}", "-cp", classpath, *tool, "describe", "--status"))
    [leader] = re.findall(r"^LeaderId:\s+(\d+)$", node.host.run(command, timeout_s=120.0).stdout, re.M)
    return int(leader)


def test_where_partitions_are_is_told(nodes: ThreeNodes) -> None:
    """Each is led by one of the three and kept by the other two; leaders are as they were when the topic was complete."""
    broken.require_copies_on_all(nodes.deployment)


def test_the_coordinator_is_the_quorums_leader(nodes: ThreeNodes) -> None:
    """As Kafka's own tool says."""
    assert isinstance(nodes.deployment, KafkaDeployment)
    assert node_id(nodes.deployment.coordinator()) == quorum_of(nodes.deployment)


def test_a_leader_that_is_killed_is_followed_by_another_and_comes_back(nodes: ThreeNodes) -> None:
    """The partitions lack a replica until it does; its earlier log is kept."""
    deployment = nodes.deployment
    killed = broken.kill_leader(deployment)
    assert "broken-0" in deployment.under_replicated()
    broken.bring_back(deployment, killed)
    assert broken.logs_with(killed, b"Kafka Server started") == [True, True]
    assert deployment.messages_stored() == broken.MESSAGES


def test_a_coordinator_that_is_killed_is_followed_by_another(nodes: ThreeNodes) -> None:
    """And comes back as a member."""
    deployment = nodes.deployment
    assert isinstance(deployment, KafkaDeployment)
    before, now = broken.kill_coordinator(deployment)
    assert node_id(now) == quorum_of(deployment)
    broken.bring_back(deployment, before)


def test_a_replaced_broker_is_a_full_replica_again(nodes: ThreeNodes) -> None:
    """It comes back without any data and gets all of them from the others: what lies on its disk is what lies on theirs."""
    deployment = nodes.deployment
    assert isinstance(deployment, KafkaDeployment)
    replaced, other = deployment.placement(0, 0).followers
    broken.kill(replaced)
    broken.bring_back_empty(deployment, replaced)
    assert [broken.on_disk(deployment, each) for each in (replaced, other)] == [broken.MESSAGES] * 2
    assert len(running(deployment.processes)) == 3
    broken.send(nodes)
    assert deployment.messages_stored() == 2 * broken.MESSAGES
