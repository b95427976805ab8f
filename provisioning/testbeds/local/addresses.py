"""Which loopback addresses a local testbed takes: the first free block 127.0.X.0/24. Only the bind of sshd reserves one."""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from provisioning.errors import MissingRequirement
from provisioning.hosts.inventory import Role
from provisioning.testbeds.local.processes import holder_of, program_of

SSH_PORT = 2222
FIRST_HOST = 11
BLOCKS = range(256)
_LISTEN = "0A"


@dataclass(frozen=True)
class Slot:
    """A host to be: its name, role and address."""

    name: str
    role: Role
    address: str


def free_blocks(roles: Sequence[tuple[str, Role]], broker_ports: Sequence[int]) -> Iterator[tuple[Slot, ...]]:
    """The blocks whose needed ports are all free now, with `roles` (name, role) laid out in them from .11 upwards.

    `broker_ports`: where what may run on a broker or metadata host listens.

    Raises MissingRequirement when something listens on a needed port on all addresses, or when no block is left.
    """
    needed = {role: (SSH_PORT,) if role == "client" else (SSH_PORT, *broker_ports) for _, role in roles}
    _refuse_wildcard_listeners({port for ports in needed.values() for port in ports})
    busy: list[str] = []
    for block in BLOCKS:
        slots = tuple(
            Slot(name, role, f"127.0.{block}.{FIRST_HOST + position}") for position, (name, role) in enumerate(roles)
        )
        taken = next((at for slot in slots for at in _taken(slot, needed[slot.role])), None)
        if taken is None:
            yield slots
        else:
            busy.append(taken)
    raise MissingRequirement(
        f"no block of loopback addresses 127.0.X.0/24 is free; in use are {', '.join(busy[:8])}"
        f"{', ...' if len(busy) > 8 else ''}.",
        next_step="Stop what listens there (ss -ltnp), or run `samebox down` in checkouts that no longer need their testbed.",
    )


def _taken(slot: Slot, ports: Sequence[int]) -> Iterator[str]:
    """The ports of the slot that can't be bound now."""
    for port in ports:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((slot.address, port))
            except OSError as error:
                if error.errno == errno.EADDRNOTAVAIL:
                    raise MissingRequirement(
                        f"this machine has no loopback address {slot.address}: the local testbed needs Linux, where all "
                        "of 127.0.0.0/8 is local."
                    ) from None
                yield f"{slot.address}:{port}"


def _refuse_wildcard_listeners(ports: set[int]) -> None:
    """A listener on all addresses makes its port useless in every block: say so, rather than try them all."""
    for table, wildcard, shown in (("tcp", "0" * 8, "0.0.0.0"), ("tcp6", "0" * 32, "[::]")):
        for line in _table(table):
            fields = line.split()
            address, _, hexadecimal = fields[1].rpartition(":")
            port = int(hexadecimal, 16)
            if fields[3] == _LISTEN and address == wildcard and port in ports:
                pid = holder_of(fields[9])
                who = f"process {pid} ({program_of(pid) or '?'})" if pid else "a process that can't be read from here"
                raise MissingRequirement(
                    f"port {port} is needed on the local hosts, but {who} listens on {shown}:{port}.",
                    next_step=f"End it or let it listen on 127.0.0.1 only (to see it: ss -ltnp 'sport = {port}').",
                )


def _table(name: str) -> list[str]:
    try:
        return Path(f"/proc/net/{name}").read_text().splitlines()[1:]
    except OSError:
        return []  # no IPv6, or no /proc: binding still tells
