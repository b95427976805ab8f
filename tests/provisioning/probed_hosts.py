"""Scripted hosts that answer the probes of vetting, and a cloud that replaces them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from provisioning.errors import Completed
from provisioning.hosts.disk_checks import archive
from provisioning.hosts.host import ScriptedHost
from provisioning.hosts.inventory import DataDir, HostRecord, Inventory, Role, SshAddress, TestbedRecord
from provisioning.vetting import Vetting, load_thresholds, vet_and_replace

KIT = load_thresholds()
_UNHURRIED = {**KIT.profiles, "small": replace(KIT.profiles["small"], spread_s=7.0)}
SMALL = replace(KIT, profiles=_UNHURRIED).probing_by("small", where="a test")
GOOD, BAD = 1_000_000_000, 700_000_000


def record(name: str, generation: int = 1, role: Role = "broker") -> HostRecord:
    """A broker host of an instance type without a preset."""
    return HostRecord(
        name=name,
        role=role,
        ssh=SshAddress("127.0.0.1", 22, "samebox", "ssh-ed25519 AAAA"),
        address="127.0.0.1",
        root="/srv/samebox",
        data_dirs=(DataDir("/data/1", "/dev/nvme1n1", "/data", owned=True),),
        instance_id=f"i-{name}-{generation}",
        instance_type="x9.large",
        generation=generation,
    )


@dataclass
class ProbedHost(ScriptedHost):
    """Answers disk-checks as a host whose disk writes `write` bytes/s; anything else is unscripted."""

    write: int = GOOD
    machine: str = ""
    closed: bool = False
    probed: list[str] = field(default_factory=list)
    flush_ns: list[int] = field(default_factory=lambda: [50_000] * 1000)

    def run(
        self, command: str, *, timeout_s: float = 60.0, check: bool = True, stdin: bytes | None = None
    ) -> Completed:
        words = shlex.split(command)
        program, probe = words[:3], words[3:]
        if program == ["python3", "-IS", "/srv/samebox/tools/disk-checks.pyz"]:
            assert self.files[program[-1]] == archive(), "probes must be pushed before they are run"
            self.probed.append(probe[0])
            self.answers[command] = json.dumps(self._answer(probe[0], probe[1:]))
        return super().run(command, timeout_s=timeout_s, check=check, stdin=stdin)

    def _answer(self, probe: str, arguments: list[str]) -> dict[str, Any]:
        facts = {
            "boot_id": self.machine or f"boot-{self.record.instance_id}",
            "device_number": "259:1",
            "disk": "nvme1n1",
            "device": "/dev/nvme1n1",
            "rotational": False,
            "write_cache": "write through",
        }
        answers: dict[str, dict[str, Any]] = {
            "device": {"devices": [facts for _ in arguments]},
            "idle": {"busy_share": 0.0},
            "throughput": {"write": {"bytes_per_s": self.write}, "read": {"bytes_per_s": self.write}},
            "fsync": {"samples_ns": self.flush_ns},
        }
        return answers[probe]

    def close(self) -> None:
        self.closed = True


class Cloud:
    """A testbed whose machines write what `machines` says, per name the next one with each replacement."""

    def __init__(self, machines: dict[str, list[int]]) -> None:
        self.machines = machines
        self.generations = dict.fromkeys(machines, 1)
        self.replaced: list[tuple[str, ...]] = []

    def replace(self, names: Sequence[str]) -> Inventory:
        """The next machine behind each name."""
        self.replaced.append(tuple(names))
        for name in names:
            self.generations[name] += 1
        return self.inventory()

    def inventory(self) -> Inventory:
        """The hosts as they are now."""
        hosts = tuple(record(name, generation) for name, generation in self.generations.items())
        return Inventory(1, TestbedRecord("test", "test"), "", None, "", hosts)

    def connect(self, inventory: Inventory) -> list[ProbedHost]:
        """Hosts of the inventory, not probed yet."""
        return [ProbedHost(host, write=self.machines[host.name][host.generation - 1]) for host in inventory.hosts]

    def vet(self, max_replacements: int) -> tuple[Vetting, Sequence[Any]]:
        """Vets and replaces without waiting."""
        return vet_and_replace(
            self.replace,
            self.connect(self.inventory()),
            self.connect,
            SMALL,
            max_replacements=max_replacements,
            progress=lambda *_: None,
            sleep=lambda _: None,
        )
