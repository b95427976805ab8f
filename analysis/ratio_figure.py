"""Every block's ratio of two contestants, metric by metric, with the interval of their median and the noise band. For looking."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.comparison import Comparison
from analysis.drawing import BLACK, CONTESTANT_COLOURS, GREY, WARMUP_SHADE, Drawing, plain_log_axis, style, svg_of
from analysis.formatting import words

_ROW_INCHES, _AROUND_INCHES = 0.34, 0.95
_HALF_ROW = 0.32
AXIS_FROM = 0.9


def ratio_drawings(comparisons: Sequence[Comparison]) -> list[Drawing]:
    """One drawing per cell and pair of contestants, in the order of the comparisons."""
    pairs = groupby(comparisons, key=lambda found: (found.cell, found.first, found.second))
    return [_draw(list(group)) for _, group in pairs]


def axis_limits(low: float, high: float) -> tuple[float, float]:
    """The axis: as far as what was drawn, and at least a tenth to either side, so that no thousandth looks like a difference."""
    return min(low, AXIS_FROM), max(high, 1 / AXIS_FROM)


def _draw(found: Sequence[Comparison]) -> Drawing:
    (workload, level), first, second = found[0].cell, found[0].first, found[0].second
    name, title = f"ratios-{workload}-l{level}-{first}-{second}", f"{first} over {second}, block by block"
    with style(name):
        figure = Figure(figsize=(7.6, _AROUND_INCHES + _ROW_INCHES * len(found)))
        axes = figure.add_subplot()
        axes.axvline(1, color=GREY, linewidth=1)
        for row, comparison in enumerate(found):
            _draw_row(axes, row, comparison)
        axes.set_xscale("log")
        axes.set_xlim(axis_limits(*axes.get_xlim()))
        plain_log_axis(axes.xaxis)
        axes.set_yticks(range(len(found)), [words(comparison.metric) for comparison in found])
        axes.set_ylim(len(found) - 0.5, -0.5)
        axes.grid(visible=False, axis="y")
        axes.set_xlabel(f"{first} / {second} (right of 1: {first}'s value is the larger)")
        svg = svg_of(figure, f"{title}, {workload}, level {level}")
    note = (
        "A circle per block, a bar at their median. Line: the median's interval, where there are blocks enough. "
        "Shaded: how far a system differs from itself, where A/A blocks tell."
    )
    rows = [
        (
            *(
                comparison.metric,
                entry.block,
                entry.first,
                entry.second,
                comparison.unit,
                entry.ratio,
                comparison.median,
            ),
            *(_bounds(comparison)),
        )
        for comparison in found
        for entry in comparison.ratios
    ]
    columns = (
        *("metric", "block", first, second, "unit", "ratio", "median_ratio"),
        *("interval_low", "interval_high", "band_low", "band_high"),
    )
    return Drawing(name, title, note, svg, columns, rows)


def _draw_row(axes: Axes, row: int, comparison: Comparison) -> None:
    interval, band = comparison.certainty.interval, comparison.certainty.band
    if band is not None:
        axes.fill_betweenx([row - _HALF_ROW, row + _HALF_ROW], band.low, band.high, color=WARMUP_SHADE, lw=0, zorder=0)
    if interval is not None:
        axes.plot([interval.low, interval.high], [row, row], color=BLACK, linewidth=2, solid_capstyle="butt")
    axes.plot([comparison.median] * 2, [row - _HALF_ROW, row + _HALF_ROW], color=BLACK, linewidth=1.6)
    values = [entry.ratio for entry in comparison.ratios]
    axes.plot(values, [row] * len(values), "o", markersize=5, markerfacecolor="none", color=CONTESTANT_COLOURS[0])


def _bounds(comparison: Comparison) -> tuple[float | None, ...]:
    interval, band = comparison.certainty.interval, comparison.certainty.band
    return (
        *((interval.low, interval.high) if interval else (None, None)),
        *((band.low, band.high) if band else (None, None)),
    )
