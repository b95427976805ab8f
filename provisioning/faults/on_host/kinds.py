"""What can be done on a host: each a `Kind`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from provisioning.faults.on_host import cut, processes, slow_disk


class Kind(Protocol):
    """A fault of one kind on this host."""

    to_undo: dict[str, Any]  # all that `undo_noted` of its module needs, known once it is prepared

    def prepare(self) -> None:
        """What can be done ahead of the instant, without any effect. Raises NoEffect."""

    def begin(self) -> dict[str, int]:
        """Does it; returns when it has taken effect: process name -> pid. Raises NoEffect, OSError."""

    def undo(self) -> str:
        """Undoes it, also if it began in part; what showed that it had an effect. Raises NoEffect, OSError."""


KINDS: Mapping[str, Callable[[dict[str, Any]], Kind]] = {
    "kill": processes.Kill,
    "freeze": processes.Freeze,
    "cut": cut.Cut,
    "slow-disk": slow_disk.SlowDisk,
}
