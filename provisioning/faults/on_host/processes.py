"""Kills and freezes daemons, by their pid files. A daemon leads a session of its own: its children share its fate."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from provisioning.faults.on_host.effect import NoEffect
from provisioning.hosts.daemon_agent import read_pid_files, signal_quietly, start_time

_EFFECT_WAIT_S = 2.0
_LOOK_EVERY_S = 0.001


class _OnDaemons:
    """What is done to the daemons `names` of a host."""

    def __init__(self, request: dict[str, Any]) -> None:
        self._names, self._run_dir = list(request["names"]), request["run_dir"]
        self._found: dict[str, dict[str, Any]] = {}
        self.to_undo: dict[str, Any] = {}

    def prepare(self) -> None:
        """Finds them. Raises NoEffect where one doesn't run."""
        known = read_pid_files(self._run_dir)
        missing = [name for name in self._names if not known.get(name, {}).get("alive")]
        if missing:
            raise NoEffect(f"not running: {', '.join(missing)}")
        self._found = {name: known[name] for name in self._names}
        # what `undo_noted` gets, before anything is done
        self.to_undo["frozen"] = [[each["pid"], each["started"]] for each in self._found.values()]

    def _send(self, number: signal.Signals, done: Callable[[str], bool], what: str) -> dict[str, int]:
        # looked up again: one that ended since may have left its number to another process
        gone = [name for name, each in self._found.items() if start_time(each["pid"]) != each["started"]]
        if gone:
            raise NoEffect(f"had ended by itself before: {', '.join(gone)}")
        for each in self._found.values():
            os.killpg(each["pid"], number)
        deadline = time.monotonic() + _EFFECT_WAIT_S
        while left := [name for name, each in self._found.items() if not done(_state(each) or "gone")]:
            if time.monotonic() > deadline:
                raise NoEffect(f"{_EFFECT_WAIT_S:g} s after the signal not {what}: {', '.join(left)}")
            time.sleep(_LOOK_EVERY_S)
        return {name: each["pid"] for name, each in self._found.items()}


class Kill(_OnDaemons):
    """SIGKILL; nothing here starts them again."""

    def begin(self) -> dict[str, int]:
        """See Kind."""
        self.to_undo["frozen"] = []
        killed = self._send(signal.SIGKILL, lambda state: state == "gone", "gone")
        for name, each in self._found.items():
            for path in each["leaves"]:
                Path(path.replace("{pid}", str(killed[name]))).unlink(missing_ok=True)
        return killed

    def undo(self) -> str:
        """See Kind."""
        return "gone"


class Freeze(_OnDaemons):
    """SIGSTOP, and SIGCONT at the end."""

    def begin(self) -> dict[str, int]:
        """See Kind."""
        return self._send(signal.SIGSTOP, lambda state: state == "T", "stopped")

    def undo(self) -> str:
        """See Kind. Raises NoEffect where one wasn't frozen any more: somebody else let it go on, or ended it."""
        states = {name: _state(each) for name, each in self._found.items()}
        undo_noted(self.to_undo)
        early = [name for name, state in states.items() if state != "T"]
        if early:
            raise NoEffect(f"not frozen to the end: {', '.join(early)}")
        return "stopped to the end"


def undo_noted(noted: Mapping[str, Any]) -> None:
    """Lets frozen processes go on; one that has ended, or whose number another has got, is left alone."""
    for pid, started in noted["frozen"]:
        if start_time(pid) == started:
            signal_quietly(os.killpg, pid, signal.SIGCONT)


def _state(daemon: Mapping[str, Any]) -> str | None:
    """The state of a process, a letter as in /proc/PID/stat; None = it is gone."""
    if start_time(daemon["pid"]) != daemon["started"]:
        return None
    try:
        return Path(f"/proc/{daemon['pid']}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return None
