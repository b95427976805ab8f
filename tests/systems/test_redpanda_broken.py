"""Real Redpanda brokers killed and started again, for whoever has the archive: make test-redpanda REDPANDA=FILE.

samebox's makers never ran these tests: they had no archive. Until somebody has, they are expectations.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from provisioning.hosts.ssh import SshHost
from systems.redpanda.deployment import RedpandaDeployment
from tests.systems import broken
from tests.three_nodes import ThreeNodes

pytestmark = [pytest.mark.integration, pytest.mark.redpanda]


@pytest.fixture(scope="module")
def nodes(hosts: dict[str, SshHost]) -> Iterator[ThreeNodes]:
    """Three brokers with some messages, on disk as they were acknowledged."""
    with broken.three("redpanda", hosts, level="1") as nodes:
        yield nodes


def test_where_partitions_are_is_told(nodes: ThreeNodes) -> None:
    """Each is led by one of the three and kept by the other two; leaders are as they were when the topic was complete."""
    broken.require_copies_on_all(nodes.deployment)


def test_the_coordinator_is_the_one_of_the_health_report(nodes: ThreeNodes) -> None:
    """Which is another answer of the admin API."""
    deployment = nodes.deployment
    assert isinstance(deployment, RedpandaDeployment)
    assert deployment.coordinator().number == deployment._admin.health().controller


def test_a_leader_that_is_killed_is_followed_by_another_and_comes_back(nodes: ThreeNodes) -> None:
    """With what it had; its earlier log is kept."""
    deployment = nodes.deployment
    killed = broken.kill_leader(deployment)
    broken.bring_back(deployment, killed)
    assert killed.host.run(f"ls {killed.log_path}.1").stdout
    assert broken.on_disk(deployment, killed) == broken.MESSAGES


def test_a_coordinator_that_is_killed_is_followed_by_another(nodes: ThreeNodes) -> None:
    """And comes back as a member."""
    deployment = nodes.deployment
    before, _ = broken.kill_coordinator(deployment)
    broken.bring_back(deployment, before)
    broken.send(nodes)
