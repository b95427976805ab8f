"""Which tests may run at the same time, and which first; for integration tests, a local testbed per process once one asks for it."""

from __future__ import annotations

import gc
from collections import Counter
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

# Each process that runs one of these starts a JVM, and Spark gets faster the longer it runs.
NEED_SPARK = (
    "tests/analysis/test_pipeline.py",
    "tests/analysis/test_report_job.py",
    "tests/analysis/test_cross_check.py",
    "tests/analysis/test_omb_export.py",
    "tests/analysis/test_censoring.py",
    "tests/analysis/test_cut_off.py",
    "tests/analysis/test_curves_job.py",
    "tests/analysis/faults/test_hundred_kills.py",
    "tests/analysis/faults/test_faults_job.py",
)

# What takes long is begun first, so that no process is left with it at the end: what waits for clocks, beside what computes.
LONG = (
    "tests/bench/test_load_driver.py",
    *NEED_SPARK,
    "tests/bench/test_load_shapes.py",
    "tests/bad_input/test_bad_input.py",
    "tests/aws/test_cost.py",
    "tests/bench/test_worker_pool.py",
    "tests/analysis/claims/test_mutation.py",
    "tests/bench/test_client_delay.py",
    "tests/aws/test_readiness.py",
    "tests/aws/test_sweep.py",
    "tests/bench/test_native_load.py",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    """Collecting makes a million objects that stay until the end: the garbage collector needn't look for any among them."""
    gc.disable()


def pytest_collection_finish() -> None:
    """From here on there is garbage."""
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    """Now all of it is."""
    gc.unfreeze()


class ByFile(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types
    """One process runs the tests of a file, which share its fixtures, one all that need the page cache for themselves, one Spark's."""

    def _split_scope(self, nodeid: str) -> str:
        return together(nodeid)


def together(nodeid: str) -> str:
    """What a test's process runs with it: the name is the same for all of that."""
    file = nodeid.partition("::")[0]
    if file in NEED_SPARK:
        return "Spark"
    return "page cache" if file in NEED_THE_PAGE_CACHE else file


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByFile:
    """Which tests may run at the same time."""
    config.option.loadscopereorder = False  # they are in order
    return ByFile(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Which come first where several processes run them: what is LONG, then where the most tests are."""
    if not hasattr(config, "workerinput"):
        return
    ranks = {file: (at, 0) for at, file in enumerate(LONG)}
    tests = Counter(together(item.nodeid) for item in items)

    def rank(item: pytest.Item) -> tuple[int, int]:
        return ranks.get(item.nodeid.partition("::")[0], (len(LONG), -tests[together(item.nodeid)]))

    items.sort(key=rank)


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
