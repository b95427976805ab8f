"""Real NATS servers on the local testbed killed, emptied and started again: who leads, who coordinates, what comes back."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from provisioning.hosts.agents import HttpRequest, http
from provisioning.hosts.ssh import SshHost
from systems.nats.layout import monitor_url
from systems.processes import running
from tests.systems.broken import MESSAGES, PARTITIONS, empty, kill, led_by_another, send, three, until, until_whole
from tests.three_nodes import ThreeNodes

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def nodes(hosts: dict[str, SshHost]) -> Iterator[ThreeNodes]:
    """Three servers with some messages."""
    nodes = three("nats", tuple(hosts.values()))
    with nodes.running():
        send(nodes)
        yield nodes


def elected(nodes: ThreeNodes) -> str:
    """Who was made the leader of the metadata at last: as the servers' logs tell it."""
    pattern = "JetStream cluster new metadata leader: "
    lines = [
        line for host in nodes.brokers for line in host.run(f"cat {host.record.root}/log/nats-*").stdout.splitlines()
    ]
    told = sorted(
        (line.split("] ", 1)[1][:26], line.split(pattern)[1].split("/")[0]) for line in lines if pattern in line
    )
    return told[-1][1]


def test_where_partitions_are_is_told(nodes: ThreeNodes) -> None:
    """Each is led by one of the three and kept by the other two; leaders are as they were when the topic was complete."""
    deployment = nodes.deployment
    placements = [deployment.placement(0, partition) for partition in range(PARTITIONS)]
    for found in placements:
        assert {found.leader, *found.followers} == set(deployment.processes)
    led = [found.leader.host.name for found in placements]
    assert {name: led.count(name) for name in deployment.leaders()} == deployment.leaders()


def test_the_coordinator_is_the_metadatas_leader(nodes: ThreeNodes) -> None:
    """As the servers' own logs say."""
    assert nodes.deployment.coordinator().host.name == elected(nodes)


def test_a_leader_that_is_killed_is_followed_by_another_and_comes_back(nodes: ThreeNodes) -> None:
    """Its streams lack a copy until it does, and are counted meanwhile; its earlier log is kept."""
    deployment = nodes.deployment
    before = deployment.placement(0, 0)
    kill(before.leader)
    now = led_by_another(deployment, before.leader)
    assert now.leader in before.followers
    assert "broken-0" in deployment.under_replicated()
    assert until(deployment.messages_stored, "counted by those that are left", 60.0) == MESSAGES
    deployment.start_again(before.leader)
    until_whole(deployment)
    log = before.leader.log_path
    assert [b"Server is ready" in before.leader.host.get(path) for path in (log, f"{log}.1")] == [True, True]
    assert deployment.messages_stored() == MESSAGES


def test_a_coordinator_that_is_killed_is_followed_by_another(nodes: ThreeNodes) -> None:
    """And comes back as a member."""
    deployment = nodes.deployment
    before = deployment.coordinator()
    kill(before)
    now = until(lambda: found if (found := deployment.coordinator()) != before else None, "another coordinator", 60.0)
    assert now.host.name == elected(nodes)
    deployment.start_again(before)
    until_whole(deployment)


def test_a_replaced_server_has_a_copy_of_everything_again(nodes: ThreeNodes) -> None:
    """It comes back without any data and gets all of them from the others, as its own account says."""
    deployment = nodes.deployment
    replaced = deployment.placement(0, 0).followers[0]
    kill(replaced)
    empty(deployment, replaced)
    deployment.start_again(replaced)
    until_whole(deployment)
    url = monitor_url(replaced, "jsz")
    [answer] = http(replaced.host, [HttpRequest("GET", url)])
    assert json.loads(answer.body)["messages"] == MESSAGES
    assert len(running(deployment.processes)) == 3
    send(nodes)
    assert deployment.messages_stored() == 2 * MESSAGES
