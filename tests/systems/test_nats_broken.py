"""Real NATS servers on the local testbed killed, emptied and started again: who leads, who coordinates, what comes back."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from provisioning.hosts.agents import HttpRequest, http
from provisioning.hosts.ssh import SshHost
from systems.nats.layout import monitor_url
from systems.processes import running
from tests.systems import broken
from tests.three_nodes import ThreeNodes

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def nodes(hosts: dict[str, SshHost]) -> Iterator[ThreeNodes]:
    """Three servers with some messages."""
    with broken.three("nats", hosts) as nodes:
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
    broken.require_copies_on_all(nodes.deployment)


def test_the_coordinator_is_the_metadatas_leader(nodes: ThreeNodes) -> None:
    """As the servers' own logs say."""
    assert nodes.deployment.coordinator().host.name == elected(nodes)


def test_a_leader_that_is_killed_is_followed_by_another_and_comes_back(nodes: ThreeNodes) -> None:
    """Its streams lack a copy until it does, and are counted meanwhile; its earlier log is kept."""
    deployment = nodes.deployment
    killed = broken.kill_leader(deployment)
    assert "broken-0" in deployment.under_replicated()
    assert broken.until(deployment.messages_stored, "counted by those that are left", 60.0) == broken.MESSAGES
    broken.bring_back(deployment, killed)
    assert broken.logs_with(killed, b"Server is ready") == [True, True]
    assert deployment.messages_stored() == broken.MESSAGES


def test_a_coordinator_that_is_killed_is_followed_by_another(nodes: ThreeNodes) -> None:
    """And comes back as a member."""
    deployment = nodes.deployment
    before, now = broken.kill_coordinator(deployment)
    assert now.host.name == elected(nodes)
    broken.bring_back(deployment, before)


def test_a_replaced_server_has_a_copy_of_everything_again(nodes: ThreeNodes) -> None:
    """It comes back without any data and gets all of them from the others, as its own account says."""
    deployment = nodes.deployment
    replaced = deployment.placement(0, 0).followers[0]
    broken.kill(replaced)
    broken.bring_back_empty(deployment, replaced)
    url = monitor_url(replaced, "jsz")
    [answer] = http(replaced.host, [HttpRequest("GET", url)])
    assert json.loads(answer.body)["messages"] == broken.MESSAGES
    assert len(running(deployment.processes)) == 3
    broken.send(nodes)
    assert deployment.messages_stored() == 2 * broken.MESSAGES
