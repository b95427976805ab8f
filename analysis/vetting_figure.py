"""Each vetted disk beside its fleet: what dd and fsync measured on it, with the fleet's median."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from analysis.drawing import GREY, Drawing, canvas, svg_of
from contract.colours import COLOURS

_PANELS = {  # metric -> (title with unit, what one unit is)
    "dd write": ("dd write (MB/s)", 1e6),
    "dd read": ("dd read (MB/s)", 1e6),
    "fsync p50": ("fsync p50 (ms)", 1e6),
    "fsync p99": ("fsync p99 (ms)", 1e6),
}
_WORST_FIRST = ("reject", "warn", "accept", "not judged")
_LOOKS = {
    "reject": ("X", COLOURS["vermilion"]),
    "warn": ("s", COLOURS["orange"]),
    "accept": ("o", COLOURS["blue"]),
    "not judged": ("o", GREY),
}
_ROW_INCHES, _AROUND_INCHES = 0.26, 0.95


@dataclass(frozen=True)
class Reading:
    """One metric of one disk. `hosts` share it; `value`: bytes a second or nanoseconds; `verdict`: the worst of its rules'."""

    hosts: str
    device: str
    metric: str
    value: float
    verdict: str

    @property
    def disk(self) -> str:
        return f"{self.hosts} {self.device}"


def vetting_drawings(vetting: Mapping[str, Mapping[str, Any]]) -> list[Drawing]:
    """One drawing, or none where no disk was measured."""
    found = readings(vetting)
    return [_draw(found)] if found else []


def readings(vetting: Mapping[str, Mapping[str, Any]]) -> list[Reading]:
    """Every disk's metrics, disk by disk. Hosts with the very same readings of a device share that disk."""
    sharing: dict[tuple[Any, ...], list[str]] = {}
    for host, document in vetting.items():
        by_device: dict[str, dict[str, tuple[float, list[str]]]] = {}
        for verdict in document.get("verdicts") or []:
            metric, measured = verdict.get("metric"), verdict.get("measured")
            if metric in _PANELS and measured is not None:
                _, verdicts = by_device.setdefault(str(verdict["device"]), {}).setdefault(metric, (float(measured), []))
                verdicts.append(str(verdict["verdict"]))
        for device, metrics in by_device.items():
            own = tuple((metric, value, _worst(verdicts)) for metric, (value, verdicts) in sorted(metrics.items()))
            sharing.setdefault((device, own), []).append(host)
    return [
        Reading(_together(hosts), device, metric, value, verdict)
        for (device, own), hosts in sharing.items()
        for metric, value, verdict in own
    ]


def _worst(verdicts: Sequence[str]) -> str:
    return next((name for name in _WORST_FIRST if name in verdicts), _WORST_FIRST[-1])


def _together(hosts: Sequence[str]) -> str:
    return hosts[0] if len(hosts) == 1 else f"{hosts[0]} and {len(hosts) - 1} more"


def _draw(found: Sequence[Reading]) -> Drawing:
    name, title = "vetting", "Vetted disks"
    disks = list(dict.fromkeys(reading.disk for reading in found))
    panels = [metric for metric in _PANELS if any(reading.metric == metric for reading in found)]
    with canvas(name, _AROUND_INCHES + _ROW_INCHES * len(disks)) as figure:
        row = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axes, metric in zip(row, panels, strict=True):
            words, unit = _PANELS[metric]
            own = [reading for reading in found if reading.metric == metric]
            for reading in own:
                marker, colour = _LOOKS[reading.verdict]
                at = (reading.value / unit, disks.index(reading.disk))
                axes.plot(*at, marker, color=colour, markersize=6, linestyle="none")
            axes.axvline(median(reading.value for reading in own) / unit, color=GREY, linestyle="--", linewidth=1)
            axes.set_xlim(0, 1.15 * max(reading.value for reading in own) / unit)
            axes.set_title(words, fontsize=9.5, loc="left")
        row[0].set_yticks(range(len(disks)), disks)
        row[0].set_ylim(len(disks) - 0.5, -0.5)
        figure.tight_layout(w_pad=1.2)
        svg = svg_of(figure, title)
    note = "A mark per disk, dashed: the fleet's median. Round: accepted (grey: by no rule), square: warned about, cross: rejected."
    rows = [(r.hosts, r.device, r.metric, r.value, r.verdict) for r in found]
    return Drawing(name, title, note, svg, ("hosts", "device", "metric", "value_bytes_per_s_or_ns", "verdict"), rows)
