"""That the recorded defaults of the vendors' code are those of the software that runs: the released jars are asked again."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from provisioning.cache import user_cache
from provisioning.software.store import Store
from systems.jvm.rendering import properties
from systems.registry import software
from tests.systems.test_vendor_values import VENDOR, VERSIONS

pytestmark = pytest.mark.integration
# They follow from the machine's processors and memory.
OF_THE_MACHINE = {
    *("bookkeeperClientNumIoThreads", "bookkeeperClientNumWorkerThreads", "managedLedgerCacheSizeMB"),
    *("managedLedgerNumSchedulerThreads", "maxMessagePublishBufferSizeInMB", "narExtractionDirectory"),
    *("numExecutorThreadPoolSize", "numHttpServerThreads", "numIOThreads", "numTransactionReplayThreadPoolSize"),
    *("topicOrderedExecutorThreadNum", "webSocketConnectionsPerBroker", "webSocketNumIoThreads"),
    *("allocatorPoolingConcurrency", "journalMaxMemorySizeMb", "serverNumIOThreads"),
}
RECORDED = {
    "kafka": {"broker": "code.properties"},
    "pulsar": {"broker": "code-broker.properties", "bookkeeper": "code-bookkeeper.properties"},
}


@pytest.mark.parametrize("system", RECORDED)
def test_the_codes_defaults_are_as_recorded(system: str) -> None:
    """Key by key, but for those that follow from the machine."""
    said = ask_the_jars(system, Store(user_cache(), software()).folder(system) / "libs")
    for kind, name in RECORDED[system].items():
        found = {key: value for key, value in said[kind].items() if key not in OF_THE_MACHINE}
        recorded = properties((VENDOR / f"{system}-{VERSIONS[system]}" / name).read_text())
        assert found == {key: value for key, value in recorded.items() if key not in OF_THE_MACHINE}


def ask_the_jars(system: str, libs: Path) -> dict[str, dict[str, str]]:
    """Kind of configuration -> key -> default."""
    program = VENDOR / f"{system.capitalize()}Defaults.java"
    command = ["java", "-Xmx256m", "-XX:+UseSerialGC", "-cp", f"{libs}/*", str(program)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout
    found: dict[str, list[str]] = {}
    for line in printed.splitlines():
        kind, _, setting = line.partition(" ")
        found.setdefault(kind, []).append(setting)
    return {kind: properties("\n".join(lines)) for kind, lines in found.items()}
