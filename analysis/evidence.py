"""Everything known about one trial once Spark is done, as plain data, and what a rule finds by it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from analysis.campaign import Trial
from analysis.catch_up import CatchUp
from analysis.delivery import Delivery
from analysis.faults.impact import NO_LOSSES, Impact, Losses
from analysis.faults.occurrence import Occurrence, ended_by_faults, occurrences
from analysis.percentiles import Percentile
from analysis.records.order import Ordering

# beside its bounds a rule is given what the declaration says of single hosts: name -> {"judged", "why"}
HOSTS = "hosts"


class Missing(Exception):
    """An observation that a rule needs was not made; the message says which."""


@dataclass(frozen=True)
class Finding:
    """Whether a rule is satisfied, one sentence with the figures, and the evidence as data."""

    passed: bool
    sentence: str
    evidence: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Counts:
    """Messages of a trial by what happened to them. `*_in_measure`: of those scheduled in the measure phase. `*_in_window`: during
    the measure phase, whenever they were scheduled.

    `kept_up_in_measure`: of those scheduled in the measure phase, acknowledged before its end, and as many of those acknowledged
    later as were on their way when it began: what a steady system has in flight at its end is not missing.
    `behind_at_start`, `behind_at_end`: due by then, and not acknowledged. `impossible_times`: sent or acknowledged before their turn.
    """

    scheduled: int
    sent: int
    acknowledged: int
    sent_unacknowledged: int
    errors: int
    scheduled_in_measure: int
    acknowledged_in_measure: int
    acknowledged_in_window: int
    received_in_window: Mapping[str, int]
    rows: Mapping[str, int]  # read back, by kind of record
    per_producer: Mapping[int, tuple[int, int]]  # producer -> (rows, highest sequence)
    kept_up_in_measure: int = 0
    behind_at_start: int = 0
    behind_at_end: int = 0
    impossible_times: int = 0


@dataclass(frozen=True)
class MachineUse:
    """One machine over the measure phase. Shares are of all its CPUs; None = not recorded.

    `allowances_exceeded`: packets held back or dropped by the network cards' allowances, by counter; empty = nothing counts them.
    `user_cores`: CPU time in user mode per second. `cpu_waiting_share`: of the time, in which some task waited for a CPU (the kernel's
    pressure). `run_queue`: tasks running or ready to, on average.
    """

    host: str
    cpu_shares: Mapping[str, float]
    disk_written_bytes: float | None
    dirty_highest_bytes: float | None
    allowances_exceeded: Mapping[str, float] = field(default_factory=dict)
    cpus: float | None = None
    user_cores: float | None = None
    cpu_waiting_share: float | None = None
    run_queue: float | None = None


@dataclass(frozen=True)
class DaemonUse:
    """One daemon over the measure phase. `cores`: CPU time per second, `user_cores`: of that in user mode."""

    host: str
    daemon: str
    rss_highest_bytes: float | None
    cpu_s: float | None
    user_cores: float | None = None
    cores: float | None = None


def measured_cores(worker: Mapping[str, Any]) -> float | None:
    """Cores that a worker used on average over the measure phase; None = it didn't tell."""
    measured = worker.get("measured")
    return (measured["cpu_user_s"] + measured["cpu_system_s"]) / measured["seconds"] if measured else None


@dataclass(frozen=True)
class Evidence:
    """One trial with all its aggregates, and the other trials of its block."""

    trial: Trial
    block: tuple[Trial, ...]
    counts: Counts
    percentiles: tuple[Percentile, ...]
    deliveries: tuple[Delivery, ...]
    orderings: tuple[Ordering, ...]
    machines: tuple[MachineUse, ...]
    daemons: tuple[DaemonUse, ...]
    catch_ups: tuple[CatchUp, ...] = ()
    thirds: tuple[Percentile, ...] = ()  # of response latency in the first and the last third of the measure phase
    windows: tuple[Mapping[str, Any], ...] = ()  # the rows of analysis.records.windows
    probes: tuple[Mapping[str, Any], ...] = ()  # of disks, next to the trial: the last before it and the first after it
    impacts: tuple[Impact, ...] = ()  # of the faults that took effect in the measurement
    outside_faults: Losses = NO_LOSSES  # of a trial with such faults: what belongs to none of them

    @property
    def faults(self) -> tuple[Occurrence, ...]:
        """The faults that the workload asked for, as far as they were observed."""
        return occurrences(self.trial)

    def percentile(self, metric: str, quantile_ppm: int) -> Percentile | None:
        """A percentile of a metric that belongs to no subscription, if it was computed."""
        asked = (metric, quantile_ppm)
        return next((found for found in self.percentiles if (found.metric, found.quantile_ppm) == asked), None)

    @property
    def stored_besides(self) -> int:
        """How many messages a system may hold at most beside those that were acknowledged."""
        # a client that sends again what a dying broker had stored already makes a message that is there, and received, twice
        repeats = max((delivery.duplicates for delivery in self.deliveries), default=0)
        return self.counts.sent_unacknowledged + repeats

    def observation(self, name: str) -> Any:
        """An observation of trial.json; raises KeyError if it was not made."""
        return self.trial.document["observations"][name]

    def why_not_counted(self, name: str) -> str:
        """What the system said instead of a count, as the end of a sentence; results of earlier versions don't have it."""
        why = self.trial.document["observations"].get("not_counted", {}).get(name)
        return f": {why}" if why else "."

    def ended_by_the_system(self) -> str | None:
        """The rule by which the system itself ended the trial, if it did."""
        abort = self.trial.document["abort"]
        return str(abort["rule"]) if abort and abort["axis"] == "outcome" else None

    def unobserved(self, missing: str, before: str = "the measure phase") -> Finding:
        """What a rule finds where nothing was observed: where the system itself ended the trial, that is its doing.

        Raises Missing where it didn't.
        """
        if rule := self.ended_by_the_system():
            return Finding(True, f"The system ended the trial ({rule}) before {before}.")
        raise Missing(missing)

    def daemons_gone(self) -> list[str]:
        """The daemons that ended, or were another process at the end; none where they were not recorded."""
        return self._daemons_where(lambda each: each["pid_at_end"] != each["pid_at_start"])

    def daemons_lost(self) -> list[str]:
        """Those of `daemons_gone` that no fault ended, or that were started again after one and weren't there at the end."""
        ended = ended_by_faults(self.trial)

        def is_lost(daemon: Mapping[str, Any]) -> bool:
            started_again = ended.get((daemon["host"], daemon["daemon"]))
            gone = daemon["pid_at_end"] is None
            return bool(daemon["pid_at_end"] != daemon["pid_at_start"]) and (
                started_again is None or (gone and started_again)
            )

        return self._daemons_where(is_lost)

    def daemons_ended(self) -> list[str]:
        """Those of `daemons_gone` in whose place no other process was."""
        return self._daemons_where(lambda each: each["pid_at_end"] is None)

    def daemons_begun_anew(self) -> list[str]:
        """Those whose processes faults ended: their counters began anew, or ended early."""
        ended = ended_by_faults(self.trial)
        return self._daemons_where(lambda each: (each["host"], each["daemon"]) in ended)

    def _daemons_where(self, holds: Callable[[Mapping[str, Any]], bool]) -> list[str]:
        daemons = self.trial.document["observations"].get("daemons") or []
        return [f"{each['daemon']} on {each['host']}" for each in daemons if holds(each)]
