"""Which settings a version of Kafka knows: its own definitions of them are asked."""

from __future__ import annotations

from pathlib import Path

from provisioning.software.software import Software
from systems.jvm.known import ask_the_jars
from systems.known import Known

_PROGRAM = Path(__file__).with_name("KafkaDefaults.java")


def list_settings(software: Software, folder: Path) -> Known:
    """Of brokers and topics; a controller has a broker's. See Releases."""
    del software
    return ask_the_jars(_PROGRAM, folder, alike={"controller": "broker"})
