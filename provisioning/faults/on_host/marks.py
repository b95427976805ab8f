"""Which faults wait for their instant or aren't undone yet on this host: a file each in its `run/faults`, written before it is done."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from provisioning.faults.on_host import cut, processes, slow_disk
from provisioning.hosts.daemon_agent import signal_quietly, start_time, wait_gone

# to be undone by the note alone, by another process than the one that did it
_UNDO: Mapping[str, Callable[[Mapping[str, Any]], None]] = {
    "kill": processes.undo_noted,
    "freeze": processes.undo_noted,
    "cut": cut.undo_noted,
    "slow-disk": slow_disk.undo_noted,
}


_LEAVE_S = 5.0  # what undoing may take


@contextlib.contextmanager
def mark_of(run_dir: Path, do: str, to_undo: Mapping[str, Any]) -> Iterator[None]:
    """Notes a fault for as long as it is to come or isn't undone."""
    folder = run_dir / "faults"
    folder.mkdir(parents=True, exist_ok=True)
    mark = folder / f"{os.getpid()}.json"
    aside = mark.with_suffix(".new")
    aside.write_text(json.dumps({"do": do, "pid": os.getpid(), "started": start_time(os.getpid()), "to_undo": to_undo}))
    aside.rename(mark)
    yield
    # kept where undoing raised: then the next who heals tries again
    mark.unlink(missing_ok=True)


def heal(run_dir: Path) -> list[str]:
    """Ends whatever is noted here, and undoes it, also where it was undone already; what it was. Raises OSError, NoEffect."""
    healed = []
    for mark in sorted((run_dir / "faults").glob("*.json")):
        try:
            noted = json.loads(mark.read_text())
        except FileNotFoundError:  # it has ended by itself meanwhile
            continue
        _end(noted)
        _UNDO[noted["do"]](noted["to_undo"])
        mark.unlink(missing_ok=True)
        healed.append(noted["do"])
    return healed


def _end(agent: Mapping[str, Any]) -> None:
    """Ends the process that does a fault, which undoes it if it can."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if start_time(agent["pid"]) == agent["started"]:
            signal_quietly(os.kill, agent["pid"], number)
            wait_gone({"agent": dict(agent)}, _LEAVE_S)
