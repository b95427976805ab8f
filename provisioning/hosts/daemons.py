"""Long-running processes on hosts: start, watch, end.

Every verb is one command per host (`daemon_agent.py` over standard input). What runs is told by the pid files under `<root>/run`,
so that `stop_everything` ends whatever any system has started, also in another session.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from provisioning.errors import DeploymentError, HostError, HostsFailed
from provisioning.hosts.agents import ANSWER_TIMEOUT_S, ask
from provisioning.hosts.host import Host, on_all

AGENT = Path(__file__).with_name("daemon_agent.py").read_bytes()
GRACE_S = 20.0
KILL_WAIT_S = 20.0
AWAIT_SLICE_S = 5.0  # how late, at most, a host learns that a daemon of another host died
LOG_TAIL_CHARACTERS = 1200


@dataclass(frozen=True)
class Daemon:
    """A process to be started. `name` is unique on its host; daemons of a higher `tier` are stopped before lower ones.

    `niceness` (0 to 19): how far it gives way to what runs beside it. `out_of_memory`: a regular expression for a line of its log
    that tells of lack of memory, beside what the kernel and the C library write. `leaves`: files that it can't remove when it is
    killed; {pid} is its own.
    """

    name: str
    argv: tuple[str, ...]
    log_path: str
    env: Mapping[str, str] = field(default_factory=dict)
    tier: int = 0
    niceness: int = 0
    out_of_memory: str = ""
    leaves: tuple[str, ...] = ()


@dataclass(frozen=True)
class DaemonState:
    """A daemon as found now: `pid` None = it was started and doesn't run any more."""

    host: str
    daemon: str
    pid: int | None
    rss_peak_bytes: int | None
    out_of_memory: bool


@dataclass(frozen=True)
class Probe:
    """A sign of readiness, looked for on the daemon's own host: every string of `contains` is in what the target says.

    The target is a `url`, a file's `path`, or `address` and `port` (with `send`: what it answers; without: that it listens).
    """

    what: str
    contains: tuple[str, ...] = ()
    url: str = ""
    path: str = ""
    address: str = ""
    port: int = 0
    send: str = ""


def run_dir(host: Host) -> str:
    """Where the host's pid files are."""
    return f"{host.record.root}/run"


def start(host: Host, daemons: Sequence[Daemon]) -> dict[str, int]:
    """Starts daemons on one host, each in its own session: name -> pid. Raises DeploymentError if one runs already."""
    request = {"verb": "start", "run_dir": run_dir(host), "daemons": [asdict(daemon) for daemon in daemons]}
    answer = ask(host, AGENT, request)
    if "error" in answer:
        raise DeploymentError(
            f"{host.name}: can't start {', '.join(daemon.name for daemon in daemons)}: {answer['error']}",
            next_step="Stop what is running on the testbed first: `samebox down` and `samebox up`, or run the trial again.",
        )
    return dict(answer["pids"])


def states(host: Host) -> dict[str, DaemonState]:
    """Every daemon that was started on the host and not stopped: name -> what is found of it now."""
    answer = ask(host, AGENT, {"verb": "states", "run_dir": run_dir(host)})
    return {name: DaemonState(host.name, name, **found) for name, found in answer["daemons"].items()}


def expected_states(action: str, expected: Sequence[tuple[Host, str]]) -> tuple[DaemonState, ...]:
    """What became of the daemons that should be running, (host, name) each; all hosts are asked at once."""
    hosts = {host.name: host for host, _ in expected}
    found = on_all(action, list(hosts.values()), states)
    return tuple(found[host.name].get(name, DaemonState(host.name, name, None, None, False)) for host, name in expected)


def running(host: Host) -> dict[str, int]:
    """The daemons that run: name -> pid."""
    return {name: state.pid for name, state in states(host).items() if state.pid is not None}


def stop(
    host: Host, names: Sequence[str] | None = None, *, grace_s: float = GRACE_S, tier: int | None = None
) -> tuple[str, ...]:
    """Ends daemons (None = all, or all of one tier): SIGTERM, `grace_s`, SIGKILL, until gone. Returns those that had to be killed.

    Raises HostError if one is still there after SIGKILL.
    """
    chosen = {"names": None if names is None else list(names), "tier": tier}
    request = {"verb": "stop", "run_dir": run_dir(host), **chosen, "grace_s": grace_s, "kill_wait_s": KILL_WAIT_S}
    answer = ask(host, AGENT, request, timeout_s=grace_s + KILL_WAIT_S + ANSWER_TIMEOUT_S)
    if answer["left"]:
        left = ", ".join(f"{name} (pid {pid})" for name, pid in answer["left"].items())
        raise HostError(
            host.name,
            f"still running {KILL_WAIT_S:g} s after SIGKILL: {left}",
            next_step=f"Check the process on {host.name}; one in state D is waiting for its disk.",
        )
    return tuple(answer["killed"])


def stop_everything(hosts: Sequence[Host], *, grace_s: float = GRACE_S) -> dict[str, tuple[str, ...]]:
    """Ends every daemon of every system on the hosts, tier by tier from the highest: host -> those that had to be killed.

    A host that can't be reached doesn't keep the others' daemons alive: they are ended first, then HostsFailed is raised.
    """
    killed: dict[str, tuple[str, ...]] = {host.name: () for host in hosts}
    failures: dict[str, BaseException] = {}
    tiers = on_all("looking for daemons", hosts, _tiers, failures=failures)
    for tier in sorted({tier for found in tiers.values() for tier in found}, reverse=True):
        concerned = [host for host in hosts if tier in tiers.get(host.name, ()) and host.name not in failures]
        ending = partial(stop, tier=tier, grace_s=grace_s)
        for name, names in on_all("stopping daemons", concerned, ending, failures=failures).items():
            killed[name] += names
    if failures:
        raise HostsFailed("stopping daemons", failures)
    return killed


def kill_everything(hosts: Sequence[Host]) -> None:
    """Ends every daemon of every system on the hosts at once and ungently: for those whose data will be wiped, not read again.

    A host that can't be reached doesn't keep the others' daemons alive. Raises HostsFailed.
    """
    on_all("ending daemons", hosts, partial(stop, grace_s=0.0))


def _tiers(host: Host) -> set[int]:
    return set(ask(host, AGENT, {"verb": "tiers", "run_dir": run_dir(host)})["tiers"])


def await_ready(
    action: str,
    probes: Mapping[str, Sequence[Probe]],
    names: Mapping[str, Sequence[str]],
    hosts: Sequence[Host],
    *,
    limit_s: float,
) -> None:
    """Waits until every probe is met on its host (host name -> probes) while all `names` (host name -> daemons) live.

    Raises DeploymentError with host, daemon and the end of its log: at once when a daemon dies, and after `limit_s`.
    """
    deadline = time.monotonic() + limit_s
    pending: dict[str, list[Any]] = {host.name: [asdict(probe) for probe in probes[host.name]] for host in hosts}
    while True:
        slice_s = max(0.0, min(AWAIT_SLICE_S, deadline - time.monotonic()))
        answers = on_all(action, hosts, lambda host: _await_slice(host, pending[host.name], names[host.name], slice_s))  # noqa: B023
        died = {host: answer["died"] for host, answer in answers.items() if answer["died"]}
        if died:
            raise DeploymentError(f"{action}: " + "\n".join(_deaths(host, logs) for host, logs in died.items()))
        pending = {host: answer["pending"] for host, answer in answers.items()}
        if not any(pending.values()):
            return
        if time.monotonic() >= deadline:
            late = [_lateness(host, answer) for host, answer in answers.items() if answer["pending"]]
            raise DeploymentError(f"{action}: not ready after {limit_s:g} s.\n" + "\n".join(late))


def _await_slice(host: Host, probes: Sequence[Any], names: Sequence[str], slice_s: float) -> Any:
    request = {"run_dir": run_dir(host), "names": list(names), "probes": list(probes), "slice_s": slice_s}
    # a host whose probes are all met still answers for its daemons' lives
    timeout_s = slice_s + ANSWER_TIMEOUT_S + len(probes) * 5.0
    return ask(host, AGENT, {"verb": "await", **request}, timeout_s=timeout_s)


def _deaths(host: str, logs: Mapping[str, str]) -> str:
    return "\n".join(
        f"{host}: {name} died. The end of its log:\n{log[-LOG_TAIL_CHARACTERS:]}" for name, log in logs.items()
    )


def _lateness(host: str, answer: Mapping[str, Any]) -> str:
    lines = [f"{host}: waiting for {what}" for what in answer["waiting"]]
    lines += [f"{host}: the end of {name}'s log:\n{log[-LOG_TAIL_CHARACTERS:]}" for name, log in answer["logs"].items()]
    return "\n".join(lines)
