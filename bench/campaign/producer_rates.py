"""Where a workload asks more of a producer, which is one process, than one process has been measured to send: a warning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench.campaign.order import TrialSpec
from systems.registry import SYSTEMS


@dataclass(frozen=True)
class Beyond:
    """A workload each of whose producers must send more with a system than one process was measured to send; msg/s."""

    workload: str
    experiment: str
    system: str
    producers: int
    asked_per_s: int
    measured_per_s: int
    source: str

    def to_json(self) -> dict[str, Any]:
        """As plan and cost print it."""
        return asdict(self)


def beyond_a_process(trials: Sequence[TrialSpec]) -> tuple[Beyond, ...]:
    """Every workload x system of the trials with our own load, once, in their order. Where a rate is only a bound, the expected rate
    counts."""
    found = {}
    for trial in trials:
        workload, measured = trial.workload, SYSTEMS[trial.system].producer_rate
        asked_per_s = workload.planned_rate_per_s // workload.producers
        if trial.generator == "samebox" and asked_per_s > measured.messages_per_s:
            found[workload.name, trial.system] = Beyond(
                workload.name, trial.experiment, trial.system, workload.producers,
                asked_per_s, measured.messages_per_s, measured.source,
            )  # fmt: skip
    return tuple(found.values())


def warning_lines(found: Sequence[Beyond]) -> list[str]:
    """What to print of them: a line per system and rate, where the figures are from, and what to do; empty if there are none."""
    if not found:
        return []
    lines = ["warning: these ask more of a producer, which is one process, than one has been measured to send:"]
    workloads: dict[tuple[str, int, int], list[str]] = {}
    for each in found:
        workloads.setdefault((each.system, each.asked_per_s, each.measured_per_s), []).append(each.workload)
    for (system, asked, measured), names in workloads.items():
        lines.append(f"  {system}: {asked:,} msg/s per producer, {measured:,} measured: {', '.join(names)}")
    lines += [
        f"  {system} was measured by {source}"
        for system, source in dict.fromkeys((each.system, each.source) for each in found)
    ]
    lines.append(
        "  Where the client can't keep up, the checks send-delay and client-cpu make a trial invalid, after it has been paid for. "
        "Try one first; `producers` shares the rate among more processes, each with a window and batches of its own."
    )
    return lines
