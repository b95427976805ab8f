"""Every metric of a trial's summary: name, unit, value. docs/metrics.md is its dictionary."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from analysis.bounded import Bounded, exactly
from analysis.evidence import Evidence
from analysis.faults.measures import fault_measures
from analysis.percentiles import TABLE_QUANTILES, Percentile, quantile_name
from analysis.records.latencies import END_TO_END
from analysis.schema import DRAIN
from analysis.words import RATE

CLIENT_CPU = "client_cpu_per_message"
UNITS: Mapping[str, str] = {
    "response_latency": "ms",
    "publish_latency": "ms",
    "end_to_end_latency": "ms",
    "send_delay": "ms",
    "client_delay": "ms",
    "publish_latency_build": "ms",
    "publish_latency_tail": "ms",
    "catch_up_time": "s",
    "drain_rate": "msg/s",
    "drain_rate_peak": "msg/s",
    "throughput_offered": "msg/s",
    "throughput_achieved": "msg/s",
    "throughput_received": "msg/s",
    "unacknowledged_at_start": "messages",
    "unacknowledged_at_end": "messages",
    "messages_scheduled": "messages",
    "messages_sent": "messages",
    "messages_acknowledged": "messages",
    "messages_lost": "messages",
    "messages_duplicated": "messages",
    "steps_back": "steps",
    "cpu_busy_share": "share",
    "cpu_steal_share": "share",
    "disk_written": "bytes",
    "dirty_pages_highest": "bytes",
    "daemon_memory_highest": "bytes",
    CLIENT_CPU: "us",
}
_NS_PER_MS = 1e6
_NS_PER_S = 1e9


@dataclass(frozen=True)
class Measurement:
    """One value of one trial, as far as it is known. `samples`: how many messages (or workers, machines) it was computed from."""

    trial: str
    metric: str
    unit: str
    known: Bounded
    samples: int

    @property
    def value(self) -> float | None:
        """What is told; None where no more than bounds are known."""
        return self.known.value


def measurements(evidence: Evidence) -> list[Measurement]:
    """All metrics of a trial that could be computed; what could not be is absent, never zero."""
    parts = (_percentiles, _throughput, _catch_ups, _deliveries, _machines, _clients, _faults)
    return [measurement for part in parts for measurement in part(evidence)]


def is_withheld(evidence: Evidence, percentile: Percentile) -> bool:
    """Whether an end-to-end figure is below twice the bound on the clocks' offset, and so says nothing."""
    if percentile.metric != END_TO_END or percentile.value_ns is None:
        return False
    clocks = evidence.trial.document["observations"].get("clocks") or []
    bounds = [entry[when] or 0 for entry in clocks for when in ("bound_before_ns", "bound_after_ns")]
    return percentile.value_ns < 2 * max(bounds, default=0)


def _percentiles(evidence: Evidence) -> Iterator[Measurement]:
    several = len({found.subscription for found in evidence.percentiles if found.metric == END_TO_END}) > 1
    for found in evidence.percentiles:
        if found.quantile_ppm not in TABLE_QUANTILES or is_withheld(evidence, found):
            continue
        of_subscription = f"[{found.subscription}]" if several and found.subscription else ""
        name = f"{found.metric}_{quantile_name(found.quantile_ppm)}{of_subscription}"
        if found.value_ns is not None:
            known = exactly(found.value_ns / _NS_PER_MS)
        elif found.more_than_ns is not None:
            known = Bounded(None, found.more_than_ns / _NS_PER_MS, math.inf)
        else:
            continue
        yield Measurement(evidence.trial.name, name, UNITS[found.metric], known, found.samples)


def _catch_ups(evidence: Evidence) -> Iterator[Measurement]:
    several, trial, drain_ns = len(evidence.catch_ups) > 1, evidence.trial, evidence.trial.phase_ns(DRAIN)
    if drain_ns is None:
        return
    waited_ns = min(drain_ns[1], trial.watched_until_ns("consumers")) - drain_ns[0]
    never = Bounded(None, max(0.0, waited_ns / _NS_PER_S), math.inf)
    for found in evidence.catch_ups:
        values = {
            "catch_up_time": never if found.caught_up_s is None else exactly(found.caught_up_s),
            "drain_rate": exactly(float(found.mean_per_s)),
            "drain_rate_peak": exactly(float(found.peak_per_s)),
        }
        of_subscription = f"[{found.subscription}]" if several else ""
        for name, known in values.items():
            yield Measurement(trial.name, name + of_subscription, UNITS[name], known, found.backlog_messages)


def _throughput(evidence: Evidence) -> Iterator[Measurement]:
    bounds = evidence.trial.measured_ns()
    if bounds is None or bounds[1] <= bounds[0]:
        return
    seconds, counts = (bounds[1] - bounds[0]) / _NS_PER_S, evidence.counts
    by_name = {
        "throughput_offered": counts.scheduled_in_measure,
        "throughput_achieved": counts.kept_up_in_measure,
        "throughput_received": sum(counts.received_in_window.values()),
    }
    for name, messages in by_name.items():
        measured = _measured(evidence, name, messages / seconds, messages)
        yield _bracketed(evidence, measured) if name == RATE else measured
    scheduled = counts.scheduled_in_measure
    yield _measured(evidence, "unacknowledged_at_start", counts.behind_at_start, scheduled)
    yield _measured(evidence, "unacknowledged_at_end", counts.behind_at_end, scheduled)


def _bracketed(evidence: Evidence, measured: Measurement) -> Measurement:
    """The rate of a search's last run, with what the search knows of the highest: from the sustained one to the one that failed.

    Where none was sustained, that of the last run is none either.
    """
    search = evidence.trial.document["observations"].get("search")
    value = measured.value
    if not search or value is None:
        return measured
    failed_per_s = search.get("failed_per_s")
    high = math.inf if failed_per_s is None else float(failed_per_s)
    if search["rate_per_s"] is None:
        return replace(measured, known=Bounded(None, 0.0, high))
    return replace(measured, known=Bounded(value, min(value, float(search["rate_per_s"])), max(value, high)))


def _deliveries(evidence: Evidence) -> Iterator[Measurement]:
    counts = evidence.counts
    if not counts.scheduled:
        return
    yield _measured(evidence, "messages_scheduled", counts.scheduled, counts.scheduled)
    yield _measured(evidence, "messages_sent", counts.sent, counts.scheduled)
    yield _measured(evidence, "messages_acknowledged", counts.acknowledged, counts.scheduled)
    received = sum(delivery.received for delivery in evidence.deliveries)
    lost = sum(delivery.lost for delivery in evidence.deliveries)
    yield _measured(evidence, "messages_lost", lost, counts.acknowledged)
    yield _measured(evidence, "messages_duplicated", sum(d.duplicates for d in evidence.deliveries), received)
    yield _measured(evidence, "steps_back", sum(o.steps_back for o in evidence.orderings), received)


def _machines(evidence: Evidence) -> Iterator[Measurement]:
    for name, mode in (("cpu_busy_share", "idle"), ("cpu_steal_share", "steal")):
        shares = [use.cpu_shares[mode] for use in evidence.machines if mode in use.cpu_shares]
        if shares:
            value = 1 - min(shares) if mode == "idle" else max(shares)
            yield _measured(evidence, name, value, len(shares))
    written = [use.disk_written_bytes for use in evidence.machines]
    dirty = [use.dirty_highest_bytes for use in evidence.machines]
    memory = [use.rss_highest_bytes for use in evidence.daemons]
    named = {"disk_written": written, "dirty_pages_highest": dirty, "daemon_memory_highest": memory}
    for name, values in named.items():
        if known := [value for value in values if value is not None]:
            yield _measured(evidence, name, sum(known) if name == "disk_written" else max(known), len(known))


def _clients(evidence: Evidence) -> Iterator[Measurement]:
    workers = evidence.trial.document["observations"].get("workers") or []
    messages = sum(int(worker["rows"] or 0) for worker in workers)
    if messages and all(worker["cpu_s"] is not None for worker in workers):  # a worker that died reported nothing
        cpu_s = sum(float(worker["cpu_s"]) for worker in workers)
        yield _measured(evidence, CLIENT_CPU, cpu_s / messages * 1e6, messages)


def _faults(evidence: Evidence) -> Iterator[Measurement]:
    for impact in evidence.impacts:
        for name, unit, known, samples in fault_measures(impact):
            yield Measurement(evidence.trial.name, name, unit, known, samples)


def _measured(evidence: Evidence, name: str, value: float, samples: int) -> Measurement:
    return Measurement(evidence.trial.name, name, UNITS[name], exactly(float(value)), samples)
