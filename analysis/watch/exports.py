"""The series of a watch as other tools read it, without anything that they would have to be told besides."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime

from analysis.watch.judge import REGRESSION, Judged
from analysis.watch.series import Place, Series

RATIO = "samebox_watch_ratio"


def otava_csv(judged: Judged) -> str:
    """A row for each version, in their order: when its first round began, the version, the median ratio of each metric.

    Apache Otava reads it as a test of type csv, with `time_column: time`, `attributes: [version]` and the metrics as columns.
    """
    lines = io.StringIO()
    table = csv.writer(lines, lineterminator="\n")
    table.writerow(["time", "version", *(each.metric for each in judged.series)])
    began_ns = {version: each.created_ns for each in reversed(judged.history.rounds) for version in each.versions}
    for version in judged.history.versions:
        time = datetime.fromtimestamp(began_ns[version] / 1e9, UTC).isoformat(sep=" ", timespec="seconds")
        table.writerow([time, version, *(_median(each, version) for each in judged.series)])
    return lines.getvalue()


def bencher_json(judged: Judged) -> str:
    """Bencher Metric Format: a benchmark for each version, whose measures are the ratios of its metrics to the anchor's."""
    history = judged.history
    benchmarks: dict[str, dict[str, dict[str, float]]] = {}
    for series in judged.series:
        for place in series.places:
            if (value := place.median.value) is not None:
                name = f"{history.system} {place.version} over {history.anchor}, {history.workload['name']}, level {history.durability}"
                measure = {"value": value, **{f"{end}_value": limit for end, limit in _limits(place)}}
                benchmarks.setdefault(name, {})[f"{series.metric}_ratio"] = measure
    return json.dumps(benchmarks, indent=1) + "\n"


def openmetrics(judged: Judged) -> str:
    """Gauges: the median ratio of each version and metric, the ends of its interval, its blocks, and whether a regression is shown."""
    shown = {(each.version, each.metric) for each in judged.findings if each.verdict == REGRESSION}
    gauges: Mapping[str, tuple[str, Callable[[Series, Place], float | None]]] = {
        RATIO: ("Median over blocks of a version's value over the anchor's.", lambda _, place: place.median.value),
        f"{RATIO}_low": (
            "Lower end of the interval of the median ratio.",
            lambda _, place: dict(_limits(place)).get("lower"),
        ),
        f"{RATIO}_high": (
            "Upper end of the interval of the median ratio.",
            lambda _, place: dict(_limits(place)).get("upper"),
        ),
        "samebox_watch_blocks": (
            "Blocks in which version and anchor were measured.",
            lambda _, place: len(place.ratios),
        ),
        "samebox_watch_regression": (
            "1 where a regression against the version before is shown, else 0.",
            lambda series, place: int((place.version, series.metric) in shown),
        ),
    }
    lines = [line for name, (said, value) in gauges.items() for line in _gauge(judged, name, said, value)]
    return "\n".join([*lines, "# EOF"]) + "\n"


EXPORTS: Mapping[str, Callable[[Judged], str]] = {
    "otava": otava_csv,
    "bencher": bencher_json,
    "openmetrics": openmetrics,
}


def _gauge(judged: Judged, name: str, said: str, value: Callable[[Series, Place], float | None]) -> Iterator[str]:
    history = judged.history
    yield f"# TYPE {name} gauge"
    yield f"# HELP {name} {said}"
    for series in judged.series:
        for place in series.places:
            labels = {
                "system": history.system,
                "anchor": history.anchor,
                "version": place.version,
                "durability": history.durability,
                "workload": history.workload["name"],
                "metric": series.metric,
            }
            found = value(series, place)
            if found is not None:
                told = ",".join(f"{key}={json.dumps(str(text), ensure_ascii=False)}" for key, text in labels.items())
                yield f"{name}{{{told}}} {found}"


def _median(series: Series, version: str) -> str:
    """Empty where there is none: Otava takes the one before for it."""
    found = next((each.median.value for each in series.places if each.version == version), None)
    return "" if found is None else repr(found)


def _limits(place: Place) -> Iterator[tuple[str, float]]:
    """The ends of its interval that are bounds."""
    found = place.interval
    if found is not None and found.low > 0:
        yield "lower", found.low
    if found is not None and math.isfinite(found.high):
        yield "upper", found.high
