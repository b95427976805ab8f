"""Latency against rate, one line per contestant: what was kept and what wasn't, the knee, and the goal. Both axes are logarithmic."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from analysis.bounded import Bounded
from analysis.curves.curve import METRIC, METRICS, Curve, Rung
from analysis.curves.document import Ladder, rate_words
from analysis.drawing import BLACK, GREY, MARKERS, Drawing, Palette, canvas, plain_log_axis, svg_of
from analysis.formatting import number

_HEIGHT_INCHES = 4.3
_ROOM = 1.25  # beyond the outermost rung and latency
_MOST_ABOVE = 8.0  # times the highest latency that was kept, or the goal: what is slower is drawn at the edge
_LEAST_APART = 0.055  # of the axis, between two labels of rates
_EDGE = 1.1  # below the upper end of the axis: where what is beyond it is drawn
_COLUMNS = (
    *("contestant", "rate_per_s", "block", "trial", "kept", "achieved_per_s", "p50_ms", "p99_ms", "p99_low_ms"),
    *(
        "p99_high_ms",
        "p99.9_ms",
        "median_p99_ms",
        "interval_low_ms",
        "interval_high_ms",
        "knee_per_s",
        "goal_kept_per_s",
    ),
)


def load_curve_drawings(ladders: Sequence[Ladder], palette: Palette) -> list[Drawing]:
    """One drawing per ladder and level."""
    return [_draw(ladder, palette) for ladder in ladders]


def _draw(ladder: Ladder, palette: Palette) -> Drawing:
    name = f"curve-{ladder.name}-l{ladder.level}"
    title = f"Latency against rate: ladder {ladder.name}, durability level {ladder.level}"
    order = list(palette.colours)
    curves = sorted((curve for curve, _ in ladder.curves), key=lambda each: order.index(each.contestant))
    with canvas(name, _HEIGHT_INCHES) as figure:
        axes = figure.add_subplot()
        axes.set_xscale("log")
        axes.set_yscale("log")
        _limit(axes, curves, ladder.goal_p99_ms)
        if ladder.goal_p99_ms is not None:
            axes.axhline(ladder.goal_p99_ms, color=BLACK, linewidth=1, linestyle=(0, (5, 3)))
            axes.annotate(f"goal: {ladder.goal_p99_ms:g} ms", (0, ladder.goal_p99_ms), (4, 4), va="bottom", fontsize=8.5,
                          xycoords=("axes fraction", "data"), textcoords="offset points", color=BLACK)  # fmt: skip
        handles = [
            _line(axes, curve, palette.colours[curve.contestant], MARKERS[at % len(MARKERS)])
            for at, curve in enumerate(curves)
        ]
        handles += _signs(curves)
        _label_rates(axes, sorted({rung.rate_per_s for curve in curves for rung in curve.rungs}))
        plain_log_axis(axes.yaxis)
        axes.set_xlabel("offered rate (msg/s)")
        axes.set_ylabel("response latency p99 (ms)")
        axes.legend(
            handles=handles,
            loc="upper left",
            bbox_to_anchor=(1.01, 1.0),
            borderaxespad=0,
            labelspacing=1.1,
            title="msg/s",
            title_fontsize=8.5,
            alignment="left",
        )
        svg = svg_of(figure, title)
    return Drawing(name, title, _note(curves), svg, _COLUMNS, list(_rows(curves)))


def _note(curves: Sequence[Curve]) -> str:
    note = (
        "Line: the median over blocks of the p99 from the intended send to the acknowledgement; small dots: the blocks. Cross: the "
        "rate was not kept, and the latency, cut off at the edge, grows with the length of the run. Diamond: the knee, above which "
        "one per cent more rate costs more than one per cent of latency; shaded: where it may be."
    )
    if any(found.interval for curve in curves for rung in curve.rungs if (found := rung.over_blocks(METRIC))):
        note += " Bars and what is shaded: 95 % intervals over blocks, each for its own contestant."
    return note


def _limit(axes: Axes, curves: Sequence[Curve], goal_ms: float | None) -> None:
    """Room for all that was kept and for the goal; what wasn't kept may be cut off."""
    rates = [rung.rate_per_s for curve in curves for rung in curve.rungs]
    kept, all_ms = [goal_ms] if goal_ms else [], [goal_ms] if goal_ms else []
    for curve in curves:
        for rung in curve.rungs:
            values = [p99.low if p99.value is None else p99.value for p in rung.points if (p99 := p.known.get(METRIC))]
            all_ms += values
            kept += values if rung.is_kept else []
    axes.set_xlim(min(rates) / _ROOM, max(rates) * _ROOM)
    if positive := [value for value in all_ms if value > 0]:
        highest = min(max(positive), _MOST_ABOVE * max(kept, default=max(positive)))
        axes.set_ylim(min(positive) / _ROOM, highest * _ROOM)


def _line(axes: Axes, curve: Curve, colour: str, marker: str) -> Line2D:
    """The rungs of one contestant, its knee and how far it keeps the goal; returned is its entry in the legend."""
    top = axes.get_ylim()[1] / _EDGE
    drawn = [(rung, min(value, top)) for rung in curve.rungs if (value := _median(rung)) is not None]
    kept = [(rung.rate_per_s, value) for rung, value in drawn if rung.is_kept]
    axes.plot(
        [rate for rate, _ in kept], [value for _, value in kept], color=colour, marker=marker, markersize=5, zorder=3
    )
    for rung, value in drawn:
        if not rung.is_kept:
            axes.plot([rung.rate_per_s], [value], "x", color=colour, markersize=6, markeredgewidth=1.6)
        values = [p99.value for point in rung.points if (p99 := point.known.get(METRIC)) and p99.value]
        axes.plot(
            [rung.rate_per_s] * len(values), np.minimum(values, top), ".", color=colour, markersize=2.5, alpha=0.6
        )
        found = rung.over_blocks(METRIC)
        if rung.is_kept and found is not None and found.interval is not None:
            axes.vlines(rung.rate_per_s, found.interval.low, min(found.interval.high, top), color=colour, linewidth=1.2)
    beyond = [
        (rung.rate_per_s, value) for rung, value in drawn if not rung.is_kept and kept and rung.rate_per_s > kept[-1][0]
    ]
    if beyond:
        (left, low), (right, high) = kept[-1], beyond[0]
        axes.plot([left, right], [low, high], color=colour, linewidth=0.9, linestyle=":")
    _mark_knee(axes, curve, [*kept, *beyond[:1]], colour)
    return Line2D([], [], color=colour, marker=marker, markersize=5, label=_label(curve))


def _signs(curves: Sequence[Curve]) -> list[Line2D]:
    """What the signs mean, of those that are drawn."""
    found = []
    if any(curve.knee and curve.knee.median.value for curve in curves):
        looks: dict[str, Any] = {"markersize": 7, "markerfacecolor": "white", "markeredgewidth": 1.6}
        found.append(Line2D([], [], color=GREY, linestyle="", marker="D", label="knee", **looks))
    if any(not rung.is_kept for curve in curves for rung in curve.rungs):
        found.append(Line2D([], [], color=GREY, linestyle="", marker="x", markersize=6, label="rate not kept"))
    return found


def _label(curve: Curve) -> str:
    """What is to be known of it, beside its colour."""
    lines = [curve.contestant]
    if curve.at_goal is not None:
        lines.append(f"goal kept: {_up_to(curve.at_goal.median)}")
    lines.append(f"knee: {rate_words(curve.knee.median) if curve.knee else 'not found'}")
    return "\n".join(lines)


def _up_to(known: Bounded) -> str:
    if known.low <= 0:
        return "at no rung" if known.value is None and known.high > 0 else rate_words(known)
    return (
        f"up to {number(known.value)}" if known.value is not None and math.isfinite(known.high) else rate_words(known)
    )


def _mark_knee(axes: Axes, curve: Curve, line: Sequence[tuple[float, float]], colour: str) -> None:
    """On the line, of which the part is shaded in which it may be."""
    knee = curve.knee
    if knee is None or len(line) < 2:
        return
    logs = np.log(np.array(line, dtype=float))

    def height(rate: float) -> float:
        return math.exp(float(np.interp(math.log(rate), logs[:, 0], logs[:, 1])))

    median, interval = knee.median, knee.interval
    ends = (interval.low, interval.high) if interval else (median.low, median.high)
    low, high = max(ends[0], line[0][0]), min(ends[1], line[-1][0])
    if low < high:
        inside = [low, *(rate for rate, _ in line if low < rate < high), high]
        axes.plot(
            inside, [height(rate) for rate in inside], color=colour, linewidth=9, alpha=0.2, solid_capstyle="butt"
        )
    if median.value is not None:
        axes.plot([median.value], [height(median.value)], "D", markersize=9, markerfacecolor="white",
                  markeredgecolor=colour, markeredgewidth=1.8, zorder=5)  # fmt: skip


def _label_rates(axes: Axes, rates: Sequence[int]) -> None:
    """The rungs on the axis, as many as there is room for; the highest is always there."""
    low, high = (math.log(end) for end in axes.get_xlim())
    shown: list[int] = []
    for rate in reversed(rates):
        apart = (math.log(shown[-1]) - math.log(rate)) / (high - low) if shown else math.inf
        if apart >= _LEAST_APART + 0.011 * len(f"{rate:,}"):
            shown.append(rate)
    axes.set_xticks(shown, [f"{rate:,}" for rate in shown])
    axes.xaxis.set_minor_locator(NullLocator())


def _median(rung: Rung) -> float | None:
    """The p99 to be drawn: of what has only a lower bound, that."""
    found = rung.over_blocks(METRIC)
    if found is None:
        return None
    told = found.median.low if found.median.value is None else found.median.value
    return told if told > 0 else None


def _rows(curves: Sequence[Curve]) -> Iterator[tuple[Any, ...]]:
    """One per trial."""
    for curve in curves:
        over = [found and found.median.value for found in (curve.knee, curve.at_goal)]
        for rung in curve.rungs:
            found = rung.over_blocks(METRIC)
            interval = found and found.interval
            ends = (interval.low, _finite(interval.high)) if interval else (None, None)
            for point in rung.points:
                rate, p50, p99, p999 = (point.known.get(metric) for metric in METRICS)
                bounds = (p99.value, p99.low, _finite(p99.high)) if p99 else (None, None, None)
                named = (curve.contestant, rung.rate_per_s, point.block, point.evidence.trial.name, point.kept)
                told = (rate and rate.value, p50 and p50.value, *bounds, p999 and p999.value)
                yield (*named, *told, found and found.median.value, *ends, *over)


def _finite(value: float) -> float | None:
    return None if math.isinf(value) else value
