"""One trial over time: throughput, latency, CPU, disk and memory under one time axis, warm-up shaded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from analysis.campaign import NANOSECONDS, Trial
from analysis.catch_up import CATCH_UP
from analysis.drawing import (
    BLACK,
    GREY,
    LINE_STYLES,
    PART_COLOURS,
    Drawing,
    canvas,
    mark_phases,
    plain_log_axis,
    shade_warmup,
    svg_of,
)
from analysis.pipeline import Seconds
from analysis.records.latencies import RESPONSE
from analysis.records.seconds import ACKNOWLEDGED, RECEIVED, SCHEDULED, SENT
from analysis.records.telemetry import MACHINE
from analysis.schema import BUILD, WARMUP
from analysis.thirds import Third

_NS_PER_MS, _MB = 1e6, 1e6
RECEIVED_OF_BACKLOG = "received of backlog"
_CPU_DRAWN = ("user", "system", "iowait", "steal")
_NOTE = "Latency by intended time, one point per second; p99 needs 1,000 messages in the second."
_NOTE_OF_THIRDS = (
    "The bars are the first and the last third of the measurement, at their p50: steady-state warns of this trial."
)
Series = dict[int, float]  # second -> value


class TrialSeconds:
    """What is known per second of one trial, by panel and line name; the same tables are drawn and written as CSV."""

    def __init__(self, trial: Trial, seconds: Seconds) -> None:
        self.trial = trial
        self.lines: dict[tuple[str, str], Series] = defaultdict(dict)
        for row in seconds.events[trial.name]:
            of_backlog = str(row["subscription"]).startswith(CATCH_UP)
            line = self.lines["messages/s", RECEIVED_OF_BACKLOG if of_backlog else row["event"]]
            line[row["second"]] = line.get(row["second"], 0.0) + float(row["messages"])
        for row in seconds.latency[trial.name]:
            if row["metric"] == RESPONSE:
                for name in ("p50", "p99", "max"):
                    if row[f"{name}_ns"] is not None:
                        self.lines["response ms", name][row["second"]] = row[f"{name}_ns"] / _NS_PER_MS
        self._add_telemetry(seconds.telemetry[trial.name])

    def panel(self, name: str) -> dict[str, Series]:
        """The lines of one panel."""
        return {line: series for (panel, line), series in self.lines.items() if panel == name}

    def rows(self) -> list[tuple[str, str, int, float]]:
        """Panel, line, second, value; in that order."""
        return [
            (panel, line, second, value)
            for (panel, line), series in sorted(self.lines.items())
            for second, value in sorted(series.items())
        ]

    def last_second(self) -> int:
        """Until when there is anything to draw of the load itself."""
        drawn = [*self.panel("messages/s").values(), *self.panel("response ms").values()]
        return max((second for series in drawn for second in series), default=0)

    def _add_telemetry(self, rows: Sequence[Any]) -> None:
        cpu: dict[tuple[str, int], dict[str, float]] = defaultdict(dict)
        for row in rows:
            metric, second, value = row["metric"], row["second"], row["value"]
            if row["source"] != MACHINE:
                if metric == "rss_bytes":
                    self.lines["daemon memory MB", f"{row['host']} {row['source']}"][second] = value / _MB
            elif metric == "disk_written_bytes":
                self.lines["disk MB", f"written/s {row['host']}"][second] = value / _MB
            elif metric == "dirty_bytes":
                self.lines["disk MB", f"dirty pages {row['host']}"][second] = value / _MB
            else:
                cpu[row["host"], second][metric.removeprefix("cpu_").removesuffix("_s")] = value
        for (host, second), modes in cpu.items():
            if (total := sum(modes.values())) > 0:
                for mode in _CPU_DRAWN:
                    self.lines[f"cpu % {host}", mode][second] = 100 * modes.get(mode, 0.0) / total


def time_drawings(trials: Sequence[Trial], seconds: Seconds) -> dict[str, Drawing]:
    """Every trial over time that recorded something, by its name; those of a cell have one latency axis."""
    return _drawings(trials, seconds, {trial.name: () for trial in trials})


def unsteady_drawings(
    trials: Sequence[Trial], seconds: Seconds, marked: Mapping[str, Sequence[Third]]
) -> dict[str, Drawing]:
    """Of these trials, as `time_drawings` draws them among all, those that weren't steady: with their thirds `marked`."""
    return _drawings(trials, seconds, marked) if marked else {}


def _drawings(trials: Sequence[Trial], seconds: Seconds, wanted: Mapping[str, Sequence[Third]]) -> dict[str, Drawing]:
    drawn = [TrialSeconds(trial, seconds) for trial in trials]
    cells: dict[Any, list[TrialSeconds]] = defaultdict(list)
    for one in drawn:
        cells[one.trial.cell].append(one)
    limits_ms = {cell: shared_limits_ms(ones) for cell, ones in cells.items()}
    found = {
        one.trial.name: trial_drawing(one, limits_ms[one.trial.cell], wanted[one.trial.name])
        for one in drawn
        if one.trial.name in wanted
    }
    return {name: drawing for name, drawing in found.items() if drawing}


def trial_drawing(
    seconds: TrialSeconds, limits_ms: tuple[float, float] | None, thirds: Sequence[Third] = ()
) -> Drawing | None:
    """The drawing of one trial, or None if it recorded nothing. `limits_ms` are shared by the trials to be compared; `thirds` are
    marked."""
    trial = seconds.trial
    if not seconds.panel("messages/s"):
        return None
    cpu_panels = sorted({panel for panel, _ in seconds.lines if panel.startswith("cpu %")})
    heights = [1.15, 1.6, *[1.0 for _ in cpu_panels], 1.15]
    name = f"time-{trial.name}"
    with canvas(name, 1.62 * sum(heights)) as figure:
        panels: Sequence[Axes] = list(
            figure.subplots(len(heights), 1, sharex=True, height_ratios=heights, squeeze=False)[:, 0]
        )
        _throughput(panels[0], seconds)
        _latency(panels[1], seconds, limits_ms)
        _mark(panels[1], thirds)
        for axes, panel in zip(panels[2:], cpu_panels, strict=False):
            _cpu(axes, seconds.panel(panel), panel.removeprefix("cpu % "))
        _disk(panels[-1], seconds.panel("disk MB"))
        start_ns = trial.start_ns or 0
        phases = {phase["name"]: (phase["start_ns"] - start_ns) / NANOSECONDS for phase in trial.document["phases"]}
        warmup = trial.phase_ns(WARMUP)
        for axes in panels:
            shade_warmup(axes, (warmup[1] - start_ns) / NANOSECONDS if warmup else 0)
            if BUILD in phases:
                mark_phases(axes, phases, named=axes is panels[0])
            if axes.get_legend_handles_labels()[1]:
                axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.05), borderaxespad=0, fontsize=8.5)
        last_s = seconds.last_second() + 1
        panels[-1].set_xlim(0, last_s)
        panels[-1].set_xlabel("seconds since the load began (shaded: warm-up, not counted)")
        figure.align_ylabels(panels)
        figure.tight_layout(h_pad=0.7)
        svg = svg_of(figure, f"{trial.name} over time")
    note = f"{_NOTE} {_NOTE_OF_THIRDS}" if thirds else _NOTE
    return Drawing(name, trial.name, note, svg, ("panel", "line", "second", "value"), seconds.rows())


def shared_limits_ms(trials: Sequence[TrialSeconds]) -> tuple[float, float] | None:
    """One latency axis for all: from the lowest to the highest value drawn."""
    values = [v for trial in trials for series in trial.panel("response ms").values() for v in series.values() if v > 0]
    return (min(values) / 1.3, max(values) * 1.3) if values else None


def _throughput(axes: Axes, seconds: TrialSeconds) -> None:
    lines = seconds.panel("messages/s")
    looks = (
        (SCHEDULED, GREY, "--"),
        (SENT, PART_COLOURS[1], ":"),
        (ACKNOWLEDGED, PART_COLOURS[0], "-"),
        (RECEIVED, PART_COLOURS[2], "-."),
        (RECEIVED_OF_BACKLOG, PART_COLOURS[3], "-"),
    )
    last = seconds.last_second()
    for event, colour, dashes in looks:
        if event in lines:
            # a second in which nothing happened is a zero, not a gap; the last, incomplete one is left out
            drawn = [(s, lines[event].get(s, 0.0)) for s in range(last)]
            drawn += [(last, value) for _, value in drawn[-1:]]  # a step ends where its second does
            axes.step(
                [s for s, _ in drawn], [v for _, v in drawn], where="post", color=colour, linestyle=dashes, label=event
            )
    axes.set_ylim(0, 1.12 * max(axes.get_ylim()[1], 1.0))
    axes.set_ylabel("messages/s")


def _latency(axes: Axes, seconds: TrialSeconds, limits_ms: tuple[float, float] | None) -> None:
    lines = seconds.panel("response ms")
    for name, colour, dashes in (("max", GREY, ":"), ("p99", PART_COLOURS[3], "--"), ("p50", PART_COLOURS[0], "-")):
        if points := [(s, v) for s, v in sorted(lines.get(name, {}).items()) if v > 0]:
            axes.plot(
                [s + 0.5 for s, _ in points],
                [v for _, v in points],
                color=colour,
                linestyle=dashes,
                marker=".",
                label=name,
            )
    axes.set_yscale("log")
    if limits_ms:
        axes.set_ylim(limits_ms)
    plain_log_axis(axes.yaxis)
    axes.set_ylabel("response latency (ms)")


def _mark(axes: Axes, thirds: Sequence[Third]) -> None:
    for number, third in enumerate(thirds):
        label = "p50 of a third" if number == 0 else "_"
        axes.hlines(third.median_ms, third.begin_s, third.end_s, color=BLACK, linewidth=4, alpha=0.6, label=label)


def _cpu(axes: Axes, lines: dict[str, Series], host: str) -> None:
    every = sorted({s for series in lines.values() for s in series if s >= 0})
    layers = [[lines.get(mode, {}).get(s, 0.0) for s in every] for mode in _CPU_DRAWN]
    if every:
        stack = axes.stackplot(
            every, np.array(layers), labels=_CPU_DRAWN, colors=PART_COLOURS, edgecolor=BLACK, linewidth=0.3
        )
        for area, hatch in zip(stack, ("", "//", "..", "xx"), strict=True):
            area.set_hatch(hatch)
    axes.set_ylim(0, 100)
    axes.set_ylabel(f"CPU (%)\n{host}")


def _disk(axes: Axes, lines: dict[str, Series]) -> None:
    for number, (name, series) in enumerate(sorted(lines.items())):
        points = [(s, v) for s, v in sorted(series.items()) if s >= 0]
        colour = PART_COLOURS[0] if name.startswith("written") else PART_COLOURS[3]
        dashes = LINE_STYLES[number // 2 % len(LINE_STYLES)] if name.startswith("written") else ":"
        axes.plot([s for s, _ in points], [v for _, v in points], color=colour, linestyle=dashes, label=name)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("disk (MB)")
