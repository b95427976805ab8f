"""How near the disks were to what vetting had measured of them: written per second, beside the payload acknowledged and dd's rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure

from analysis.campaign import NANOSECONDS
from analysis.comparison import Cell
from analysis.drawing import GREY, Drawing, contestant_colours, style, svg_of
from analysis.evidence import Evidence, MachineUse

_MB = 1e6
_ROW_INCHES, _AROUND_INCHES = 0.42, 0.9
_VETTED_METRIC = "dd write"


@dataclass(frozen=True)
class DiskUse:
    """One trial's machine whose disks were nearest to their limit. `vetted_per_s`: bytes, all its disks; None = not vetted."""

    trial: str
    contestant: str
    block: int
    host: str
    written_per_s: float
    payload_per_s: float
    vetted_per_s: float | None

    @property
    def share(self) -> float | None:
        return self.written_per_s / self.vetted_per_s if self.vetted_per_s else None


def disk_drawings(
    trials: Sequence[Evidence],
    vetting: Mapping[str, Mapping[str, Any]],
    contestants: Sequence[str],
    excluded: AbstractSet[str],
) -> list[Drawing]:
    """One drawing per cell; `excluded` trials are grey."""
    found = []
    for cell in dict.fromkeys(evidence.trial.cell for evidence in trials):
        uses = [use for evidence in trials if evidence.trial.cell == cell and (use := disk_use(evidence, vetting))]
        if uses:
            found.append(
                _draw(
                    sorted(uses, key=lambda u: (contestants.index(u.contestant), u.block)), cell, contestants, excluded
                )
            )
    return found


def disk_use(evidence: Evidence, vetting: Mapping[str, Mapping[str, Any]]) -> DiskUse | None:
    """Of one trial; None if nothing was measured of its disks."""
    bounds = evidence.trial.measured_ns()
    machines = [use for use in evidence.machines if use.disk_written_bytes is not None]
    if bounds is None or bounds[1] <= bounds[0] or not machines:
        return None
    seconds = (bounds[1] - bounds[0]) / NANOSECONDS

    def nearness(use: MachineUse) -> float:
        return (use.disk_written_bytes or 0.0) / (vetted_write_per_s(vetting.get(use.host)) or 1.0)

    nearest = max(machines, key=nearness)
    payload_bytes = evidence.counts.acknowledged_in_window * int(evidence.trial.workload["message_bytes"])
    return DiskUse(
        evidence.trial.name,
        evidence.trial.contestant,
        evidence.trial.block,
        nearest.host,
        (nearest.disk_written_bytes or 0.0) / seconds,
        payload_bytes / seconds,
        vetted_write_per_s(vetting.get(nearest.host)),
    )


def vetted_write_per_s(vetted: Mapping[str, Any] | None) -> float | None:
    """What dd wrote in a second on all disks of a host together, by its vetting; None if that wasn't measured."""
    by_device = {
        verdict["device"]: float(verdict["measured"])
        for verdict in (vetted or {}).get("verdicts") or []
        if verdict.get("metric") == _VETTED_METRIC and verdict.get("measured") is not None
    }
    return sum(by_device.values()) if by_device else None


def _draw(uses: Sequence[DiskUse], cell: Cell, contestants: Sequence[str], excluded: AbstractSet[str]) -> Drawing:
    workload, level = cell
    name = f"disks-{workload}-l{level}"
    colours = contestant_colours(contestants)
    with style(name):
        figure = Figure(figsize=(7.6, _AROUND_INCHES + _ROW_INCHES * len(uses)))
        axes = figure.add_subplot()
        for row, use in enumerate(uses):
            colour = GREY if use.trial in excluded else colours[use.contestant]
            axes.barh(row - 0.18, use.written_per_s / _MB, 0.34, color=colour)
            axes.barh(row + 0.18, use.payload_per_s / _MB, 0.34, color="none", edgecolor=colour, hatch="///")
            share = "" if use.share is None else f"{use.share:.1%} of vetted"
            axes.annotate(share, (max(use.written_per_s, use.payload_per_s) / _MB, row), (5, 0),
                          textcoords="offset points", va="center", fontsize=8.5, color=GREY)  # fmt: skip
        for limit in sorted({use.vetted_per_s for use in uses if use.vetted_per_s}):
            axes.axvline(limit / _MB, color=GREY, linestyle="--", linewidth=1.2)
        axes.set_yticks(range(len(uses)), [_label(use, use.trial in excluded) for use in uses])
        axes.invert_yaxis()
        axes.set_xlim(left=0)
        axes.grid(visible=False, axis="y")
        axes.set_xlabel("MB/s (dashed: what vetting's dd wrote)")
        svg = svg_of(figure, f"Disks, {workload}, level {level}")
    note = (
        "Filled: written to disk by the machine nearest to its limit, copies and all else that the system writes. "
        "Hatched: payload acknowledged in all. "
        "Hosts on one machine share its disks."
    )
    columns = (
        "trial",
        "contestant",
        "block",
        "host",
        "written_bytes_per_s",
        "payload_bytes_per_s",
        "vetted_bytes_per_s",
    )
    rows = [(u.trial, u.contestant, u.block, u.host, u.written_per_s, u.payload_per_s, u.vetted_per_s) for u in uses]
    return Drawing(name, f"Disks: workload {workload}, durability level {level}", note, svg, columns, rows)


def _label(use: DiskUse, is_excluded: bool) -> str:
    return f"{use.contestant}, block {use.block}{', not compared' if is_excluded else ''}"
