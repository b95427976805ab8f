"""Real Redpanda brokers killed and started again, for whoever has the archive: make test-redpanda REDPANDA=FILE.

samebox's makers never ran these tests: they had no archive. Until somebody has, they are expectations.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from provisioning.hosts.ssh import SshHost
from systems.redpanda.deployment import RedpandaDeployment
from tests.systems.broken import MESSAGES, PARTITIONS, kill, led_by_another, on_disk, send, three, until, until_whole
from tests.three_nodes import ThreeNodes

pytestmark = [pytest.mark.integration, pytest.mark.redpanda]


@pytest.fixture(scope="module")
def nodes(hosts: dict[str, SshHost]) -> Iterator[ThreeNodes]:
    """Three brokers with some messages, on disk as they were acknowledged."""
    nodes = three("redpanda", tuple(hosts.values()), level="1")
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


def test_the_coordinator_is_the_one_of_the_health_report(nodes: ThreeNodes) -> None:
    """Which is another answer of the admin API."""
    deployment = nodes.deployment
    assert isinstance(deployment, RedpandaDeployment)
    assert deployment.coordinator().number == deployment._admin.health().controller


def test_a_leader_that_is_killed_is_followed_by_another_and_comes_back(nodes: ThreeNodes) -> None:
    """With what it had; its earlier log is kept."""
    deployment = nodes.deployment
    before = deployment.placement(0, 0)
    kill(before.leader)
    now = led_by_another(deployment, before.leader)
    assert now.leader in before.followers
    deployment.start_again(before.leader)
    until_whole(deployment)
    assert before.leader.host.run(f"ls {before.leader.log_path}.1").stdout
    assert on_disk(deployment, before.leader) == MESSAGES


def test_a_coordinator_that_is_killed_is_followed_by_another(nodes: ThreeNodes) -> None:
    """And comes back as a member."""
    deployment = nodes.deployment
    before = deployment.coordinator()
    kill(before)
    until(lambda: found if (found := deployment.coordinator()) != before else None, "another coordinator", 60.0)
    deployment.start_again(before)
    until_whole(deployment)
    send(nodes)
