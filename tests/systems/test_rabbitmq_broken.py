"""Real RabbitMQ nodes on the local testbed killed, emptied and started again: who leads, and what comes back."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from provisioning.hosts.ssh import SshHost
from systems.processes import running
from systems.rabbitmq.deployment import RabbitDeployment
from systems.rendering import render
from tests.systems.broken import (
    MESSAGES,
    PARTITIONS,
    empty,
    kill,
    led_by_another,
    on_disk,
    send,
    three,
    until,
    until_whole,
)
from tests.three_nodes import ThreeNodes

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module", params=["2", "2-stream"])
def nodes(request: pytest.FixtureRequest, hosts: dict[str, SshHost]) -> Iterator[ThreeNodes]:
    """Three nodes with some messages: in quorum queues, and in streams."""
    nodes = three("rabbitmq", tuple(hosts.values()), level=request.param)
    with nodes.running():
        send(nodes)
        yield nodes


def test_where_partitions_are_is_told(nodes: ThreeNodes) -> None:
    """Each is led by one of the three and kept by the other two; leaders are as they were when the topic was complete."""
    deployment = nodes.deployment
    placements = [deployment.placement(0, partition) for partition in range(PARTITIONS)]
    for found in placements:
        assert {found.leader, *found.followers} == set(deployment.processes)
    led = [found.leader.host.name for found in placements]
    assert {name: led.count(name) for name in deployment.leaders()} == deployment.leaders()


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
    before = deployment.placement(0, 0)
    kill(before.leader)
    now = led_by_another(deployment, before.leader)
    assert now.leader in before.followers
    assert "broken-0" in deployment.under_replicated()
    deployment.start_again(before.leader)
    send(nodes, PARTITIONS)  # killed seconds after a declaration, it may have forgotten it: its copy is empty until the next message
    until_whole(deployment)
    log = before.leader.log_path
    assert [b"Time to start RabbitMQ" in before.leader.host.get(path) for path in (log, f"{log}.1")] == [True, True]
    assert on_disk(deployment, before.leader) == MESSAGES


def test_a_replaced_node_has_a_copy_of_everything_again(nodes: ThreeNodes) -> None:
    """It comes back without any data, and joins the others as another node of its name."""
    deployment = nodes.deployment
    replaced = deployment.placement(0, 0).followers[0]
    kill(replaced)
    until(lambda: deployment.under_replicated() or None, "missed", 60.0)
    empty(deployment, replaced)
    deployment.start_again(replaced)
    until_whole(deployment)
    assert replaced in (found := deployment.placement(0, 0)).followers and len(found.followers) == 2
    assert on_disk(deployment, replaced) == MESSAGES
    assert len(running(deployment.processes)) == 3
    send(nodes)
