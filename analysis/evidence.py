"""Everything known about one trial once Spark is done: plain data that rules, comparison and report read. It computes no verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from analysis.audit import Delivery
from analysis.campaign import Trial
from analysis.catch_up import CatchUp
from analysis.order import Ordering
from analysis.percentiles import Percentile


@dataclass(frozen=True)
class Counts:
    """Messages of a trial by what happened to them. `*_in_window`: during the measure phase, whenever they were scheduled."""

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


@dataclass(frozen=True)
class MachineUse:
    """One machine over the measure phase. Shares are of all its CPUs; None = not recorded.

    `allowances_exceeded`: packets held back or dropped by the network cards' allowances, by counter; empty = nothing counts them.
    """

    host: str
    cpu_shares: Mapping[str, float]
    disk_written_bytes: float | None
    dirty_highest_bytes: float | None
    allowances_exceeded: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class DaemonUse:
    """One daemon over the measure phase."""

    host: str
    daemon: str
    rss_highest_bytes: float | None
    cpu_s: float | None


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
    probes: tuple[Mapping[str, Any], ...] = ()  # of disks, next to the trial: the last before it and the first after it

    def percentile(self, metric: str, quantile_ppm: int) -> Percentile | None:
        """A percentile of a metric that belongs to no subscription, if it was computed."""
        for found in self.percentiles:
            if (found.metric, found.quantile_ppm) == (metric, quantile_ppm):
                return found
        return None

    def observation(self, name: str) -> Any:
        """An observation of trial.json; raises KeyError if it was not made."""
        return self.trial.document["observations"][name]

    def daemons_gone(self) -> list[str]:
        """The daemons that ended, or were another process at the end; none where they were not recorded."""
        daemons = self.trial.document["observations"].get("daemons") or []
        return [f"{each['daemon']} on {each['host']}" for each in daemons if each["pid_at_end"] != each["pid_at_start"]]
