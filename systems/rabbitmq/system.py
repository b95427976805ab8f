"""RabbitMQ as the kit sees it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from systems.rabbitmq.deployment import RabbitDeployment
from systems.rabbitmq.durability import CANNOT, CANNOT_FAULT, DIFFERENCES, STREAM, cannot_load, durability_table
from systems.rabbitmq.layout import MEMORY, NODE_PORT, PORT
from systems.rabbitmq.load_tool import SOFTWARE as LOAD_TOOL
from systems.rabbitmq.load_tool import PerfTest
from systems.rabbitmq.own_values import OWN_VALUES
from systems.rabbitmq.survival import SURVIVAL
from systems.software.debian_packages import debian_packages, read_packages
from systems.software.maven import MAVEN, maven_jars
from systems.system import ProducerRate, System, bench_load

_HERE = Path(__file__).parent
_KEPT = (
    *("usr/lib/erlang/erts-*", "usr/lib/erlang/lib/*", "usr/lib/erlang/bin/*.boot", "usr/lib/erlang/releases/*"),
    "usr/lib/rabbitmq/lib/*/plugins/*",
)
_PINNED = debian_packages("rabbitmq", _HERE / "software" / "4.0.5", *_KEPT, current_on="2026-11-25")

RABBITMQ = System(
    deployment=RabbitDeployment,
    client_module="systems.rabbitmq.client",
    durability=durability_table,
    cannot=CANNOT,
    cannot_fault=CANNOT_FAULT,
    variants=((STREAM, ("2",)),),
    differences=DIFFERENCES,
    survival=SURVIVAL,
    own_values=OWN_VALUES,
    profiles=_HERE / "profiles",
    memory=MEMORY,
    software=(_PINNED, maven_jars(LOAD_TOOL, _HERE / "load_tool_software" / "2.22.1")),
    archive=partial(read_packages, _PINNED),
    one_version="its packages, and Erlang's, are those of one Debian release, which has one version of each.",
    operator_requirements=(MAVEN,),
    ports=(PORT, NODE_PORT),
    write_amplification=2,
    start_s=8,
    producer_rate=ProducerRate(24_100, bench_load("2026-11-25")),
    native_tool=PerfTest(),
    compressions=("none",),
    cannot_load=cannot_load,
    colour="orange",
)
