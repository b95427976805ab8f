"""Every block's ratio of two contestants, metric by metric, with the interval of their median and the noise band."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

from matplotlib.axes import Axes

from analysis.bounded import Bounded
from analysis.comparison import Comparison
from analysis.drawing import BLACK, FIRST_COLOUR, GREY, WARMUP_SHADE, Drawing, canvas, plain_log_axis, svg_of
from analysis.formatting import words

_ROW_INCHES, _AROUND_INCHES = 0.34, 0.95
_HALF_ROW = 0.32
AXIS_FROM = 0.9
_ROOM = 1.06  # beyond the outermost ratio


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
    with canvas(name, _AROUND_INCHES + _ROW_INCHES * len(found)) as figure:
        axes = figure.add_subplot()
        axes.axvline(1, color=GREY, linewidth=1)
        axes.set_xscale("log")
        limits = axis_limits(*_drawn_range(found))
        axes.set_xlim(limits)
        for row, comparison in enumerate(found):
            _draw_row(axes, row, comparison, limits)
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
    if any(entry.ratio.value is None for comparison in found for entry in comparison.ratios):
        note += " A triangle: the ratio of a block is not known, but lies beyond: a value fell among messages never answered."
    rows = [
        (
            *(comparison.metric, entry.block, entry.first.value, entry.second.value, comparison.unit),
            *(entry.ratio.value, entry.ratio.low, _finite(entry.ratio.high), comparison.median.value),
            *_bounds(comparison),
        )
        for comparison in found
        for entry in comparison.ratios
    ]
    columns = (
        *("metric", "block", first, second, "unit", "ratio", "ratio_low", "ratio_high", "median_ratio"),
        *("interval_low", "interval_high", "band_low", "band_high"),
    )
    return Drawing(name, title, note, svg, columns, rows)


def _drawn_range(found: Sequence[Comparison]) -> tuple[float, float]:
    """The smallest and the largest ratio that is drawn, with room for what lies beyond."""
    ends = [
        end
        for each in found
        for end in (*_bounds(each), *(_finite(e) for r in each.ratios for e in (r.ratio.low, r.ratio.high)))
    ]
    drawn = [end for end in ends if end]
    low, high = min(drawn, default=1.0), max(drawn, default=1.0)
    return low / _ROOM, high * _ROOM


def _draw_row(axes: Axes, row: int, comparison: Comparison, limits: tuple[float, float]) -> None:
    interval, band = comparison.certainty.interval, comparison.certainty.band
    if band is not None:
        ends = inside(band.low, band.high, limits)
        axes.fill_betweenx([row - _HALF_ROW, row + _HALF_ROW], *ends, color=WARMUP_SHADE, lw=0, zorder=0)
    if interval is not None:
        ends = inside(interval.low, interval.high, limits)
        axes.plot(ends, [row, row], color=BLACK, linewidth=2, solid_capstyle="butt")
    if comparison.median.value is not None:
        axes.plot([comparison.median.value] * 2, [row - _HALF_ROW, row + _HALF_ROW], color=BLACK, linewidth=1.6)
    for entry in comparison.ratios:
        draw_block(axes, row, entry.ratio, limits, FIRST_COLOUR)


def draw_block(axes: Axes, row: int, ratio: Bounded, limits: tuple[float, float], colour: str) -> None:
    """A circle where the ratio is; a triangle where all that is known is on which side of a bound; nothing where not even that is."""
    marker, at = "o", ratio.value
    if at is None and math.isinf(ratio.high):
        marker, at = ">", ratio.low
    elif at is None:
        marker, at = "<", ratio.high
    if not ratio.is_exact:
        axes.plot(inside(ratio.low, ratio.high, limits), [row, row], color=colour, linewidth=0.8)
    if 0 < at < math.inf:
        axes.plot([at], [row], marker, markersize=5, markerfacecolor="none", color=colour)


def inside(low: float, high: float, limits: tuple[float, float]) -> tuple[float, float]:
    """What is drawn of a line that may have no end."""
    return max(low, limits[0]), min(high, limits[1])


def _bounds(comparison: Comparison) -> tuple[float | None, ...]:
    interval, band = comparison.certainty.interval, comparison.certainty.band
    return (
        *((interval.low, _finite(interval.high)) if interval else (None, None)),
        *((band.low, _finite(band.high)) if band else (None, None)),
    )


def _finite(value: float) -> float | None:
    return None if math.isinf(value) else value
