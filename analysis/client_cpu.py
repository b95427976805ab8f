"""How much CPU the load generator's own processes took for each contestant: its client library is part of it, and differs by system.

Where clients run beside brokers, what they take the brokers do without.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from analysis.comparison import Cell, Exclusion
from analysis.evidence import Evidence
from analysis.metrics import client_cpu_us

SHARE_THAT_MATTERS = 0.05  # of the CPUs of a machine with clients and brokers, between two contestants


@dataclass(frozen=True)
class ClientCpu:
    """One contestant in one cell: medians over its trials.

    `us_per_message`: CPU time of all workers per message they recorded, sent or received. `cores`: what they used over the measure
    phase, of `shared_cpus`, the CPUs of the machines that also run brokers; None = no machine runs both.
    """

    workload: str
    level: int
    contestant: str
    trials: int
    us_per_message: float
    cores: float
    shared_cpus: float | None


def client_cpus(trials: Sequence[Evidence], excluded: Sequence[Exclusion]) -> list[ClientCpu]:
    """Of every cell and contestant, by its trials that are compared and whose workers all reported their CPU time."""
    found: dict[tuple[Cell, str], list[tuple[float, float, float | None]]] = {}
    left_out = {each.trial for each in excluded}
    for evidence in (each for each in trials if each.trial.name not in left_out and not each.trial.is_aa):
        used, us_per_message = _cores(evidence), client_cpu_us(evidence)
        if used is not None and us_per_message is not None:
            key = (evidence.trial.cell, evidence.trial.contestant)
            found.setdefault(key, []).append((us_per_message, used, _shared_cpus(evidence)))
    return [
        ClientCpu(
            *cell,
            contestant,
            len(own),
            median(us for us, _, _ in own),
            median(cores for _, cores, _ in own),
            min((shared for _, _, shared in own if shared is not None), default=None),
        )
        for (cell, contestant), own in sorted(found.items())
    ]


def client_cpu_warnings(found: Sequence[ClientCpu]) -> Iterator[str]:
    """Per cell, if clients share machines with brokers and took notably more for one contestant than for another."""
    for cell in dict.fromkeys((each.workload, each.level) for each in found):
        own = [each for each in found if (each.workload, each.level) == cell and each.shared_cpus]
        if not own:
            continue
        most, least = (pick(own, key=lambda each: each.cores) for pick in (max, min))
        more = (most.cores - least.cores) / min(each.shared_cpus or 0.0 for each in own)
        if more > SHARE_THAT_MATTERS:
            yield (
                f"Workload {cell[0]}, durability level {cell[1]}: clients and brokers share {most.shared_cpus:g} CPUs, of which the "
                f"clients took {_took(most)} and {_took(least)}: {more:.0%} that {most.contestant}'s brokers had to do without."
            )


def _took(own: ClientCpu) -> str:
    return f"{own.cores:.2f} for {own.contestant} ({own.us_per_message:.1f} us a message)"


def _cores(evidence: Evidence) -> float | None:
    """Used by all workers in the measure phase; None if one of them didn't tell."""
    workers = evidence.trial.document["observations"].get("workers") or []
    measured = [worker.get("measured") for worker in workers]
    if not measured or not all(measured):
        return None
    return sum(float(each["cpu_user_s"] + each["cpu_system_s"]) / float(each["seconds"]) for each in measured)


def _shared_cpus(evidence: Evidence) -> float | None:
    """CPUs of the machines that run workers and brokers, each machine counted once; None if there is none, or it didn't tell."""
    roles = {host["name"]: host["role"] for host in evidence.trial.document["hosts"]}
    cpus: dict[frozenset[str], float] = {}
    for use in evidence.machines:
        hosts = frozenset(evidence.trial.hosts_beside(use.host))
        if use.cpus is not None and {"client", "broker"} <= {roles[name] for name in hosts}:
            cpus[hosts] = use.cpus
    return sum(cpus.values()) if cpus else None
