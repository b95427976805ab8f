"""Percentile curves: how much of the traffic was how slow, one line per trial. Every point is an exact percentile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes

from analysis.campaign import Trial
from analysis.comparison import Cell
from analysis.drawing import LINE_STYLES, MARKERS, Drawing, Palette, canvas, plain_log_axis, svg_of
from analysis.evidence import Evidence
from analysis.metrics import is_withheld
from analysis.percentiles import MAXIMUM, MILLION, quantile_name
from analysis.records.latencies import END_TO_END, PUBLISH, RESPONSE

CURVES = {
    RESPONSE: ("Response latency", "from the intended send to the acknowledgement"),
    PUBLISH: ("Publish latency", "from the actual send to the acknowledgement"),
    END_TO_END: ("End-to-end latency", "from the intended send to the consumer"),
}
_TICKS = (500_000, 900_000, 990_000, 999_000, 999_900, 999_990)
_NS_PER_MS = 1e6
_LOWEST_PPM = 100_000
_NOT_COMPARED = "not compared"
_MOST_LABELLED = 8  # of more lines, a label each would be longer than the figure


def curve_drawings(trials: Sequence[Evidence], palette: Palette) -> list[Drawing]:
    """One drawing per cell and latency."""
    by_cell: dict[Cell, list[Evidence]] = {}
    for evidence in trials:
        by_cell.setdefault(evidence.trial.cell, []).append(evidence)
    found = (_draw(own, cell, metric, palette) for cell, own in by_cell.items() for metric in CURVES)
    return [drawing for drawing in found if drawing.rows]


def _draw(trials: Sequence[Evidence], cell: Cell, metric: str, palette: Palette) -> Drawing:
    workload, level = cell
    title, meaning = CURVES[metric]
    name = f"percentiles-{workload}-l{level}-{metric.replace('_', '-')}"
    rows: list[tuple[str, str, int, str, str, float]] = []
    with canvas(name, 3.7) as figure:
        axes = figure.add_subplot()
        highest_ppm = _TICKS[0]
        drawn = {each.trial.name: _points(each, metric) for each in trials}
        crowded = sum(map(len, drawn.values())) > _MOST_LABELLED
        for evidence in sorted(trials, key=lambda each: palette.place(each.trial)):
            trial = evidence.trial
            for subscription, points in drawn[trial.name].items():
                axes.plot(
                    [_at(ppm) for ppm, _ in points],
                    [value for _, value in points],
                    **_look(trial, subscription, palette, crowded=crowded),
                )
                if _goes_on(evidence, metric, subscription):
                    ppm, value = points[-1]
                    axes.plot([_at(ppm)], [value], "^", markersize=8, color=palette.contestant_colour(trial))
                highest_ppm = max(highest_ppm, points[-1][0])
                named = (trial.name, trial.contestant, trial.block, subscription)
                rows += [(*named, quantile_name(ppm), value) for ppm, value in points]
        axes.set_xscale("log")
        axes.set_yscale("log")
        ticks = [ppm for ppm in _TICKS if ppm <= highest_ppm]
        axes.set_xticks([_at(ppm) for ppm in ticks], [quantile_name(ppm)[1:] for ppm in ticks])
        axes.set_xticks([], minor=True)
        plain_log_axis(axes.yaxis)
        axes.set_xlabel("percentile of messages")
        axes.set_ylabel(f"{title.lower()} (ms)")
        if rows:
            _legend(axes)
        svg = svg_of(figure, f"{title} by percentile, {workload}, level {level}") if rows else ""
    note = (
        f"{meaning[:1].upper()}{meaning[1:]}. Measure phase; a curve ends where fewer than ten messages lie beyond, or with a triangle "
        "where the rest were never answered."
    )
    heading = f"{title}: workload {workload}, durability level {level}"
    return Drawing(name, heading, note, svg, ("trial", "contestant", "block", "subscription", "percentile", "ms"), rows)


def _look(trial: Trial, subscription: str, palette: Palette, *, crowded: bool) -> dict[str, Any]:
    """How a trial's line is drawn: where there are many, those of a contestant look the same, and have one label."""
    colour, marker = palette.colour(trial), MARKERS[palette.place(trial)[0] % len(MARKERS)]
    if crowded:
        label = _NOT_COMPARED if trial.name in palette.excluded else trial.contestant
        return {"color": colour, "marker": marker, "linewidth": 1, "alpha": 0.7, "label": label}
    dashes = LINE_STYLES[(trial.block - 1) % len(LINE_STYLES)]
    return {"color": colour, "marker": marker, "linestyle": dashes, "label": palette.label(trial, subscription)}


def _legend(axes: Axes) -> None:
    """Each label once, what isn't compared last."""
    handles, labels = axes.get_legend_handles_labels()
    once = dict(zip(reversed(labels), reversed(handles), strict=True))
    order = sorted(once, key=lambda label: (label == _NOT_COMPARED, labels.index(label)))
    axes.legend([once[label] for label in order], order, loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0)


def _at(quantile_ppm: int) -> float:
    """Where a quantile is on the axis: one in how many messages lies beyond it."""
    return MILLION / (MILLION - quantile_ppm)


def _goes_on(evidence: Evidence, metric: str, subscription: str) -> bool:
    """Whether a curve has no value further on because those messages were never answered."""
    return any(
        found.metric == metric and found.more_than_ns is not None and subscription in ("", found.subscription)
        for found in evidence.percentiles
    )


def _points(evidence: Evidence, metric: str) -> dict[str, list[tuple[int, float]]]:
    points: dict[str, list[tuple[int, float]]] = {}
    for found in evidence.percentiles:
        drawn = found.metric == metric and _LOWEST_PPM <= found.quantile_ppm < MAXIMUM and (found.value_ns or 0) > 0
        if drawn and found.value_ns is not None and not is_withheld(evidence, found):
            points.setdefault(found.subscription, []).append((found.quantile_ppm, found.value_ns / _NS_PER_MS))
    several = len(points) > 1
    return {name if several else "": values for name, values in points.items()}
