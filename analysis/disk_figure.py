"""How near the disks were to what vetting had measured of them: written per second, beside the payload acknowledged and dd's rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.campaign import NANOSECONDS, Trial
from analysis.comparison import Cell
from analysis.drawing import GREY, Drawing, Palette, canvas, svg_of
from analysis.evidence import Evidence

_MB = 1e6
_ROW_INCHES, _AROUND_INCHES = 0.42, 0.9
_VETTED_METRIC = "dd write"


@dataclass(frozen=True)
class DiskUse:
    """One trial's machine whose disks were nearest to their limit. `vetted_per_s`: bytes, all its disks; None = not vetted."""

    trial: Trial
    host: str
    written_per_s: float
    payload_per_s: float
    vetted_per_s: float | None

    @property
    def share(self) -> float | None:
        return self.written_per_s / self.vetted_per_s if self.vetted_per_s else None


def disk_drawings(
    trials: Sequence[Evidence], vetting: Mapping[str, Mapping[str, Any]], palette: Palette
) -> list[Drawing]:
    """One drawing per cell."""
    uses = sorted(filter(None, (disk_use(each, vetting) for each in trials)), key=lambda use: palette.place(use.trial))
    found = {cell: [use for use in uses if use.trial.cell == cell] for cell in [each.trial.cell for each in trials]}
    return [_draw(own, cell, palette) for cell, own in found.items() if own]


def disk_use(evidence: Evidence, vetting: Mapping[str, Mapping[str, Any]]) -> DiskUse | None:
    """Of one trial; None if nothing was measured of its disks."""
    bounds = evidence.trial.measured_ns()
    written_bytes = {
        use.host: use.disk_written_bytes for use in evidence.machines if use.disk_written_bytes is not None
    }
    if bounds is None or bounds[1] <= bounds[0] or not written_bytes:
        return None
    seconds = (bounds[1] - bounds[0]) / NANOSECONDS
    vetted_per_s = {host: vetted_write_per_s(vetting.get(host)) for host in written_bytes}
    nearest = max(written_bytes, key=lambda host: written_bytes[host] / (vetted_per_s[host] or 1.0))
    payload_bytes = evidence.counts.acknowledged_in_window * int(evidence.trial.workload["message_bytes"])
    return DiskUse(
        trial=evidence.trial,
        host=nearest,
        written_per_s=written_bytes[nearest] / seconds,
        payload_per_s=payload_bytes / seconds,
        vetted_per_s=vetted_per_s[nearest],
    )


def vetted_write_per_s(vetted: Mapping[str, Any] | None) -> float | None:
    """What dd wrote in a second on all disks of a host together, by its vetting; None if that wasn't measured."""
    by_device = {
        verdict["device"]: float(verdict["measured"])
        for verdict in (vetted or {}).get("verdicts") or []
        if verdict.get("metric") == _VETTED_METRIC and verdict.get("measured") is not None
    }
    return sum(by_device.values()) if by_device else None


def _draw(uses: Sequence[DiskUse], cell: Cell, palette: Palette) -> Drawing:
    workload, level = cell
    name = f"disks-{workload}-l{level}"
    with canvas(name, _AROUND_INCHES + _ROW_INCHES * len(uses)) as figure:
        axes = figure.add_subplot()
        for row, use in enumerate(uses):
            colour = palette.colour(use.trial)
            axes.barh(row - 0.18, use.written_per_s / _MB, 0.34, color=colour)
            axes.barh(row + 0.18, use.payload_per_s / _MB, 0.34, color="none", edgecolor=colour, hatch="///")
            share = "" if use.share is None else f"{use.share:.1%} of vetted"
            axes.annotate(share, (max(use.written_per_s, use.payload_per_s) / _MB, row), (5, 0),
                          textcoords="offset points", va="center", fontsize=8.5, color=GREY)  # fmt: skip
        for limit in sorted({use.vetted_per_s for use in uses if use.vetted_per_s}):
            axes.axvline(limit / _MB, color=GREY, linestyle="--", linewidth=1.2)
        axes.set_yticks(range(len(uses)), [palette.label(use.trial) for use in uses])
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
    rates = ("written_bytes_per_s", "payload_bytes_per_s", "vetted_bytes_per_s")
    rows = [
        (
            *(use.trial.name, use.trial.contestant, use.trial.block, use.host),
            *(use.written_per_s, use.payload_per_s, use.vetted_per_s),
        )
        for use in uses
    ]
    title = f"Disks: workload {workload}, durability level {level}"
    return Drawing(name, title, note, svg, ("trial", "contestant", "block", "host", *rates), rows)
