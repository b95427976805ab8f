"""Which settings a version of Pulsar knows: its broker's and its bookie's classes are asked. ZooKeeper's have no list of them."""

from __future__ import annotations

from pathlib import Path

from provisioning.software.software import Software
from systems.jvm.known import ask_the_jars
from systems.known import Known

_PROGRAM = Path(__file__).with_name("PulsarDefaults.java")
# Their defaults follow from the machine's processors and memory.
OF_THE_HOST = frozenset(
    {
        *("bookkeeperClientNumIoThreads", "bookkeeperClientNumWorkerThreads", "managedLedgerCacheSizeMB"),
        *("managedLedgerNumSchedulerThreads", "maxMessagePublishBufferSizeInMB", "narExtractionDirectory"),
        *("numExecutorThreadPoolSize", "numHttpServerThreads", "numIOThreads", "numTransactionReplayThreadPoolSize"),
        *("topicOrderedExecutorThreadNum", "webSocketConnectionsPerBroker", "webSocketNumIoThreads"),
        *("allocatorPoolingConcurrency", "journalMaxMemorySizeMb", "serverNumIOThreads"),
    }
)


def list_settings(software: Software, folder: Path) -> Known:
    """Of brokers and bookies. See Releases."""
    del software
    return ask_the_jars(_PROGRAM, folder, alike={}, of_the_host=OF_THE_HOST)
