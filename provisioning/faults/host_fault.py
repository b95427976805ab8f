"""A fault on one host, seen from the operator's machine: armed ahead, done by a process on the host at its instant, undone with it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from provisioning.errors import HostError
from provisioning.hosts.agents import PYTHON
from provisioning.hosts.daemons import run_dir
from provisioning.hosts.host import Host, RemoteProcess, on_all

CHECKOUT = Path(__file__).parents[2]
# as packages, with the daemons' agent, whose pid files it reads
_SENT = (
    *("provisioning/__init__.py", "provisioning/hosts/__init__.py", "provisioning/hosts/daemon_agent.py"),
    "provisioning/faults/__init__.py",
)
_ON_HOST = "provisioning/faults/on_host"
ANSWER_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Effect:
    """What came of a fault on a host. Times are the host's, ns since the epoch; None = it didn't begin, or wasn't undone.

    `processes`: name -> pid. `problem`: why it didn't take effect or couldn't be undone; "" = it did, and was. `seen`: what showed it.
    """

    host: str
    processes: Mapping[str, int]
    began_ns: int | None = None
    ended_ns: int | None = None
    seen: str = ""
    problem: str = ""


class HostFault:
    """A fault that waits on a host for its instant. Closing it undoes what it did, and so does the end of its connection."""

    def __init__(self, host: Host, process: RemoteProcess) -> None:
        self._host, self._process = host, process
        self._lines = process.lines()
        self._effect = Effect(host.name, {})

    def await_armed(self, do: str) -> None:
        """Returns when it waits for its instant. Raises HostError where it can't be done there, or the connection is gone."""
        told = json.loads(next(self._lines, '{"event": "failed", "why": "it ended at once"}'))
        if told["event"] != "armed":
            self.close()
            raise HostError(self._host.name, f"it can't {do}: {told['why']}")

    def await_begun(self) -> Effect:
        """What it was done to, and when. Raises HostError where the connection is gone."""
        while self._effect.began_ns is None and not self._effect.problem:
            if not self._take_one():
                break
        return self._effect

    def await_over(self) -> Effect:
        """What came of it in the end. Raises HostError where the connection is gone."""
        while self._take_one():
            pass
        return self._effect

    def close(self) -> None:
        """Undoes it at once. Idempotent, never raises."""
        self._process.close()

    def _take_one(self) -> bool:
        """Takes in one event; False when the process has ended."""
        line = next(self._lines, None)
        if line is None:
            return False
        told = json.loads(line)
        event, effect = told.pop("event"), self._effect
        if event == "failed":
            problem = effect.problem or told["why"]
            self._effect = Effect(effect.host, effect.processes, effect.began_ns, effect.ended_ns, effect.seen, problem)
        elif event == "began":
            self._effect = Effect(effect.host, told["processes"], told["began_ns"], problem=effect.problem)
        elif event == "ended":
            self._effect = Effect(
                effect.host, effect.processes, effect.began_ns, told["ended_ns"], told["seen"], effect.problem
            )
        return True


def send(hosts: Sequence[Host]) -> None:
    """Puts on the hosts what does faults there. Raises HostsFailed."""
    on_all("sending what does faults", hosts, _send)


def arm(host: Host, do: str, at_ns: int, for_s: float | None, request: Mapping[str, Any]) -> HostFault:
    """Has a host wait until an instant of its clock to do a fault. `request`: what its kind needs (`on_host.kinds`).

    Call `send` before. Raises HostError where it can't be done there.
    """
    whole = {"verb": "do", "run_dir": run_dir(host), "do": do, "at_ns": at_ns, "for_s": for_s, **request}
    fault = HostFault(host, host.spawn(f"exec {_command(host, whole)}"))
    fault.await_armed(do)
    return fault


def heal(hosts: Sequence[Host]) -> None:
    """Undoes whatever faults left on the hosts: frozen processes, dropped packets, slow disks, control groups. Raises HostsFailed."""
    on_all("undoing faults", hosts, _heal)


def ask(host: Host, request: Mapping[str, Any]) -> Any:
    """An answer of what does faults on a host. Call `send` before. Raises HostError."""
    return json.loads(
        host.run(_command(host, {"run_dir": run_dir(host), **request}), timeout_s=ANSWER_TIMEOUT_S).stdout
    )


def _heal(host: Host) -> None:
    # most hosts never had a fault: one question by the shell alone tells
    if host.run(
        f"ls {shlex.quote(run_dir(host))}/faults/*.json {shlex.quote(run_dir(host))}/cgroup 2>/dev/null || true"
    ).stdout.strip():
        _send(host)
        ask(host, {"verb": "heal"})


def _folder(host: Host) -> str:
    return f"{host.record.root}/faults"


def _send(host: Host) -> None:
    for name in (*_SENT, *(f"{_ON_HOST}/{file.name}" for file in sorted((CHECKOUT / _ON_HOST).glob("*.py")))):
        host.put((CHECKOUT / name).read_bytes(), f"{_folder(host)}/{name}")


def _command(host: Host, request: Mapping[str, Any]) -> str:
    # not isolated as `PYTHON` is, which would keep it from its own folder
    python = PYTHON.replace("-IS", "-sSE")
    folder = shlex.quote(_folder(host))
    return f"env -C {folder} {python} -m provisioning.faults.on_host {shlex.quote(json.dumps(request))}"
