"""Did the load generator and the machines leave the systems alone? Rules about the clients' share in what was measured, and others'.

Machines that only run brokers may be as busy as their system makes them: that is a result. What runs clients must have time for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analysis.evidence import Evidence, Finding, MachineUse, Missing, measured_cores
from analysis.formatting import quantity
from analysis.records.latencies import CLIENT_DELAY, SEND_DELAY

_MS = 1e6  # nanoseconds
_P99 = 990_000
Bounds = Mapping[str, Any]


def send_delay(evidence: Evidence, bounds: Bounds) -> Finding:
    """The load generator kept its own schedule, but for the messages that the system held, each only as long as it did.

    Judging the whole delay would exclude just those trials in which a system falls behind.
    """
    own, whole = evidence.percentile(CLIENT_DELAY, _P99), evidence.percentile(SEND_DELAY, _P99)
    if own is None or own.value_ns is None:
        missing = "The measure phase has too few sent messages for a p99 of the send delay."
        return evidence.unobserved(missing, before="enough was sent for a p99 of the send delay")
    own_ms, bound = own.value_ns / _MS, float(bounds["p99_ms"])
    figures = {"client_p99_ms": own_ms, "bound_ms": bound, "samples": own.samples}
    sentence = (
        f"The client's own part of the send delay was {quantity(own_ms, 'ms')} at p99; the bound is {bound:g} ms."
    )
    if whole is not None and whole.value_ns is not None:
        figures["p99_ms"] = whole.value_ns / _MS
        sentence += f" With what a full in-flight window (the system) added, the p99 was {quantity(whole.value_ns / _MS, 'ms')}."
    return Finding(own_ms <= bound, sentence, figures)


def possible_times(evidence: Evidence, _bounds: Bounds) -> Finding:
    """Nothing was sent or acknowledged before its turn."""
    impossible, scheduled = evidence.counts.impossible_times, evidence.counts.scheduled
    if impossible:
        sentence = (
            f"{impossible:,} of {scheduled:,} messages were sent or acknowledged before their turn: a record is wrong."
        )
        return Finding(False, sentence, {"impossible": impossible})
    return Finding(True, f"None of {scheduled:,} messages was sent or acknowledged before its turn.", {"impossible": 0})


def client_cpu(evidence: Evidence, bounds: Bounds) -> Finding:
    """In the measure phase no worker was short of CPU (each has one core's worth of Python), nor was a machine that runs workers."""
    workers = evidence.observation("workers")
    if not workers:
        raise Missing("No worker reported its CPU time.")
    shares = {worker["worker"]: share for worker in workers if (share := _share_of_core(worker)) is not None}
    silent = [worker["worker"] for worker in workers if worker["worker"] not in shares]
    if silent and (not shares or not evidence.ended_by_the_system()):
        missing = f"No CPU time was reported by {', '.join(silent)}."
        return evidence.unobserved(missing, before="any worker could report its CPU time")
    name, worst = max(shares.items(), key=lambda item: item[1])
    bound = float(bounds["share_of_core"])
    over = "of the measure phase" if all("measured" in worker for worker in workers) else "of the whole load"
    sentence = f"The busiest worker ({name}) used {worst:.0%} of a core {over}; the bound is {bound:.0%}."
    passed, figures = worst <= bound, {"shares_of_core": shares, "bound": bound}
    if "share_of_host" in bounds:
        hosts, host_bound = _busy_shares(evidence), float(bounds["share_of_host"])
        if not hosts and not evidence.ended_by_the_system():
            raise Missing("No CPU telemetry of a machine with workers was recorded in the measure phase.")
        figures |= {"shares_of_host": hosts, "host_bound": host_bound}
        if hosts:
            host, busiest = max(hosts.items(), key=lambda item: item[1])
            passed = passed and busiest <= host_bound
            sentence += (
                f" Machines with workers were at most {busiest:.0%} busy ({host}); the bound is {host_bound:.0%}."
            )
    return Finding(passed, sentence, figures)


def foreign_load(evidence: Evidence, bounds: Bounds) -> Finding:
    """Processes that are neither the system's nor the load generator's left the CPUs alone.

    In user mode: what the kernel does for a trial (interrupts, write-back) is accounted to none of its processes.
    """
    machines = {use.host: use.user_cores for use in evidence.machines if use.user_cores is not None}
    if not machines:
        return evidence.unobserved("No CPU telemetry was recorded in the measure phase.")
    foreign = {host: max(0.0, cores - _own_user_cores(evidence, host)) for host, cores in machines.items()}
    host, worst = max(foreign.items(), key=lambda item: item[1])
    bound = float(bounds["cores"])
    anew = evidence.daemons_begun_anew()
    if worst > bound and anew:
        sentence = f"Not judged: what {', '.join(anew)} used, which faults ended, isn't known, and may be in these {worst:.2f} cores."
        return Finding(True, sentence, {"foreign_cores": foreign, "bound": bound, "unknown": anew})
    sentence = (
        f"Other processes used {worst:.2f} cores{_of(evidence, host)}, beside {machines[host] - worst:.2f} of the trial's own "
        f"processes ({host}, user mode, measure phase); the bound is {bound:g}."
    )
    return Finding(worst <= bound, sentence, {"foreign_cores": foreign, "bound": bound})


def cpu_pressure(evidence: Evidence, bounds: Bounds) -> Finding:
    """Where workers run, no task had to wait for a CPU for long; told by the kernel's pressure, else by its run queue."""
    machines = [use for use in evidence.machines if use.host in _machines_with_workers(evidence)]
    waiting = {use.host: use.cpu_waiting_share for use in machines if use.cpu_waiting_share is not None}
    queued = {use.host: use.run_queue / use.cpus for use in machines if use.run_queue is not None and use.cpus}
    if waiting:
        host, worst = max(waiting.items(), key=lambda item: item[1])
        bound = float(bounds["waiting_share"])
        sentence = f"Tasks waited for a CPU in {worst:.0%} of the measure phase ({host}"
        sentence += f", {_busy_shares(evidence)[host]:.0%} busy" if host in _busy_shares(evidence) else ""
        sentence += f", {queued[host]:.1f} tasks for each CPU" if host in queued else ""
        sentence += f"); the bound is {bound:.0%}."
        return Finding(worst <= bound, sentence, {"waiting_shares": waiting, "bound": bound})
    if queued:
        host, worst = max(queued.items(), key=lambda item: item[1])
        bound = float(bounds["tasks_per_cpu"])
        sentence = f"{worst:.1f} tasks were running or waiting for each CPU ({host}, which tells no pressure); the bound is {bound:g}."
        return Finding(worst <= bound, sentence, {"tasks_per_cpu": queued, "bound": bound})
    return evidence.unobserved("No telemetry of a machine with workers was recorded in the measure phase.")


def _share_of_core(worker: Mapping[str, Any]) -> float | None:
    """Of one core, over the measure phase; records of earlier versions have only the whole load. None = it didn't tell."""
    if "measured" in worker:
        return measured_cores(worker)
    is_told = worker["cpu_s"] is not None and worker["wall_s"]
    return float(worker["cpu_s"]) / float(worker["wall_s"]) if is_told else None


def _machines_with_workers(evidence: Evidence) -> set[str]:
    """The hosts under whose names machines with client hosts are recorded."""
    clients = [host["name"] for host in evidence.trial.document["hosts"] if host["role"] == "client"]
    return {use.host for use in evidence.machines if set(clients) & evidence.trial.hosts_beside(use.host)}


def _busy_shares(evidence: Evidence) -> dict[str, float]:
    """Of the CPUs of each machine with workers; waiting for a disk is not busy."""
    with_workers = _machines_with_workers(evidence)
    return {use.host: _busy(use) for use in evidence.machines if use.host in with_workers and use.cpu_shares}


def _busy(use: MachineUse) -> float:
    return 1.0 - use.cpu_shares.get("idle", 0.0) - use.cpu_shares.get("iowait", 0.0)


def _own_user_cores(evidence: Evidence, machine: str) -> float:
    """What the trial's daemons and workers on a machine used. Raises Missing if one of them didn't tell."""
    hosts = evidence.trial.hosts_beside(machine)
    daemons = [use for use in evidence.daemons if use.host in hosts]
    workers = [worker for worker in evidence.observation("workers") if worker.get("host") in hosts]
    # one that ended before the measure phase used nothing in it: that it did is an outcome, and no lack of a measurement
    ended = evidence.daemons_ended()
    untold = [f"{use.daemon} on {use.host}" for use in daemons if use.user_cores is None]
    silent = [name for name in untold if name not in ended and name not in evidence.daemons_begun_anew()]
    if not evidence.ended_by_the_system():
        silent += [worker["worker"] for worker in workers if not worker.get("measured")]
    if silent:
        raise Missing(f"The CPU time of {', '.join(silent)} in the measure phase was not recorded.")
    measured = [worker["measured"] for worker in workers if worker.get("measured")]
    own = sum(use.user_cores or 0.0 for use in daemons)
    return own + sum(float(one["cpu_user_s"]) / float(one["seconds"]) for one in measured)


def _of(evidence: Evidence, machine: str) -> str:
    cpus = next((use.cpus for use in evidence.machines if use.host == machine), None)
    return f" of {cpus:.0f}" if cpus else ""
