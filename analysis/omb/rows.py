"""One result file as rows of the tables that own trials have. `import_file` is the whole way from bytes to rows.

Percentiles of windows are never merged: a percentile of the run is read off the run's own figures, or is absent with its reason. A
maximum is the one figure that windows give for the run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path, PurePath
from typing import Any

from analysis.omb.faults import AGGREGATE, Fault, faults_of, map_is_whole, paused_windows, usable_windows
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
    PUBLISH_RATE,
    SERIES,
    WINDOW_S,
)
from analysis.omb.result_file import Latency, OmbResult, read_result

MS = "ms"


@dataclass(frozen=True)
class LeftOut:
    """A metric that the file has and the rows don't, and why."""

    metric: str
    why: str


@dataclass(frozen=True)
class Imported:
    """A file's rows. `summary`: rows of analysis.outputs.SUMMARY; `windows`: rows of analysis.omb.write.WINDOWS."""

    result: OmbResult
    trial: str
    identity: dict[str, Known]
    faults: tuple[Fault, ...]
    left_out: tuple[LeftOut, ...]
    summary: tuple[dict[str, Any], ...]
    windows: tuple[dict[str, Any], ...]

    @property
    def aggregates_used(self) -> bool:
        """Whether the figures of the whole run are sound."""
        return all(fault.fault != AGGREGATE for fault in self.faults)

    def values(self) -> dict[str, float]:
        """The summary as metric -> value; latencies in ms, rates in messages per second."""
        return {row["metric"]: row["value"] for row in self.summary}

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


def import_file(path: Path, trial: str | None = None) -> Imported:
    """The rows of one file. Raises AnalysisError, naming file and key, if it is no result file of OpenMessaging Benchmark."""
    return import_result(read_result(path.read_bytes(), str(path)), trial)


def import_result(result: OmbResult, trial: str | None = None) -> Imported:
    """The rows of a file that was read; `trial` is what to call it, without one the file's name."""
    name = trial or PurePath(result.source).name.removesuffix(".json")
    identity, faults = identity_of(result), faults_of(result)
    left_out: list[LeftOut] = []
    sound = all(fault.fault != AGGREGATE for fault in faults)
    figures = [*_rates(result, left_out), *_latencies(result, sound, left_out)]
    same = {
        "trial": name,
        "origin": ORIGIN,
        "system": identity["system"].value,
        "durability": identity["durability"].value,
        "workload": result.workload,
        "block": None,
    }
    return Imported(
        result=result,
        trial=name,
        identity=identity,
        faults=faults,
        left_out=tuple(left_out),
        summary=tuple({**same, **figure, "samples": None} for figure in figures),
        windows=tuple({"trial": name, **row} for row in _windows(result)),
    )


def _figure(metric: str, unit: str, value: float, note: str) -> dict[str, Any]:
    return {"metric": metric, "unit": unit, "value": value, "note": note}


def _rates(result: OmbResult, left_out: list[LeftOut]) -> Iterator[dict[str, Any]]:
    """Means and extremes of rates, without the first window; the highest backlog, of all windows."""
    paused = paused_windows(result)
    for key in (PUBLISH_RATE, CONSUME_RATE, ERROR_RATE):
        if key not in result.series:
            continue
        metric, unit = SERIES[key]
        later = result.series[key][1:]
        if not later:
            left_out.append(LeftOut(metric, "the file has one window, the one that over-reports rates"))
            continue
        which = f"windows 2 to {result.windows}"
        first = f"window 1 is left out, it says {result.series[key][0]:,.0f}: counters weren't reset after the warm-up"
        if key == CONSUME_RATE and paused:
            left_out.append(
                LeftOut(metric, f"consumers got practically nothing in {len(paused)} windows: a mean would mix phases")
            )
        else:
            yield _figure(metric, unit, sum(later) / len(later), f"mean of {which}; {first}")
        if key != ERROR_RATE:
            yield _figure(
                f"{metric}_highest_window", unit, max(later), f"of {which}, about {WINDOW_S:g} s each; {first}"
            )
            yield _figure(
                f"{metric}_lowest_window", unit, min(later), f"of {which}, about {WINDOW_S:g} s each; {first}"
            )
    if BACKLOG in result.series:
        metric, unit = SERIES[BACKLOG]
        yield _figure(f"{metric}_highest", unit, max(result.series[BACKLOG]), "the highest at the end of a window")


def _latencies(result: OmbResult, sound: bool, left_out: list[LeftOut]) -> Iterator[dict[str, Any]]:
    for family in FAMILIES:
        latency = result.latencies.get(family.metric)
        if latency is None:
            left_out.append(LeftOut(family.metric, f"a file of generation {result.generation} doesn't have it"))
            continue
        note = NOTES[family.metric] + (f"; {_resolution(latency)}" if family == END_TO_END else "")
        if paused_windows(result):
            note += "; all phases of the run together"
        if not usable_windows(result, latency) and latency.aggregate["max"] == 0:
            left_out.append(LeftOut(family.metric, "the file has no sample of it: it says 0 everywhere"))
        elif sound:
            yield from _of_the_run(latency, note, left_out)
        else:
            yield from _of_the_windows(result, latency, note, left_out)


def _of_the_run(latency: Latency, note: str, left_out: list[LeftOut]) -> Iterator[dict[str, Any]]:
    metric = latency.family.metric
    points = FROM_MAP.items() if map_is_whole(latency) else ()
    read_off = {name: value for name, at in points if (value := _read_off(latency, at)) is not None}
    for name in ("mean", "p50", "p75", "p90", "p95", "p99", "p99.9", "p99.99", "p99.999", "max"):
        if name in latency.aggregate:
            yield _figure(f"{metric}_{name}", MS, latency.aggregate[name], note)
        elif name in read_off:
            yield _figure(f"{metric}_{name}", MS, read_off[name], f"{note}; read off the quantile map")
        else:
            left_out.append(LeftOut(f"{metric}_{name}", "the quantile map has no point near it, or isn't whole"))


def _of_the_windows(
    result: OmbResult, latency: Latency, note: str, left_out: list[LeftOut]
) -> Iterator[dict[str, Any]]:
    metric, usable = latency.family.metric, usable_windows(result, latency)
    left_out.append(
        LeftOut(
            f"{metric}: mean and percentiles",
            "the run's own figures are corrupt, and windows can't be merged into them",
        )
    )
    if usable:
        highest = max(latency.windows["max"][index] for index in usable)
        yield _figure(
            f"{metric}_max", MS, highest, f"{note}; the highest of the windows, the run's own figure is corrupt"
        )


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


def _windows(result: OmbResult) -> Iterator[dict[str, Any]]:
    """One row per window and metric, windows from 1; a window's start isn't in the file, so it is counted in whole windows."""
    rates = (PUBLISH_RATE, CONSUME_RATE, ERROR_RATE)
    for key, (metric, unit) in SERIES.items():
        for index, value in enumerate(result.series.get(key, ())):
            note = "counters weren't reset after the warm-up" if index == 0 and key in rates else None
            yield _window(index, metric, unit, value, note)
    for latency in result.latencies.values():
        for index in usable_windows(result, latency):
            for name, values in latency.windows.items():
                yield _window(index, f"{latency.family.metric}_{name}", MS, values[index], None)


def _window(index: int, metric: str, unit: str, value: float, note: str | None) -> dict[str, Any]:
    return {
        "window": index + 1,
        "nominal_start_s": index * WINDOW_S,
        "metric": metric,
        "unit": unit,
        "value": value,
        "note": note,
    }
