"""Kafka as the kit sees it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from systems.jvm.processes import JAVA
from systems.kafka.deployment import KafkaDeployment
from systems.kafka.durability import CANNOT, DIFFERENCES, durability_table
from systems.kafka.known import list_settings
from systems.kafka.layout import CLIENT_PORT, CONTROLLER_PORT, MEMORY
from systems.kafka.load_tool import ProducerPerformance
from systems.kafka.own_values import OWN_VALUES
from systems.kafka.survival import SURVIVAL
from systems.release import Releases
from systems.software.maven import MAVEN, maven_jars
from systems.software.maven_versions import MavenPinning
from systems.software.release_jars import read_tarball
from systems.system import ProducerRate, System, bench_load

_HERE = Path(__file__).parent

KAFKA = System(
    deployment=KafkaDeployment,
    client_module="systems.kafka.client",
    durability=durability_table,
    cannot=CANNOT,
    variants=(),
    differences=DIFFERENCES,
    survival=SURVIVAL,
    own_values=OWN_VALUES,
    profiles=_HERE / "profiles",
    memory=MEMORY,
    software=(maven_jars("kafka", _HERE / "software" / "4.3.1"),),
    archive=partial(read_tarball, "kafka"),
    releases=Releases(MavenPinning("kafka", "org.apache.kafka:kafka_2.13"), list_settings),
    requirements=(JAVA,),
    operator_requirements=(MAVEN,),
    ports=(CLIENT_PORT, CONTROLLER_PORT),
    write_amplification=1,
    start_s=10,
    producer_rate=ProducerRate(172_700, bench_load("2026-11-25")),
    native_tool=ProducerPerformance(),
    colour="vermilion",
)
