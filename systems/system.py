"""What the kit knows of a system: one `System` in its folder, named by the registry."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from contract.colours import ColourName
from contract.durability import DEFAULT_REPLICATION_FACTOR, Variant
from contract.workload import COMPRESSIONS, Compression, Workload
from provisioning.hosts.host import Host
from provisioning.hosts.requirement import Requirement
from provisioning.software.software import Software
from systems.client import ClientModule
from systems.deployment import Deployment, Difference, Plan, SoftwareStore
from systems.load_tool import NativeTool
from systems.own_values import OwnValues
from systems.profile import ANY_MEMORY, MemoryClasses
from systems.release import Releases
from systems.settings import Settings
from systems.survival import MakersWord

_CHECKOUT = Path(__file__).parents[1]


def bench_load(day: str) -> str:
    """The source of a rate that README has from a run of that day."""
    return f"make bench-load on {day} (README): 1,024-byte messages, brokers and clients on one machine with 2 cores"


@dataclass(frozen=True)
class ProducerRate:
    """The highest rate measured of one producer, which is one process, with every message recorded."""

    messages_per_s: int
    source: str


@dataclass(frozen=True)
class MessageMemory:
    """Of a system that keeps all messages in memory for as long as a trial takes.

    `setting`: what bounds it, as a campaign names it: "server.maxmemory". `messages`: (plan, bytes of a message) -> about how many fit.
    """

    setting: str
    messages: Callable[[Plan, int], int]


@dataclass(frozen=True)
class System:
    """A broker product: how to put it on hosts and which client module drives it.

    `durability` has the levels it can give, with what each means at a replication factor: name -> component -> key -> value.
    `variants`: its other ways to keep some of these levels. `cannot`: the reason for each level that it can't give. `differences`: how
    it keeps the others in a way of its own. `survival`: what its makers say of acknowledged messages under faults. `own_values`: where
    its rendered settings aren't its vendor's. `profiles` is the folder of its system profiles (None = it has its vendor's defaults
    only), `memory` says how large its processes are.

    `cannot_fault`: the reason for each fault that can't be done to it, in a workload's words: what is done ("replace"), to whom
    ("coordinator"), or both ("replace leader").

    `software`: all that its deployment and its load tool ask the store for, the system itself first. `archive` reads a release that the
    operator gives instead, and raises InvalidInput; where nothing is pinned, there is none before (`archive_name`: how its makers
    call it). `releases`: how other versions are pinned beside the first of `software`, which is the default; None = they can't be, and
    `one_version` says why. `untried`: what of the system was never run by samebox's makers, in sentences; empty = nothing.
    `requirements`: what hosts need on which it runs, `operator_requirements`: what this machine needs to fetch it. `ports`: where its
    processes listen, on each broker and metadata host.

    `traced_with`: settings with which a durability proof runs it, so that a trace shows what it does; `untraced`: level -> why a trace
    can't show that it is kept all the same.

    `native_tool` is the load tool that it comes with, None = none. `write_amplification` is how often a host writes each stored byte
    (2 = a journal beside the storage), for the disk estimate; `start_s` is how long its cluster takes from its configuration to its
    first topic, for the estimate of time. `producer_rate`: what to expect of one producer at most.
    `compressions`: what its client can do. `cannot_load`: why it can't take a workload at one of its durabilities; None = it can.
    `message_memory`: None = its messages are on disk, and as many as fit there. `colour`: its own in all figures (None = whichever is
    left).
    """

    deployment: Callable[[Sequence[Host], SoftwareStore], Deployment]
    client_module: str
    durability: Callable[[int], Mapping[str, Settings]]
    cannot: Mapping[str, str]
    software: tuple[Software, ...]
    ports: tuple[int, ...]
    start_s: float
    producer_rate: ProducerRate
    memory: MemoryClasses = ANY_MEMORY
    profiles: Path | None = None
    cannot_fault: Mapping[str, str] = field(default_factory=dict)
    own_values: OwnValues = field(default_factory=dict)
    variants: Sequence[tuple[Variant, Sequence[str]]] = ()
    differences: Sequence[Difference] = ()
    survival: Sequence[MakersWord] = ()
    write_amplification: float = 1.0
    requirements: tuple[Requirement, ...] = ()
    operator_requirements: tuple[Requirement, ...] = ()
    archive: Callable[[Path], Software] | None = None
    archive_name: str = "FILE"
    releases: Releases | None = None
    one_version: str = ""
    untried: str = ""
    traced_with: Settings = field(default_factory=dict)
    untraced: Mapping[str, str] = field(default_factory=dict)
    native_tool: NativeTool | None = None
    compressions: tuple[Compression, ...] = COMPRESSIONS
    message_memory: MessageMemory | None = None
    cannot_load: Callable[[str, Workload], str | None] = lambda _durability, _workload: None
    colour: ColourName | None = None

    @property
    def levels(self) -> tuple[str, ...]:
        """The durabilities that it can give, by name."""
        return tuple(self.durability(DEFAULT_REPLICATION_FACTOR))

    def why_not(self, durability: str) -> str:
        """Why it can't be run at a durability that it can't give."""
        return self.cannot.get(durability, "a variant of other systems that this one doesn't have")

    def why_empty(self, durability: str, workloads: Sequence[Workload]) -> str | None:
        """Why nothing of it runs at a durability: it can't give it, or can take none of the workloads. None = something does."""
        if durability not in self.levels:
            return self.why_not(durability)
        reasons = [self.cannot_load(durability, workload) for workload in workloads]
        return reasons[0] if reasons and all(reasons) else None

    def why_no_fault(self, do: str, role: str) -> str | None:
        """Why a fault can't be done to its processes of this role; None = it can."""
        reasons = (self.cannot_fault.get(key) for key in (f"{do} {role}", do, role))
        return next(filter(None, reasons), None)

    @property
    def client_files(self) -> tuple[str, ...]:
        """What client hosts get of it, relative to the checkout: its client module, and each `*_client.py` beside it."""
        folder = _CHECKOUT / self.client_module.rpartition(".")[0].replace(".", "/")
        own = {f"{self.client_module.rpartition('.')[2]}.py", *(file.name for file in folder.glob("*_client.py"))}
        return tuple(str((folder / name).relative_to(_CHECKOUT)) for name in sorted(own))

    @property
    def client(self) -> ClientModule:
        """The module that drives it, with its client library."""
        return cast(ClientModule, importlib.import_module(self.client_module))
