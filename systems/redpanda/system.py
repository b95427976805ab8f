"""Redpanda as the kit sees it: Kafka's client with another deployment, out of the operator's own archive."""

from __future__ import annotations

from pathlib import Path

from systems.kafka.load_tool import ProducerPerformance
from systems.kafka.system import KAFKA
from systems.redpanda.deployment import RedpandaDeployment
from systems.redpanda.durability import CANNOT, CANNOT_FAULT, DIFFERENCES, durability_table
from systems.redpanda.layout import ADMIN_PORT, CLIENT_PORT, MEMORY, RPC_PORT
from systems.redpanda.own_values import OWN_VALUES
from systems.redpanda.release_tarball import ARCHIVE_NAME, read_release
from systems.redpanda.survival import SURVIVAL
from systems.system import ProducerRate, System

REDPANDA = System(
    deployment=RedpandaDeployment,
    client_module=KAFKA.client_module,
    durability=durability_table,
    cannot=CANNOT,
    cannot_fault=CANNOT_FAULT,
    differences=DIFFERENCES,
    survival=SURVIVAL,
    own_values=OWN_VALUES,
    profiles=Path(__file__).parent / "profiles",
    memory=MEMORY,
    software=(),
    archive=read_release,
    archive_name=ARCHIVE_NAME,
    one_version="nothing of it can be fetched; its archive is given as a file, and the last one that was added runs.",
    untried="Its deployment was written from its documentation and its source, without its software: expect it to need changes "
    "(docs/redpanda.md).",
    traced_with={"seastar/broker": {"force-aio-syscalls": "1"}},
    untraced=dict.fromkeys(
        ("2", "4"),
        "What isn't awaited is synced after 100 ms at most, which under strace is about as long as a message takes: it can't be told "
        "from what is awaited.",
    ),
    ports=(CLIENT_PORT, RPC_PORT, ADMIN_PORT),
    write_amplification=1,
    start_s=15,
    producer_rate=ProducerRate(
        KAFKA.producer_rate.messages_per_s, "never measured with Redpanda: Kafka's, whose client drives both"
    ),
    native_tool=ProducerPerformance(),
    colour="sky",
)
