"""How long it took after a fault: a dot for each block, a bar at their median, a line for its interval, contestant by contestant."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes

from analysis.bounded import Bounded
from analysis.curves.over_blocks import OverBlocks
from analysis.drawing import BLACK, Drawing, Palette, canvas, plain_log_axis, svg_of
from analysis.faults.document import FaultOfCell, Felt
from analysis.faults.measures import ACKNOWLEDGED, END_TO_END_BACK, GAP, GAP_OF_PARTITION, RESPONSE_BACK
from analysis.formatting import bounded_quantity

_PANELS: Mapping[str, str] = {
    GAP: "longest gap without acknowledgements (s)",
    GAP_OF_PARTITION: "longest gap of any one partition (s)",
    ACKNOWLEDGED: "until every partition was acknowledged (s)",
    RESPONSE_BACK: "until response latency was in its band (s)",
    END_TO_END_BACK: "until end-to-end latency was (s)",
}
_COLUMNS = 2
_ROW_INCHES, _AROUND_INCHES = 0.28, 0.78
_HALF_ROW = 0.32
_ROOM = 1.5
_NOTE = (
    "A circle per block, a bar at their median, on the right the median. Line: the median's interval, where there are 6 blocks or "
    "more. A triangle to the left: less than that, it was never disturbed; to the right: more than that, it wasn't over when the time "
    "was."
)
_NAMES = (
    "metric",
    "contestant",
    "block",
    "value_s",
    "low_s",
    "high_s",
    "median_s",
    "interval_low_s",
    "interval_high_s",
)


def recovery_drawings(faults: Sequence[FaultOfCell], palette: Palette) -> list[Drawing]:
    """One drawing per fault and cell of which something is known."""
    return [_draw(each, palette) for each in faults if any(felt.figures for felt in each.felt)]


def _draw(fault: FaultOfCell, palette: Palette) -> Drawing:
    metrics = [name for name in _PANELS if any(name in felt.figures for felt in fault.felt)]
    rows = math.ceil(len(metrics) / _COLUMNS)
    name = f"recovery-{fault.name}"
    title = f"Recovery: workload {fault.cell[0]}, durability level {fault.cell[1]}, fault {fault.number + 1} ({fault.words})"
    with canvas(name, rows * (_AROUND_INCHES + _ROW_INCHES * len(fault.felt))) as figure:
        panels = list(figure.subplots(rows, min(_COLUMNS, len(metrics)), squeeze=False).flat)
        limits = _limits(
            [known for metric in metrics for own in _known(fault.felt, metric) for known in own.blocks.values()]
        )
        for axes, metric in zip(panels, metrics, strict=False):
            _panel(axes, fault.felt, metric, limits, palette)
        for axes in panels[len(metrics) :]:
            axes.set_axis_off()
        figure.tight_layout(h_pad=1.2, w_pad=1.0)
        svg = svg_of(figure, title)
    return Drawing(name, title, _NOTE, svg, _NAMES, list(_rows(fault, metrics)))


def _known(felt: Sequence[Felt], metric: str) -> list[OverBlocks]:
    return [each.figures[metric] for each in felt if metric in each.figures]


def _limits(values: Sequence[Bounded]) -> tuple[float, float]:
    """One axis for all panels: from the lowest to the highest end that is known."""
    ends = [end for known in values for end in (known.low, known.high) if 0 < end < math.inf]
    return min(ends, default=0.1) / _ROOM, max(ends, default=10.0) * _ROOM


def _panel(axes: Axes, felt: Sequence[Felt], metric: str, limits: tuple[float, float], palette: Palette) -> None:
    axes.set_xscale("log")
    axes.set_xlim(limits)
    for row, each in enumerate(felt):
        if metric not in each.figures:
            continue
        own, colour = each.figures[metric], palette.colours[each.contestant]
        if own.interval is not None:
            ends = [min(max(end, limits[0]), limits[1]) for end in (own.interval.low, own.interval.high)]
            axes.plot(ends, [row, row], color=colour, linewidth=2.2, solid_capstyle="butt")
        if own.median.value is not None and own.median.value > 0:
            axes.plot([own.median.value] * 2, [row - _HALF_ROW, row + _HALF_ROW], color=colour, linewidth=2.2)
        for known in own.blocks.values():
            _dot(axes, row, known, colour)
        axes.annotate(bounded_quantity(own.median.to_json(), "s"), (1, row), (4, 0), xycoords=("axes fraction", "data"),
                      textcoords="offset points", va="center", fontsize=8, color=BLACK)  # fmt: skip
    plain_log_axis(axes.xaxis)
    axes.set_yticks(range(len(felt)), [each.contestant for each in felt])
    axes.tick_params(which="both", labelsize=8, length=2)
    axes.set_ylim(len(felt) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.set_title(_PANELS[metric], loc="left", fontsize=9.5, color=BLACK)


def _dot(axes: Axes, row: int, known: Bounded, colour: str) -> None:
    if known.value is not None:
        at, marker = known.value, "o"
    elif math.isinf(known.high):
        at, marker = known.low, ">"
    else:
        at, marker = known.high, "<"
    if at > 0:
        axes.plot([at], [row], marker, markersize=4, color=colour, markerfacecolor="none")


def _rows(fault: FaultOfCell, metrics: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    for metric in metrics:
        for felt in fault.felt:
            if metric not in felt.figures:
                continue
            own = felt.figures[metric]
            ends = (own.interval.low, _finite(own.interval.high)) if own.interval else (None, None)
            for block, known in sorted(own.blocks.items()):
                values = (known.value, known.low, _finite(known.high))
                yield (metric, felt.contestant, block, *values, own.median.value, *ends)


def _finite(value: float) -> float | None:
    return None if math.isinf(value) else value
