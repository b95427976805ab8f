"""For integration tests: which may run at the same time; a local testbed per process, started when the first test asks for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from xdist.remote import Producer  # type: ignore[import-untyped]
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

from provisioning.hosts.inventory import Inventory
from provisioning.hosts.ssh import SshHost, connected
from provisioning.testbeds.local.testbed import LocalTestbed
from systems.registry import ports

# Their tests drop the machine's page cache, or fail if another drops it.
NEED_THE_PAGE_CACHE = frozenset(
    {
        "tests/campaign/test_own_hosts.py",
        "tests/campaign/test_resume.py",
        "tests/campaign/test_whole_campaign.py",
        "tests/orchestrator/test_abandon.py",
        "tests/provisioning/test_reset.py",
        "tests/systems/test_toy.py",
    }
)


class ByFile(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types
    """One process runs the tests of a file, which share its fixtures, and one all that need the page cache for themselves."""

    def _split_scope(self, nodeid: str) -> str:
        file = str(super()._split_scope(nodeid))
        return "page cache" if file in NEED_THE_PAGE_CACHE else file


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByFile:
    """Which tests may run at the same time."""
    return ByFile(config, log)


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
