"""Real RabbitMQ nodes on the local testbed killed, emptied and started again: who leads, and what comes back."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from provisioning.hosts.ssh import SshHost
from systems.processes import running
from systems.rabbitmq.deployment import RabbitDeployment
from systems.rendering import render
from tests.systems import broken
from tests.three_nodes import ThreeNodes

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module", params=["2", "2-stream"])
def nodes(request: pytest.FixtureRequest, hosts: dict[str, SshHost]) -> Iterator[ThreeNodes]:
    """Three nodes with some messages: in quorum queues, and in streams."""
    with broken.three("rabbitmq", hosts, level=request.param) as nodes:
        yield nodes


def test_where_partitions_are_is_told(nodes: ThreeNodes) -> None:
    """Each is led by one of the three and kept by the other two; leaders are as they were when the topic was complete."""
    broken.require_copies_on_all(nodes.deployment)


def test_metadata_have_no_leader(nodes: ThreeNodes) -> None:
    """They are in Mnesia and not in the store that has one: else there were a coordinator."""
    deployment = nodes.deployment
    assert isinstance(deployment, RabbitDeployment)
    node = deployment.processes[0]
    asked = render("rabbitmq/templates/answer.erl.j2", expressions="rabbit_khepri:is_enabled()")
    said = node.host.run(deployment._nodes._command(node, 10.0), stdin=asked.encode()).stdout
    assert json.loads(said) == {"answer": False}


def test_a_leader_that_is_killed_is_followed_by_another_and_comes_back(nodes: ThreeNodes) -> None:
    """Its queues lack a copy until it does; its earlier log is kept."""
    deployment = nodes.deployment
    killed = broken.kill_leader(deployment)
    assert "broken-0" in deployment.under_replicated()
    deployment.start_again(killed)
    # it may have forgotten what was declared just before: then its copy is empty until the next message
    broken.send(nodes, broken.PARTITIONS)
    broken.until_whole(deployment)
    assert broken.logs_with(killed, b"Time to start RabbitMQ") == [True, True]
    assert broken.on_disk(deployment, killed) == broken.MESSAGES


def test_a_replaced_node_has_a_copy_of_everything_again(nodes: ThreeNodes) -> None:
    """It comes back without any data, and joins the others as another node of its name."""
    deployment = nodes.deployment
    replaced = deployment.placement(0, 0).followers[0]
    broken.kill(replaced)
    broken.until_missed(deployment)
    broken.bring_back_empty(deployment, replaced)
    assert replaced in (found := deployment.placement(0, 0)).followers and len(found.followers) == 2
    assert broken.on_disk(deployment, replaced) == broken.MESSAGES
    assert len(running(deployment.processes)) == 3
    broken.send(nodes)
