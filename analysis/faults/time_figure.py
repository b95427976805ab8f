"""What users saw around a fault, in steps of a tenth of a second: all contestants side by side, on the same axes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes

from analysis.campaign import NANOSECONDS
from analysis.drawing import BLACK, GREY, PART_COLOURS, Drawing, Palette, canvas, plain_log_axis, svg_of
from analysis.evidence import Evidence
from analysis.faults.document import FaultOfCell, Felt
from analysis.faults.impact import DRAWN_BEFORE_NS, Impact
from analysis.faults.latency import SLOT_NS
from analysis.faults.measures import fault_measures
from analysis.records.latencies import RESPONSE
from analysis.records.seconds import ACKNOWLEDGED

_BEFORE_S = DRAWN_BEFORE_NS / NANOSECONDS
_LEAST_AFTER_S, _MOST_AFTER_S = 8.0, 60.0
_SLOTS_PER_S = NANOSECONDS // SLOT_NS
_COLUMNS = 3  # contestants side by side
_HEIGHT_INCHES = 3.9
_NS_PER_MS = 1e6
_NOTE = (
    "Above: acknowledgements a second, as they came; below: response latency by intended time, median and longest of each tenth of a "
    "second, and the p99 where one has 1,000 messages. Bold: the block whose gap of a partition is the median; faint: the others. Zero "
    "is when the fault took effect (solid), dashed when it was undone, dotted when all replicas were whole again."
)
_NAMES = ("contestant", "trial", "seconds", "acknowledged_per_s", "p50_ms", "p99_ms", "max_ms", "due", "late_messages")
Series = Mapping[float, Mapping[str, Any]]


def around_faults(faults: Sequence[FaultOfCell], palette: Palette) -> list[Drawing]:
    """One drawing per fault and cell that took effect in some trial."""
    return [_draw(each, palette) for each in faults if any(felt.found for felt in each.felt)]


def _draw(fault: FaultOfCell, palette: Palette) -> Drawing:
    felt = [each for each in fault.felt if each.found]
    columns = min(_COLUMNS, len(felt))
    bands = -(-len(felt) // columns)
    name, title = f"around-{fault.name}", f"Around fault {fault.number + 1} ({fault.words})"
    title += f": workload {fault.cell[0]}, durability level {fault.cell[1]}"
    with canvas(name, _HEIGHT_INCHES * bands) as figure:
        panels = figure.subplots(2 * bands, columns, sharex=True, squeeze=False)
        for at, own in enumerate(felt):
            band, column = divmod(at, columns)
            _contestant(panels[2 * band][column], panels[2 * band + 1][column], own, palette)
        _share(panels, felt, columns)
        for band in range(bands):
            panels[2 * band][0].set_ylabel("acks/s")
            panels[2 * band + 1][0].set_ylabel("response (ms)")
        figure.supxlabel("seconds from the fault", fontsize=9.5)
        figure.tight_layout(h_pad=0.6, w_pad=0.6)
        svg = svg_of(figure, title)
    rows = [row for own in felt for evidence, impact in own.found for row in _rows(own, evidence, impact)]
    return Drawing(name, title, _NOTE, svg, _NAMES, rows)


def _contestant(above: Axes, below: Axes, felt: Felt, palette: Palette) -> None:
    typical = _typical(felt)
    colour = palette.colours[felt.contestant]
    for evidence, impact in felt.found:
        bold = evidence is typical[0]
        acked, response = _series(impact, ACKNOWLEDGED), _series(impact, RESPONSE)
        times = _slots(impact)
        rates = [acked.get(at, {"due": 0})["due"] * _SLOTS_PER_S for at in times]
        alpha = 1.0 if bold else 0.3
        above.step(times, rates, where="post", color=colour, linewidth=1.2 if bold else 0.6, alpha=alpha)
        lines = (("max", GREY, "-"), ("p99", PART_COLOURS[3], "--"), ("p50", colour, "-"))
        for line, shade, dashes in lines if bold else lines[:1]:
            points = [(at, row[f"{line}_ns"] / _NS_PER_MS) for at, row in sorted(response.items()) if row[f"{line}_ns"]]
            if points:
                below.plot(*zip(*points, strict=True), color=shade, linestyle=dashes, linewidth=1.2 if bold else 0.6,
                           alpha=alpha, label=line if bold else "_")  # fmt: skip
    for axes in (above, below):
        _mark(axes, typical[1])
    above.set_title(f"{felt.contestant} (bold: block {typical[0].trial.block})", fontsize=9, loc="left", color=BLACK)
    below.set_yscale("log")


def _share(panels: Any, felt: Sequence[Felt], columns: int) -> None:
    """One axis of each kind for all contestants; what is left over of the grid is empty."""
    rows, used = len(panels), len(felt)
    for half in (0, 1):
        own = [panels[2 * (at // columns) + half][at % columns] for at in range(used)]
        low, high = min(axes.get_ylim()[0] for axes in own), max(axes.get_ylim()[1] for axes in own)
        for axes in own:
            axes.set_ylim((0, _highest_rate(felt)) if half == 0 else (low, high))
            axes.set_xlim(-_BEFORE_S, max(_after_s(impact) for each in felt for _, impact in each.found))
            axes.tick_params(which="both", labelsize=8)
            if half:
                plain_log_axis(axes.yaxis)
            if axes is not own[0]:
                axes.tick_params(which="both", labelleft=False)
    panels[1][0].legend(loc="upper right", fontsize=7.5)
    for at in range(used, rows // 2 * columns):
        for half in (0, 1):
            panels[2 * (at // columns) + half][at % columns].set_axis_off()


def _highest_rate(felt: Sequence[Felt]) -> float:
    """From the fault on, with room above: what was before may have been another's burst."""
    found = [impact for each in felt for _, impact in each.found]
    acked = [row for impact in found for row in impact.around if row["metric"] == ACKNOWLEDGED and row["at_s"] >= 0]
    return 1.08 * max([row["due"] for row in acked], default=1) * _SLOTS_PER_S


def _typical(felt: Felt) -> tuple[Evidence, Impact]:
    """The trial whose gap of a partition is the median, or the longer of the two in the middle."""
    ordered = sorted(felt.found, key=lambda each: max([gap.length_s.low for gap in each[1].partitions], default=0.0))
    return ordered[len(ordered) // 2]


def _after_s(impact: Impact) -> float:
    """Until when something happened, and half as long again."""
    window_ns = impact.occurrence.window_ns or (0, 0)
    timed = [known.low for name, unit, known, _ in fault_measures(impact) if unit == "s" and "_after" in name]
    ended_ns, began_ns = impact.occurrence.ended_ns, window_ns[0]
    timed.append((ended_ns - began_ns) / NANOSECONDS if ended_ns else 0.0)
    wanted = min(_MOST_AFTER_S, max(_LEAST_AFTER_S, 1.5 * max(timed)))
    return min(wanted, (window_ns[1] - began_ns) / NANOSECONDS)


def _series(impact: Impact, metric: str) -> Series:
    """By seconds from the fault."""
    return {row["at_s"]: row for row in impact.around if row["metric"] == metric}


def _slots(impact: Impact) -> list[float]:
    """When each slot with anything in it begins. A slot in which nothing was due or acknowledged, as between two bursts, has no row."""
    return sorted({row["at_s"] for row in impact.around})


def _mark(axes: Axes, impact: Impact) -> None:
    fault, began_ns = impact.occurrence, impact.occurrence.began_ns or 0
    for time_ns, dashes in ((fault.began_ns, "-"), (fault.ended_ns, "--"), (fault.back_ns, ":")):
        if time_ns is not None:
            axes.axvline((time_ns - began_ns) / NANOSECONDS, color=BLACK, linewidth=0.8, linestyle=dashes)


def _rows(felt: Felt, evidence: Evidence, impact: Impact) -> Iterator[tuple[Any, ...]]:
    acked, response = _series(impact, ACKNOWLEDGED), _series(impact, RESPONSE)
    for at_s in _slots(impact):
        row = response.get(at_s, {})
        values = [row.get(f"{name}_ns") for name in ("p50", "p99", "max")]
        rate = acked.get(at_s, {"due": 0})["due"] * _SLOTS_PER_S
        times = [value / _NS_PER_MS if value is not None else None for value in values]
        yield (
            felt.contestant,
            evidence.trial.name,
            at_s,
            rate,
            *times,
            row.get("due", 0),
            row.get("late_for_users", 0),
        )
