"""What a host is: CPU, memory, kernel, clock source, boot id, disks, Python. Reads only, one round trip per host.

One shell command prints labelled sections; a pure parser turns them into `Facts`. What a host doesn't tell is None, never a guess.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from provisioning.errors import HostError
from provisioning.hosts.host import Host, on_all

_SECTIONS = {
    "lscpu": "LC_ALL=C lscpu",
    "memory": "grep MemTotal: /proc/meminfo",
    "kernel": "uname -r",
    "os": "cat /etc/os-release",
    "clock_source": "cat /sys/devices/system/clocksource/clocksource0/current_clocksource",
    "boot_id": "cat /proc/sys/kernel/random/boot_id",
    "lsblk": "lsblk --json --bytes --nodeps --output NAME,TYPE,SIZE,MODEL,ROTA",
    "python": "python3 --version",
    "load": "cat /proc/loadavg",
}
_MARK = "==samebox "
FACTS_COMMAND = (
    " ; ".join(f"echo '{_MARK}{name}'; {{ {command}; }} 2>/dev/null" for name, command in _SECTIONS.items()) + " ; true"
)


@dataclass(frozen=True)
class Disk:
    """One whole disk (no partitions, no loop devices)."""

    name: str
    model: str | None
    size_bytes: int
    rotational: bool | None


@dataclass(frozen=True)
class Facts:
    """One host's facts. Hosts with the same `boot_id` are the same machine."""

    cpu_model: str | None
    cpus: int | None
    memory_bytes: int | None
    kernel: str
    os: str | None
    clock_source: str | None
    boot_id: str
    disks: tuple[Disk, ...]
    python3: str | None
    load_1min: float | None


def read_facts(hosts: Sequence[Host]) -> dict[str, Facts]:
    """Host name -> facts, all hosts at once. Raises HostsFailed."""
    return on_all("reading facts", hosts, _read)


def boot_ids(hosts: Sequence[Host]) -> dict[str, str]:
    """Host name -> boot id: which hosts are one machine, and whether one was restarted since."""
    return on_all("reading boot ids", hosts, lambda host: host.run(_SECTIONS["boot_id"]).stdout.strip())


def parse_facts(text: str) -> Facts:
    """The output of FACTS_COMMAND as facts. Raises ValueError when kernel or boot id are missing."""
    parts = dict.fromkeys(_SECTIONS, "")
    for section in text.split(_MARK)[1:]:
        name, _, body = section.partition("\n")
        parts[name.strip()] = body.strip()
    if not parts["kernel"] or not parts["boot_id"]:
        raise ValueError("kernel or boot id is missing")
    cpus = _found(r"^CPU\(s\):\s*(\d+)", parts["lscpu"])
    memory_kib = _found(r"MemTotal:\s*(\d+) kB", parts["memory"])
    load = _found(r"^([\d.]+) ", parts["load"])
    return Facts(
        cpu_model=_found(r"^Model name:\s*(.+)$", parts["lscpu"]),
        cpus=int(cpus) if cpus else None,
        memory_bytes=int(memory_kib) * 1024 if memory_kib else None,
        kernel=parts["kernel"],
        os=_found(r'^PRETTY_NAME="?([^"\n]+)', parts["os"]),
        clock_source=parts["clock_source"] or None,
        boot_id=parts["boot_id"],
        disks=parse_disks(parts["lsblk"]),
        python3=_found(r"Python (\S+)", parts["python"]),
        load_1min=float(load) if load else None,
    )


def parse_disks(lsblk: str) -> tuple[Disk, ...]:
    """Whole disks of a size from `lsblk --json --bytes`; old versions print numbers and booleans as text."""
    return tuple(
        Disk(
            device["name"], (device.get("model") or "").strip() or None, int(device["size"]), _spins(device.get("rota"))
        )
        for device in (json.loads(lsblk)["blockdevices"] if lsblk else ())
        if device["type"] == "disk" and int(device["size"] or 0)
    )


def _spins(rota: object) -> bool | None:
    return None if rota is None else str(rota).lower() in ("1", "true")


def _read(host: Host) -> Facts:
    text = host.run(FACTS_COMMAND).stdout
    try:
        return parse_facts(text)
    except (ValueError, KeyError) as error:
        raise HostError(host.name, f"its facts can't be read ({error}) from: {text[-400:]}") from None


def _found(pattern: str, text: str) -> str | None:
    found = re.search(pattern, text, re.MULTILINE)
    return found.group(1).strip() if found else None
