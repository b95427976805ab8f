"""Percentile curves: how much of the traffic was how slow, one line per trial. Every point is an exact percentile."""

from __future__ import annotations

from collections.abc import Sequence, Set

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.campaign import Trial
from analysis.comparison import Cell
from analysis.drawing import GREY, LINE_STYLES, MARKERS, Drawing, contestant_colours, plain_log_axis, style, svg_of
from analysis.evidence import Evidence
from analysis.latencies import END_TO_END, PUBLISH, RESPONSE
from analysis.metrics import is_withheld
from analysis.percentiles import MAXIMUM, MILLION, quantile_name

CURVES = {
    RESPONSE: ("Response latency", "from the intended send to the acknowledgement"),
    PUBLISH: ("Publish latency", "from the actual send to the acknowledgement"),
    END_TO_END: ("End-to-end latency", "from the intended send to the consumer"),
}
_TICKS = (500_000, 900_000, 990_000, 999_000, 999_900, 999_990)
_NS_PER_MS = 1e6
_LOWEST_PPM = 100_000


def curve_drawings(trials: Sequence[Evidence], contestants: Sequence[str], excluded: Set[str]) -> list[Drawing]:
    """One drawing per cell and latency; `contestants` in the order of their colours; `excluded` trials are grey."""
    cells = dict.fromkeys(evidence.trial.cell for evidence in trials)
    found = (
        _draw([evidence for evidence in trials if evidence.trial.cell == cell], cell, metric, contestants, excluded)
        for cell in cells
        for metric in CURVES
    )
    return [drawing for drawing in found if drawing.rows]


def _draw(
    trials: Sequence[Evidence], cell: Cell, metric: str, contestants: Sequence[str], excluded: Set[str]
) -> Drawing:
    workload, level = cell
    title, meaning = CURVES[metric]
    name = f"percentiles-{workload}-l{level}-{metric.replace('_', '-')}"
    rows: list[tuple[str, str, int, str, str, float]] = []
    colours = contestant_colours(contestants)
    with style(name):
        figure = Figure(figsize=(7.6, 3.7))
        axes = figure.add_subplot()
        highest_ppm = _TICKS[0]
        for evidence in sorted(trials, key=lambda e: (contestants.index(e.trial.contestant), e.trial.block)):
            for subscription, points in _points(evidence, metric).items():
                trial = evidence.trial
                order = list(contestants).index(trial.contestant)
                axes.plot(
                    [MILLION / (MILLION - ppm) for ppm, _ in points],
                    [value for _, value in points],
                    color=GREY if trial.name in excluded else colours[trial.contestant],
                    linestyle=LINE_STYLES[(trial.block - 1) % len(LINE_STYLES)],
                    marker=MARKERS[order % len(MARKERS)],
                    label=_label(trial, subscription, trial.name in excluded),
                )
                _mark_unanswered(axes, evidence, metric, subscription, points[-1], color=colours[trial.contestant])
                highest_ppm = max(highest_ppm, points[-1][0])
                named = (trial.name, trial.contestant, trial.block, subscription)
                rows += [(*named, quantile_name(ppm), value) for ppm, value in points]
        axes.set_xscale("log")
        axes.set_yscale("log")
        ticks = [ppm for ppm in _TICKS if ppm <= highest_ppm]
        axes.set_xticks([MILLION / (MILLION - ppm) for ppm in ticks], [quantile_name(ppm)[1:] for ppm in ticks])
        axes.set_xticks([], minor=True)
        plain_log_axis(axes.yaxis)
        axes.set_xlabel("percentile of messages")
        axes.set_ylabel(f"{title.lower()} (ms)")
        if rows:
            axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0)
        svg = svg_of(figure, f"{title} by percentile, {workload}, level {level}") if rows else ""
    note = (
        f"{meaning[:1].upper()}{meaning[1:]}. Measure phase; a curve ends where fewer than ten messages lie beyond, or with a triangle "
        "where the rest were never answered."
    )
    heading = f"{title}: workload {workload}, durability level {level}"
    return Drawing(name, heading, note, svg, ("trial", "contestant", "block", "subscription", "percentile", "ms"), rows)


def _mark_unanswered(
    axes: Axes, evidence: Evidence, metric: str, subscription: str, last: tuple[int, float], *, color: str
) -> None:
    """A triangle at the end of a curve that has no value further on, because those messages were never answered."""
    if any(
        found.metric == metric and found.more_than_ns is not None and subscription in ("", found.subscription)
        for found in evidence.percentiles
    ):
        ppm, value = last
        axes.plot([MILLION / (MILLION - ppm)], [value], "^", markersize=8, color=color)


def _label(trial: Trial, subscription: str, is_excluded: bool) -> str:
    parts = [f"{trial.contestant}, block {trial.block}", subscription, "not compared" if is_excluded else ""]
    return ", ".join(part for part in parts if part)


def _points(evidence: Evidence, metric: str) -> dict[str, list[tuple[int, float]]]:
    points: dict[str, list[tuple[int, float]]] = {}
    for found in evidence.percentiles:
        drawn = found.metric == metric and _LOWEST_PPM <= found.quantile_ppm < MAXIMUM and (found.value_ns or 0) > 0
        if drawn and found.value_ns is not None and not is_withheld(evidence, found):
            points.setdefault(found.subscription, []).append((found.quantile_ppm, found.value_ns / _NS_PER_MS))
    several = len(points) > 1
    return {name if several else "": values for name, values in points.items()}
