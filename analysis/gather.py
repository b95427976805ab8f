"""Sorts the campaign's aggregates by trial into Evidence."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from analysis.campaign import Campaign, Trial
from analysis.catch_up import catch_ups
from analysis.evidence import Counts, DaemonUse, Evidence, MachineUse
from analysis.faults.impact import counted_of, impacts_of, losses_of
from analysis.faults.occurrence import ended_by_faults
from analysis.faults.sends import OUTSIDE
from analysis.pipeline import Aggregates
from analysis.records.seconds import ACKNOWLEDGED, RECEIVED
from analysis.records.telemetry import ALLOWANCE_EXCEEDED, CPU_MODES, MACHINE


def gather(campaign: Campaign, aggregates: Aggregates) -> list[Evidence]:
    """One Evidence per trial, in the order the trials ran."""
    return [_evidence(campaign, aggregates, trial) for trial in campaign.trials]


def _evidence(campaign: Campaign, aggregates: Aggregates, trial: Trial) -> Evidence:
    seconds, telemetry = aggregates.seconds.events[trial.name], aggregates.telemetry_measured[trial.name]
    acknowledged, received = aggregates.acknowledged[trial.name], aggregates.received[trial.name]
    faults = counted_of({name: rows[trial.name] for name, rows in aggregates.faults.items()})
    return Evidence(
        trial=trial,
        block=campaign.block(trial.block),
        counts=_counts(trial, acknowledged, received, telemetry),
        percentiles=tuple(found for found in aggregates.percentiles if found.trial == trial.name),
        deliveries=tuple(found for found in aggregates.deliveries if found.trial == trial.name),
        orderings=tuple(found for found in aggregates.orderings if found.trial == trial.name),
        machines=tuple(_machines(telemetry)),
        daemons=tuple(_daemons(telemetry, ended_by_faults(trial))),
        catch_ups=tuple(
            catch_ups(
                trial,
                [row for row in seconds if row["event"] == ACKNOWLEDGED],
                [row for row in seconds if row["event"] == RECEIVED],
            )
        ),
        thirds=tuple(found for found in aggregates.thirds if found.trial == trial.name),
        windows=tuple(aggregates.windows[trial.name]),
        probes=campaign.beside(trial.name),
        impacts=impacts_of(trial, faults, campaign.manifest),
        outside_faults=losses_of(faults, OUTSIDE),
    )


def _counts(trial: Trial, own: Sequence[Any], received: Sequence[Any], telemetry: Sequence[Any]) -> Counts:
    in_window: dict[str, int] = {}
    for row in received:
        in_window[row["subscription"]] = in_window.get(row["subscription"], 0) + row["received_in_window"]

    def total(column: str) -> int:
        return sum(int(row[column]) for row in own)

    def measured(column: str) -> int:
        return sum(int(row[column]) for row in own if row["phase"] == trial.measured_phase)

    return Counts(
        scheduled=total("scheduled"),
        sent=total("sent"),
        acknowledged=total("acknowledged"),
        sent_unacknowledged=total("sent_unacknowledged"),
        errors=total("errors"),
        scheduled_in_measure=measured("scheduled"),
        acknowledged_in_measure=measured("acknowledged"),
        acknowledged_in_window=total("acknowledged_in_window"),
        received_in_window=in_window,
        rows={
            "produced": total("scheduled"),
            "consumed": sum(row["received"] for row in received),
            "hosts": sum(row["rows"] for row in telemetry),
        },
        per_producer=_per_producer(own),
        kept_up_in_measure=total("acknowledged_on_time") + min(total("acknowledged_late"), total("carried_in")),
        behind_at_start=total("behind_at_start"),
        behind_at_end=total("behind_at_end"),
        impossible_times=total("impossible_times"),
    )


def _per_producer(rows: Sequence[Any]) -> dict[int, tuple[int, int]]:
    found: dict[int, tuple[int, int]] = {}
    for row in rows:
        count, highest = found.get(row["producer"], (0, -1))
        found[row["producer"]] = (count + row["scheduled"], max(highest, row["highest_sequence"]))
    return found


def _machines(rows: Sequence[Any]) -> list[MachineUse]:
    found = []
    for host in dict.fromkeys(sorted(row["host"] for row in rows if row["source"] == MACHINE)):
        by_metric = {row["metric"]: row for row in rows if row["source"] == MACHINE and row["host"] == host}
        seconds = {
            mode: _value(by_metric, f"cpu_{mode}_s", "growth") for mode in CPU_MODES if f"cpu_{mode}_s" in by_metric
        }
        known = {mode: value for mode, value in seconds.items() if value is not None}
        total = sum(known.values())
        found.append(
            MachineUse(
                host=host,
                cpu_shares={mode: value / total for mode, value in known.items()} if total > 0 else {},
                disk_written_bytes=_value(by_metric, "disk_written_bytes", "growth"),
                dirty_highest_bytes=_value(by_metric, "dirty_bytes", "highest"),
                allowances_exceeded={
                    metric: float(row["growth"])
                    for metric, row in sorted(by_metric.items())
                    if metric.endswith(ALLOWANCE_EXCEEDED) and row["growth"] is not None
                },
                cpus=_value(by_metric, "cpus", "highest"),
                user_cores=_per_second(by_metric, "cpu_user_s"),
                cpu_waiting_share=_per_second(by_metric, "psi_cpu_some_s"),
                run_queue=_value(by_metric, "run_queue", "mean"),
            )
        )
    return found


def _daemons(rows: Sequence[Any], begun_anew: Collection[tuple[str, str]]) -> list[DaemonUse]:
    """CPU time is told of those alone whose counters ran through."""
    names = dict.fromkeys(sorted((row["host"], row["source"]) for row in rows if row["source"] != MACHINE))
    found = []
    for host, daemon in names:
        own = {row["metric"]: row for row in rows if (row["host"], row["source"]) == (host, daemon)}
        rss_bytes, cpu_s = _value(own, "rss_bytes", "highest"), _value(own, "cpu_s", "growth")
        user_cores, cores = (_per_second(own, counter) for counter in ("cpu_user_s", "cpu_s"))
        if (host, daemon) in begun_anew:
            cpu_s = user_cores = cores = None
        found.append(DaemonUse(host, daemon, rss_bytes, cpu_s, user_cores, cores))
    return found


def _per_second(rows: Mapping[str, Any], metric: str) -> float | None:
    """How fast a counter grew, over the time between its first and last sample of the measure phase."""
    growth, seconds = _value(rows, metric, "growth"), _value(rows, metric, "seconds")
    return growth / seconds if growth is not None and seconds else None


def _value(rows: Mapping[str, Any], metric: str, column: str) -> float | None:
    row = rows.get(metric)
    return None if row is None or row[column] is None else float(row[column])
