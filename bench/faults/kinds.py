"""What each kind of fault does, from its instant until the system is back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from shlex import quote
from typing import Any

from bench.faults.injection import Injection
from bench.faults.note import Hit
from contract.fault import Action
from provisioning.faults.host_fault import Effect, arm
from provisioning.hosts import daemons
from provisioning.hosts.host import Host, on_all
from systems.processes import Process

STOP_GRACE_S = 120.0  # a rolling restart waits for an orderly end


def kill(injection: Injection, held: ExitStack) -> None:
    """Killed; started again on its data after `for_s`, if there is one."""
    _strike(injection, held, lasts=False)
    for_s = injection.fault.for_s
    began_ns = [hit.began_ns for hit in injection.note.hits if hit.began_ns is not None]
    if for_s is not None and began_ns and injection.await_until(min(began_ns) + round(for_s * 1e9)):
        _start_again(injection, injection.targets, injection.note.hits)
        injection.await_back()


def last(injection: Injection, held: ExitStack) -> None:
    """Frozen, cut off or slowed down for `for_s`."""
    _strike(injection, held, lasts=True)
    injection.await_back()


def restart(injection: Injection, held: ExitStack) -> None:
    """Every broker host in turn: its processes end in good order and are started again; the next one when nothing lacks a copy."""
    del held
    if not injection.await_until(injection.note.planned_ns):
        return
    for host, _ in injection.by_host(injection.targets):
        own = [each for each in injection.deployment.processes if each.host.name == host.name]
        hits = [injection.hit(each) for each in own]
        before = daemons.running(host)
        began_ns = injection.now_ns()
        killed = daemons.stop(host, [each.daemon for each in own], grace_s=STOP_GRACE_S)
        for hit in hits:
            hit.pid, hit.began_ns = before.get(hit.daemon or ""), began_ns
        if killed:
            injection.note.fails(f"{host.name}: {', '.join(killed)} had to be killed after {STOP_GRACE_S:g} s")
        _start_again(injection, own, hits)
        injection.note.back_ns = None
        injection.await_back()
        if injection.note.back_ns is None:
            return  # the load is over


def replace(injection: Injection, held: ExitStack) -> None:
    """Killed, its data removed, started again at once."""
    _strike(injection, held, lasts=False)
    for process in injection.targets:
        _empty(process, injection.deployment.data_of(process))
    _start_again(injection, injection.targets, injection.note.hits)
    injection.await_back()


KINDS: Mapping[Action, Callable[[Injection, ExitStack], None]] = {
    "kill": kill,
    "freeze": last,
    "cut": last,
    "slow-disk": last,
    "restart": restart,
    "replace": replace,
}


def _strike(injection: Injection, held: ExitStack, *, lasts: bool) -> None:
    """Has the targets' hosts do it at its instant, and notes what came of it, when it is undone where it `lasts`."""
    fault, note = injection.fault, injection.note
    do = "kill" if fault.do == "replace" else fault.do
    struck = injection.by_host(injection.targets)
    armed = {}
    for host, processes in struck:
        request = _request(injection, host, processes)
        armed[host.name] = arm(host, do, note.planned_ns, fault.for_s if lasts else None, request)
        held.callback(armed[host.name].close)
    hosts, hits = [host for host, _ in struck], {}
    for name, effect in on_all(fault.do, hosts, lambda host: armed[host.name].await_begun()).items():
        hits[name] = _noted(injection, name, effect)
    for name, effect in on_all(f"the end of {fault.do}", hosts, lambda host: armed[host.name].await_over()).items():
        note.seen[name] = effect.seen
        for hit in hits[name]:
            hit.ended_ns = effect.ended_ns if lasts else None
        if effect.problem:
            note.fails(f"{name}: {effect.problem}")


def _noted(injection: Injection, host: str, effect: Effect) -> Sequence[Hit]:
    """The hits on a host: its processes, or the host itself where packets are dropped."""
    hits = [Hit(host, daemon, pid, effect.began_ns) for daemon, pid in effect.processes.items()]
    hits = hits or [Hit(host, began_ns=effect.began_ns)]
    if effect.began_ns is not None:
        injection.note.hits += hits
    return hits


def _request(injection: Injection, host: Host, processes: Sequence[Process]) -> dict[str, Any]:
    """What a host needs to know to do it."""
    fault, data_dirs = injection.fault, host.record.data_dirs
    if fault.do != "cut":
        names = [each.daemon for each in processes]
        return {"names": names, "writes_per_s": fault.writes_per_s, "directory": data_dirs[0].path if data_dirs else ""}
    others = [each for each in injection.hosts if each.record.role != "client" and each.name != host.name]
    clients = [each for each in injection.hosts if each.record.role == "client"]
    chosen = {"brokers": others, "clients": clients, "all": [*others, *clients]}[fault.peers]
    ends = {each.name: _end_of(each, injection.groups) for each in injection.hosts}
    peers = list({str(ends[each.name]): ends[each.name] for each in chosen}.values())
    return {
        "direction": fault.direction,
        "target": ends[host.name],
        "peers": peers,
        "others": [ends[each.name] for each in others],
    }


def _end_of(host: Host, groups: Mapping[str, str]) -> dict[str, Any]:
    """How packets of a host are told from others'."""
    if not groups:
        return {"addresses": [host.record.address]}
    return {"cgroup": groups[host.name]} if host.name in groups else {}


def _start_again(injection: Injection, processes: Sequence[Process], hits: Sequence[Hit]) -> None:
    """Starts what has ended, the lower tiers first as the deployment lists them, all hosts at once."""
    started_ns: dict[tuple[str, str], int] = {}

    of_host = {host.name: own for host, own in injection.by_host(processes)}

    def start(host: Host) -> None:
        for process in of_host[host.name]:
            started_ns[host.name, process.daemon] = injection.now_ns()
            injection.deployment.start_again(process)

    on_all("starting again", [own[0].host for own in of_host.values()], start)
    for hit in hits:
        hit.ended_ns = started_ns.get((hit.host, hit.daemon or ""))


def _empty(process: Process, directories: Sequence[str]) -> None:
    """Empties what a process keeps on its disk; the directories themselves stay, they may be disks of their own."""
    for directory in directories:
        process.host.run(f"test ! -d {quote(directory)} || find {quote(directory)} -mindepth 1 -delete")
