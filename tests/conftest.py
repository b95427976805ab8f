"""Fixtures for integration tests: one local testbed for the whole session, started when the first test asks for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from provisioning.hosts.inventory import Inventory
from provisioning.hosts.ssh import SshHost, connected
from provisioning.testbeds.local.testbed import LocalTestbed
from systems.registry import ports


@pytest.fixture(scope="session")
def local_testbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inventory]:
    """Three brokers and a client on this machine, up until the session ends."""
    testbed = LocalTestbed(tmp_path_factory.mktemp("testbed") / "state", brokers=3, clients=1, broker_ports=ports())
    try:
        yield testbed.up()
    finally:
        testbed.down()


@pytest.fixture(scope="session")
def hosts(local_testbed: Inventory) -> Iterator[dict[str, SshHost]]:
    """The session testbed's hosts by name."""
    with connected(local_testbed) as connections:
        yield {host.name: host for host in connections}
