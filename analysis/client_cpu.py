"""How much CPU the load generator's own processes took for each contestant: its client library is part of it, and differs by system.

Where clients run beside brokers, what they take the brokers do without.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from analysis.comparison import Cell, Exclusion, compared_trials
from analysis.evidence import Evidence, measured_cores
from analysis.metrics import CLIENT_CPU, Measurement

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


def client_cpus(
    trials: Sequence[Evidence], excluded: Sequence[Exclusion], measured: Iterable[Measurement]
) -> list[ClientCpu]:
    """Of every cell and contestant, by its trials that are compared and whose workers all reported their CPU time."""
    us_per_message = {each.trial: each.value for each in measured if each.metric == CLIENT_CPU}
    found: dict[tuple[Cell, str], list[tuple[float, float, float | None]]] = {}
    for evidence in compared_trials(trials, excluded):
        us, used = us_per_message.get(evidence.trial.name), client_cores(evidence)
        if us is not None and used is not None:
            key = (evidence.trial.cell, evidence.trial.contestant)
            found.setdefault(key, []).append((us, used, _shared_cpus(evidence)))
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


def client_cores(evidence: Evidence) -> float | None:
    """Used by all workers in the measure phase; None if one of them didn't tell."""
    used = [measured_cores(worker) for worker in evidence.trial.document["observations"].get("workers") or []]
    known = [cores for cores in used if cores is not None]
    return sum(known) if known and len(known) == len(used) else None


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


def _shared_cpus(evidence: Evidence) -> float | None:
    """CPUs of the machines that run workers and brokers; None if there is none, or it didn't tell."""
    roles = {host["name"]: host["role"] for host in evidence.trial.document["hosts"]}
    cpus = [
        use.cpus
        for use in evidence.machines
        if use.cpus is not None
        and {"client", "broker"} <= {roles[name] for name in evidence.trial.hosts_beside(use.host)}
    ]
    return sum(cpus) if cpus else None
