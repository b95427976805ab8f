"""Pulsar as the kit sees it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from systems.jvm.processes import JAVA
from systems.pulsar.deployment import PulsarDeployment
from systems.pulsar.durability import BYPASS, CANNOT, CANNOT_FAULT, DIFFERENCES, durability_table
from systems.pulsar.known import list_settings
from systems.pulsar.layout import BOOKIE_HTTP_PORT, BOOKIE_PORT, MEMORY, SERVICE_PORT, WEB_PORT, ZOOKEEPER_PORTS
from systems.pulsar.load_tool import PulsarPerf
from systems.pulsar.own_values import OWN_VALUES
from systems.pulsar.survival import SURVIVAL
from systems.release import Releases
from systems.software.maven import MAVEN, maven_jars
from systems.software.maven_versions import MavenPinning
from systems.software.release_jars import read_tarball
from systems.system import ProducerRate, System, bench_load

_HERE = Path(__file__).parent

PULSAR = System(
    deployment=PulsarDeployment,
    client_module="systems.pulsar.client",
    durability=durability_table,
    cannot=CANNOT,
    cannot_fault=CANNOT_FAULT,
    variants=((BYPASS, ("2", "4")),),
    differences=DIFFERENCES,
    survival=SURVIVAL,
    own_values=OWN_VALUES,
    profiles=_HERE / "profiles",
    memory=MEMORY,
    software=(
        maven_jars("pulsar", _HERE / "software" / "4.2.4"),
        maven_jars("pulsar-perf", _HERE / "load_tool_software" / "4.0.8"),
    ),
    archive=partial(read_tarball, "pulsar"),
    releases=Releases(MavenPinning("pulsar", "org.apache.pulsar:pulsar-broker"), list_settings),
    requirements=(JAVA,),
    operator_requirements=(MAVEN,),
    ports=(*ZOOKEEPER_PORTS, BOOKIE_PORT, BOOKIE_HTTP_PORT, SERVICE_PORT, WEB_PORT),
    write_amplification=2,
    start_s=26,
    producer_rate=ProducerRate(37_850, f"{bench_load('2026-11-25')}; half of what two processes sent"),
    native_tool=PulsarPerf(),
    colour="blue",
)
