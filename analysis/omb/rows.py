"""One result file as rows of the tables that own trials have.

Percentiles of windows are never merged: a percentile of the run is read off the run's own figures, or is absent with its reason. A
maximum is the one figure that windows give for the run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import PurePath
from typing import Any

from analysis.omb.faults import (
    AGGREGATE,
    BACKLOGGED,
    NO_RATES,
    Fault,
    faults_of,
    map_is_complete,
    paused_windows,
    usable_windows,
)
from analysis.omb.identity import Known, identity_of
from analysis.omb.layout import (
    BACKLOG,
    CONSUME_RATE,
    END_TO_END,
    ERROR_RATE,
    FAMILIES,
    FROM_MAP,
    NOTES,
    ORIGIN,
    OWN_ORIGIN,
    PUBLISH_RATE,
    SERIES,
    WINDOW_S,
)
from analysis.omb.result_file import Latency, OmbResult

MS = "ms"
Row = dict[str, Any]


@dataclass(frozen=True)
class LeftOut:
    """A metric that the file has and the rows don't, and why."""

    metric: str
    why: str


@dataclass(frozen=True)
class Imported:
    """A file's rows. `summary`: rows of analysis.outputs.SUMMARY; `windows`: rows of analysis.omb.import_task.WINDOWS."""

    result: OmbResult
    trial: str
    identity: dict[str, Known]
    faults: tuple[Fault, ...]
    left_out: tuple[LeftOut, ...]
    summary: tuple[Row, ...]
    windows: tuple[Row, ...]

    @property
    def aggregates_used(self) -> bool:
        """Whether the figures of the whole run are sound."""
        return all(fault.fault != AGGREGATE for fault in self.faults)

    def document(self) -> dict[str, Any]:
        """The entry of import.json."""
        result = self.result
        return {
            "file": result.source,
            "sha256": result.sha256,
            "bytes": result.bytes,
            "trial": self.trial,
            "generation": result.generation,
            "extras": list(result.extras),
            "workload": result.workload,
            "driver": result.driver,
            "windows": result.windows,
            "aggregates_used": self.aggregates_used,
            "identity": {name: known.to_json() for name, known in self.identity.items()},
            "faults": [asdict(fault) for fault in self.faults],
            "left_out": [asdict(entry) for entry in self.left_out],
        }


def import_result(result: OmbResult, trial: str | None = None) -> Imported:
    """The rows of a file that was read; `trial` is what to call it, without one the file's name."""
    name = trial or PurePath(result.source).name.removesuffix(".json")
    identity = identity_of(result)
    faults = faults_of(result, identity)
    found = {fault.fault for fault in faults}
    figures = [*([] if NO_RATES in found else _rates(result)), *_latencies(result, found)]
    if NO_RATES in found:
        figures.append(LeftOut("rates", "every window says 0, although messages were acknowledged"))
    same = {
        "trial": name,
        "origin": OWN_ORIGIN if result.own else ORIGIN,
        "system": identity["system"].value,
        "durability": identity["durability"].value,
        "workload": result.workload,
        "block": identity["block"].value if "block" in identity else None,
    }
    rows = [{**same, **_named(each, result), "samples": None} for each in figures if not isinstance(each, LeftOut)]
    return Imported(
        result=result,
        trial=name,
        identity=identity,
        faults=faults,
        left_out=tuple(each for each in figures if isinstance(each, LeftOut)),
        summary=tuple(rows),
        windows=tuple({"trial": name, **_named(row, result)} for row in _windows(result)),
    )


def _named(row: Row, result: OmbResult) -> Row:
    """An export's end-to-end latency is samebox's own quantity again, from the intended time, and so is its name."""
    own = result.own is not None and row["metric"].startswith(END_TO_END.metric)
    return {**row, "metric": row["metric"].removeprefix("omb_")} if own else row


def _figure(metric: str, unit: str, value: float, *notes: str) -> Row:
    return {"metric": metric, "unit": unit, "value": value, "note": "; ".join(notes)}


def _rates(result: OmbResult) -> Iterator[Row | LeftOut]:
    """Means and extremes of rates, without the first window where it counts the warm-up; the highest backlog, of all windows."""
    paused, begin = paused_windows(result), 0 if result.own else 1
    for key in (PUBLISH_RATE, CONSUME_RATE, ERROR_RATE):
        if key not in result.series:
            continue
        metric, unit = SERIES[key]
        first, counted = result.series[key][0], result.series[key][begin:]
        if not counted:
            yield LeftOut(metric, "the file has one window, the one that over-reports rates")
            continue
        which = f"windows {begin + 1} to {result.windows}"
        warm_up = f"window 1 is left out, it says {first:,.0f}: counters weren't reset after the warm-up"
        notes = (warm_up,) if begin else ()
        if key == CONSUME_RATE and paused:
            yield LeftOut(
                metric, f"consumers got practically nothing in {len(paused)} windows: a mean would mix phases"
            )
        else:
            yield _figure(metric, unit, sum(counted) / len(counted), f"mean of {which}", *notes)
        if key != ERROR_RATE:
            for extreme, value in (("highest", max(counted)), ("lowest", min(counted))):
                of = f"of {which}, about {WINDOW_S:g} s each"
                yield _figure(f"{metric}_{extreme}_window", unit, value, of, *notes)
    if BACKLOG in result.series:
        metric, unit = SERIES[BACKLOG]
        yield _figure(f"{metric}_highest", unit, max(result.series[BACKLOG]), "the highest at the end of a window")


def _latencies(result: OmbResult, found: Collection[str]) -> Iterator[Row | LeftOut]:
    """`found`: the faults of the file."""
    for family in FAMILIES:
        latency, metric = result.latencies.get(family.metric), family.metric
        if latency is None:
            yield LeftOut(metric, f"a file of generation {result.generation} doesn't have it")
            continue
        notes = [] if result.own else [NOTES[metric]]
        if family == END_TO_END and not result.own:
            notes.append(_resolution(latency))
        if paused_windows(result):
            notes.append("all phases of the run together")
        if family == END_TO_END and BACKLOGGED in found:
            notes.append("depends on how long the run was: the backlog wasn't steady")
        usable = usable_windows(result, latency)
        if not usable and latency.aggregate["max"] == 0:
            yield LeftOut(metric, "the file has no sample of it: it says 0 everywhere")
        elif AGGREGATE not in found:
            yield from _of_the_run(latency, notes)
        else:
            why = "the run's own figures are corrupt, and windows can't be merged into them"
            yield LeftOut(f"{metric}: mean and percentiles", why)
            if usable:
                highest = max(latency.windows["max"][index] for index in usable)
                which = "the highest of the windows, the run's own figure is corrupt"
                yield _figure(f"{metric}_max", MS, highest, *notes, which)


def _of_the_run(latency: Latency, notes: Sequence[str]) -> Iterator[Row | LeftOut]:
    points = FROM_MAP.items() if map_is_complete(latency) else ()
    read_off = {name: value for name, at in points if (value := _read_off(latency, at)) is not None}
    for name in ("mean", "p50", "p75", "p90", "p95", "p99", "p99.9", "p99.99", "p99.999", "max"):
        metric = f"{latency.family.metric}_{name}"
        if name in latency.aggregate:
            yield _figure(metric, MS, latency.aggregate[name], *notes)
        elif name in read_off:
            yield _figure(metric, MS, read_off[name], *notes, "read off the quantile map")
        else:
            yield LeftOut(metric, "the quantile map has no point near it, or isn't complete")


def _read_off(latency: Latency, percentile: float) -> float | None:
    """The map's value at the first of its points at or above a percentile; None if that one is far above it."""
    for at, value in latency.quantiles:
        if at >= percentile:
            return value if at - percentile <= (100 - percentile) / 10 else None
    return None


def _resolution(latency: Latency) -> str:
    """How fine the end-to-end latency is, as the values themselves tell: some forks read one of the two clocks more finely."""
    values = [value for _, value in latency.quantiles if value < 100]  # above that, histograms round
    if values and all(abs(value - round(value)) < 0.002 for value in values):
        return "in whole milliseconds"
    return "time stamps of most drivers are in whole milliseconds, so up to 1 ms too long"


def _windows(result: OmbResult) -> Iterator[Row]:
    """One row per window and metric, windows from 1; a window's start isn't in the file, so it is counted in full windows."""

    def row(index: int, metric: str, unit: str, value: float, note: str | None = None) -> Row:
        start_s = index * WINDOW_S
        where = {"window": index + 1, "nominal_start_s": start_s}
        return {**where, "metric": metric, "unit": unit, "value": value, "note": note}

    rates = (PUBLISH_RATE, CONSUME_RATE, ERROR_RATE)
    for key, (metric, unit) in SERIES.items():
        for index, value in enumerate(result.series.get(key, ())):
            counts_warm_up = index == 0 and key in rates and not result.own
            yield row(
                index, metric, unit, value, "counters weren't reset after the warm-up" if counts_warm_up else None
            )
    for latency in result.latencies.values():
        for index in usable_windows(result, latency):
            for name, values in latency.windows.items():
                yield row(index, f"{latency.family.metric}_{name}", MS, values[index])
