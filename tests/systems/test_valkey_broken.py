"""Real Valkey servers on the local testbed killed, emptied and started again: nobody takes the primary's place, and all come back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from provisioning.errors import DeploymentError
from provisioning.hosts.ssh import SshHost
from systems.processes import Process
from systems.valkey.server import ask_server
from systems.valkey.topic_client import stream_of
from tests.systems.broken import MESSAGES, PARTITIONS, TOPIC, empty, kill, send, three, until, until_whole
from tests.three_nodes import ThreeNodes

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def nodes(hosts: dict[str, SshHost]) -> Iterator[ThreeNodes]:
    """A primary and two replicas with some messages."""
    nodes = three("valkey", tuple(hosts.values()))
    with nodes.running():
        send(nodes)
        yield nodes


def stored_on(server: Process) -> int:
    """How many messages a server has itself."""
    lengths = ask_server(server, [("XLEN", stream_of(TOPIC.name, partition)) for partition in range(PARTITIONS)])
    return sum(length for length in lengths if isinstance(length, int))


def test_the_primary_leads_and_coordinates(nodes: ThreeNodes) -> None:
    """It alone is of that role, by each server's own word; the others have the copies."""
    deployment = nodes.deployment
    roles = {each: ask_server(each, [("ROLE",)])[0] for each in deployment.processes}
    [primary] = [each for each, role in roles.items() if isinstance(role, list) and role[0] == b"master"]
    assert deployment.coordinator() == primary
    for partition in range(PARTITIONS):
        found = deployment.placement(0, partition)
        assert (found.leader, set(found.followers)) == (primary, roles.keys() - {primary})


def test_a_primary_that_is_killed_is_followed_by_nobody_and_comes_back(nodes: ThreeNodes) -> None:
    """Nobody leads until it does; then it has what it had, and both replicas are in step."""
    deployment = nodes.deployment
    primary = deployment.coordinator()
    kill(primary)
    with pytest.raises(DeploymentError, match="can't be asked INFO replication"):
        deployment.placement(0, 0)
    deployment.start_again(primary)
    assert deployment.placement(0, 0).leader == primary
    until_whole(deployment)
    assert [stored_on(each) for each in deployment.processes] == [MESSAGES] * 3
    log = primary.log_path
    assert [b"Ready to accept connections" in primary.host.get(path) for path in (log, f"{log}.1")] == [True, True]


def test_a_replaced_replica_has_a_copy_of_everything_again(nodes: ThreeNodes) -> None:
    """It comes back without any data and gets all of them from the primary."""
    deployment = nodes.deployment
    replaced = deployment.placement(0, 0).followers[1]
    kill(replaced)
    until(lambda: deployment.under_replicated() or None, "missed by the primary", 60.0)
    empty(deployment, replaced)
    deployment.start_again(replaced)
    until_whole(deployment)
    assert stored_on(replaced) == MESSAGES
    send(nodes)
    assert deployment.messages_stored() == 2 * MESSAGES
