"""The contestants of a cell against the best of them, metric by metric: the blocks' ratios, their median and its interval."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from matplotlib.axes import Axes

from analysis.comparison import Cell
from analysis.drawing import BLACK, GREY, WARMUP_SHADE, Drawing, Palette, canvas, plain_log_axis, svg_of
from analysis.formatting import bounded_quantity
from analysis.ranking import LOWER, Ranking, several
from analysis.ratio_figure import axis_limits, draw_block, inside

_COLUMNS = 2
_ROW_INCHES, _AROUND_INCHES = 0.25, 0.72
_HALF_ROW = 0.34
_ROOM = 1.08  # beyond the outermost ratio


def ranking_drawings(rankings: Sequence[Ranking], palette: Palette) -> list[Drawing]:
    """One drawing per cell of three contestants or more; two have the figure of their comparison."""
    cells, of_several = groupby(rankings, key=lambda ranking: ranking.cell), several(rankings)
    return [_draw(cell, list(own), palette) for cell, own in cells if cell in of_several]


def _draw(cell: Cell, rankings: Sequence[Ranking], palette: Palette) -> Drawing:
    workload, level = cell
    name, title = f"ranking-{workload}-l{level}", f"All against the best: workload {workload}, durability level {level}"
    rows, columns = math.ceil(len(rankings) / _COLUMNS), min(_COLUMNS, len(rankings))
    most = max(len(each.places) for each in rankings)
    with canvas(name, rows * (_AROUND_INCHES + _ROW_INCHES * most)) as figure:
        panels = list(figure.subplots(rows, columns, squeeze=False).flat)
        limits = axis_limits(*_drawn_range(rankings))
        for axes, ranking in zip(panels, rankings, strict=False):
            _panel(axes, ranking, most, limits, palette)
        for axes in panels[len(rankings) :]:
            axes.set_axis_off()
        figure.tight_layout(h_pad=1.2, w_pad=1.0)
        svg = svg_of(figure, title)
    return Drawing(name, title, _note(rankings), svg, _COLUMN_NAMES, list(_rows(rankings)))


def _note(rankings: Sequence[Ranking]) -> str:
    note = (
        "Best median on top, the others as multiples of it: a circle per block, a bar at their median. On the right the median of the "
        "contestant's own trials."
    )
    against = [each.against_best for ranking in rankings for each in ranking.places if each.against_best]
    if any(each.interval for each in against):
        note += " Line: the median's interval. Behind the dot: the places that the comparisons of all pairs leave open."
    if any(each.band for each in against):
        note += " Shaded: how far a system differs from itself."
    if any(entry.ratio.value is None for each in against for entry in each.blocks):
        note += " A triangle: all that is known is that the ratio lies beyond."
    return note


def _panel(axes: Axes, ranking: Ranking, most: int, limits: tuple[float, float], palette: Palette) -> None:
    axes.set_xscale("log")
    axes.set_xlim(limits)
    axes.axvline(1, color=GREY, linewidth=1)
    for row, place in enumerate(ranking.places):
        _row(axes, row, ranking, limits, palette.colours[place.contestant])
        told = bounded_quantity(place.median.to_json(), ranking.unit) + (f" · {place.words}" if ranking.tested else "")
        axes.annotate(told, (1, row), (4, 0), xycoords=("axes fraction", "data"), textcoords="offset points",
                      va="center", fontsize=8, color=BLACK)  # fmt: skip
    plain_log_axis(axes.xaxis)
    axes.set_yticks(range(len(ranking.places)), [place.contestant for place in ranking.places])
    axes.tick_params(labelsize=8, length=2)
    axes.set_ylim(most - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    best = "lowest" if ranking.better == LOWER else "highest"
    axes.set_title(f"{ranking.called}, × the {best}", loc="left", fontsize=9.5, color=BLACK)


def _row(axes: Axes, row: int, ranking: Ranking, limits: tuple[float, float], colour: str) -> None:
    against = ranking.places[row].against_best
    if against is None:
        if row == 0:
            axes.plot([1], [row], "D", markersize=5.5, color=colour)
        return
    if against.band is not None:
        ends = inside(against.band.low, against.band.high, limits)
        axes.fill_betweenx([row - _HALF_ROW, row + _HALF_ROW], *ends, color=WARMUP_SHADE, lw=0, zorder=0)
    if against.interval is not None:
        ends = inside(against.interval.low, against.interval.high, limits)
        axes.plot(ends, [row, row], color=colour, linewidth=2.2, solid_capstyle="butt")
    if against.median.value is not None:
        axes.plot([against.median.value] * 2, [row - _HALF_ROW, row + _HALF_ROW], color=colour, linewidth=2.2)
    for entry in against.blocks:
        draw_block(axes, row, entry.ratio, limits, colour)


def _drawn_range(rankings: Sequence[Ranking]) -> tuple[float, float]:
    """The smallest and the largest ratio that is drawn of any metric, with room beyond."""
    ends = []
    for against in filter(None, (place.against_best for ranking in rankings for place in ranking.places)):
        ends += [end for entry in against.blocks for end in (entry.ratio.low, entry.ratio.high)]
        ends += [against.interval.low, against.interval.high] if against.interval else []
    drawn = [end for end in ends if 0 < end < math.inf]
    return min(drawn, default=1.0) / _ROOM, max(drawn, default=1.0) * _ROOM


_COLUMN_NAMES = (
    *("metric", "contestant", "first_place", "last_place", "median", "unit", "trials"),
    *("block", "value", "best_value", "ratio", "ratio_low", "ratio_high", "interval_low", "interval_high"),
)


def _rows(rankings: Sequence[Ranking]) -> Iterator[tuple[Any, ...]]:
    """One per block of each contestant but the first, which has one without a block."""
    for ranking in rankings:
        for place in ranking.places:
            named = (
                ranking.metric,
                place.contestant,
                place.first,
                place.last,
                place.median.value,
                ranking.unit,
                place.trials,
            )
            against = place.against_best
            ends = (
                (against.interval.low, _finite(against.interval.high)) if against and against.interval else (None, None)
            )
            for entry in against.blocks if against else ():
                ratio = entry.ratio
                values = (entry.first.value, entry.second.value, ratio.value, ratio.low, _finite(ratio.high))
                yield (*named, entry.block, *values, *ends)
            if against is None:
                yield (*named, *(None,) * 8)


def _finite(value: float) -> float | None:
    return None if math.isinf(value) else value
