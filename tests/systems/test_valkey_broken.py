"""Real Valkey servers on the local testbed killed, emptied and started again: nobody takes the primary's place, and all come back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from provisioning.errors import DeploymentError
from provisioning.hosts.ssh import SshHost
from systems.processes import Process
from systems.valkey.server import ask_server
from systems.valkey.topic_client import stream_of
from tests.systems import broken
from tests.three_nodes import ThreeNodes

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def nodes(hosts: dict[str, SshHost]) -> Iterator[ThreeNodes]:
    """A primary and two replicas with some messages."""
    with broken.three("valkey", hosts) as nodes:
        yield nodes


def stored_on(server: Process) -> int:
    """How many messages a server has itself."""
    streams = [stream_of(broken.TOPIC.name, partition) for partition in range(broken.PARTITIONS)]
    lengths = ask_server(server, [("XLEN", stream) for stream in streams])
    return sum(length for length in lengths if isinstance(length, int))


def test_the_primary_leads_and_coordinates(nodes: ThreeNodes) -> None:
    """It alone is of that role, by each server's own word; the others have the copies."""
    deployment = nodes.deployment
    roles = {each: ask_server(each, [("ROLE",)])[0] for each in deployment.processes}
    [primary] = [each for each, role in roles.items() if isinstance(role, list) and role[0] == b"master"]
    assert deployment.coordinator() == primary
    for found in broken.placements(deployment):
        assert (found.leader, set(found.followers)) == (primary, roles.keys() - {primary})


def test_a_primary_that_is_killed_is_followed_by_nobody_and_comes_back(nodes: ThreeNodes) -> None:
    """Nobody leads until it does; then it has what it had, and both replicas are in step."""
    deployment = nodes.deployment
    primary = deployment.coordinator()
    broken.kill(primary)
    with pytest.raises(DeploymentError, match="can't be asked INFO replication"):
        deployment.placement(0, 0)
    deployment.start_again(primary)
    assert deployment.placement(0, 0).leader == primary
    broken.until_whole(deployment)
    assert [stored_on(each) for each in deployment.processes] == [broken.MESSAGES] * 3
    assert broken.logs_with(primary, b"Ready to accept connections") == [True, True]


def test_a_replaced_replica_has_a_copy_of_everything_again(nodes: ThreeNodes) -> None:
    """It comes back without any data and gets all of them from the primary."""
    deployment = nodes.deployment
    replaced = deployment.placement(0, 0).followers[1]
    broken.kill(replaced)
    broken.until_missed(deployment)
    broken.bring_back_empty(deployment, replaced)
    assert stored_on(replaced) == broken.MESSAGES
    broken.send(nodes)
    assert deployment.messages_stored() == 2 * broken.MESSAGES
