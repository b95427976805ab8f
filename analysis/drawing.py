"""How every figure looks, and how it becomes one inlined SVG.

A system has one colour in all figures, its variants shades of it; line styles and markers tell the same things in print.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from threading import RLock
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from analysis.campaign import Trial
from contract.colours import COLOURS

BLACK, GREY = "#222222", "#6b7280"
FIRST_COLOUR = next(iter(COLOURS.values()))
PART_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00")
LINE_STYLES = ("-", "--", ":", "-.")
MARKERS = ("o", "s", "^", "D", "v", "P")
WARMUP_SHADE = "#e5e7eb"
_ONE_AT_A_TIME = RLock()
_SHADE = 0.6  # of a variant's brightness, against its system's
_SHORT = 4  # highest over lowest value, below which a logarithmic axis has too few of its own ticks
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text: searchable, and in the page's own font
    "font.family": "sans-serif",
    "font.size": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.labelcolor": BLACK,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e5e7eb",
    "grid.linewidth": 0.7,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": BLACK,
    "ytick.labelcolor": BLACK,
    "legend.frameon": False,
    "lines.linewidth": 1.5,
    "lines.markersize": 3.5,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
}


@dataclass(frozen=True)
class Drawing:
    """A finished figure: its SVG, and its data as rows under `columns`, written to data/<name>.csv."""

    name: str
    title: str
    note: str
    svg: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Drawings:
    """A report's figures, by the chapter that shows them, and their colours."""

    load_curves: tuple[Drawing, ...] = ()
    faults: tuple[Drawing, ...] = ()
    ratios: tuple[Drawing, ...] = ()
    rankings: tuple[Drawing, ...] = ()
    curves: tuple[Drawing, ...] = ()
    disks: tuple[Drawing, ...] = ()
    times: tuple[Drawing, ...] = ()
    vetting: tuple[Drawing, ...] = ()
    colours: Mapping[str, str] = field(default_factory=dict)  # contestant -> its colour in all of them

    @property
    def all(self) -> tuple[Drawing, ...]:
        """Every figure, in the order of the page."""
        return (
            *(*self.faults, *self.load_curves, *self.rankings, *self.ratios, *self.curves),
            *(*self.times, *self.disks, *self.vetting),
        )


@dataclass(frozen=True)
class Palette:
    """How trials are told apart: by one colour per contestant; those that aren't compared are grey. `colours`: contestant -> colour,
    in the contestants' order.
    """

    colours: Mapping[str, str]
    excluded: AbstractSet[str]

    def place(self, trial: Trial) -> tuple[int, int]:
        """What trials are sorted by."""
        return list(self.colours).index(trial.contestant), trial.block

    def contestant_colour(self, trial: Trial) -> str:
        return self.colours[trial.contestant]

    def colour(self, trial: Trial) -> str:
        return GREY if trial.name in self.excluded else self.contestant_colour(trial)

    def label(self, trial: Trial, of: str = "") -> str:
        """Contestant and block, `of` what, and whether it isn't compared."""
        parts = (f"{trial.contestant}, block {trial.block}", of, "not compared" if trial.name in self.excluded else "")
        return ", ".join(filter(None, parts))


def colours_of(systems: Mapping[str, str], declared: Mapping[str, Any]) -> dict[str, str]:
    """Contestant -> colour, in the order of `systems` (contestant -> its system). `declared`: system -> the name of its colour.

    A system that declared none, or one that isn't known or is taken, gets the first that is left. Variants get darker shades; where
    all are of one system, colours of their own.
    """
    of_system: dict[str, str] = {}
    for system in dict.fromkeys(systems.values()):
        colour = COLOURS.get(declared.get(system, ""))
        if colour is not None and colour not in of_system.values():
            of_system[system] = colour
    for system in dict.fromkeys(systems.values()):
        left = [colour for colour in COLOURS.values() if colour not in of_system.values()]
        of_system.setdefault(system, (left or list(COLOURS.values()))[0])
    if len(of_system) == 1 and 1 < len(systems) <= len(COLOURS):
        [own] = of_system.values()
        return dict(zip(systems, [own, *(colour for colour in COLOURS.values() if colour != own)], strict=False))
    shades: Counter[str] = Counter()
    found = {}
    for contestant in sorted(systems, key=lambda name: name != systems[name]):  # the system itself before its variants
        system = systems[contestant]
        found[contestant] = _darker(of_system[system], _SHADE ** shades[system])
        shades[system] += 1
    return {contestant: found[contestant] for contestant in systems}


def _darker(colour: str, share: float) -> str:
    parts = (round(int(colour[at : at + 2], 16) * share) for at in (1, 3, 5))
    return "#" + "".join(f"{part:02X}" for part in parts)


@contextmanager
def canvas(name: str, height_inches: float) -> Iterator[Figure]:
    """A figure as wide as the page, to be drawn inside; the name makes its element ids its own, and the same in every run.

    Another thread's figure waits: matplotlib's settings, the salt of those ids among them, are those of the whole process.
    """
    with _ONE_AT_A_TIME, rc_context({**_STYLE, "svg.hashsalt": name}):
        yield Figure(figsize=(7.6, height_inches))


def svg_of(figure: Figure, title: str) -> str:
    """The figure as an <svg> element that scales with the page."""
    buffer = io.StringIO()
    metadata: Mapping[str, None] = {"Date": None, "Creator": None, "Format": None, "Type": None}
    figure.savefig(buffer, format="svg", metadata=metadata, bbox_inches="tight", pad_inches=0.05)
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'<g id="[^"]*"', "<g", text)  # never referred to, and not unique over several figures
    text = re.sub(r' (?:width|height)="[\d.]+pt"', "", text, count=2)
    text = text.replace("<svg", '<svg role="img"', 1)
    return re.sub(r"(<svg[^>]*>)", lambda match: f"{match[1]}<title>{escape(title)}</title>", text, count=1)


def plain_log_axis(axis: Any) -> None:
    """Labels a logarithmic axis, drawn and limited already, 0.1, 1, 2, 5, 10 instead of powers; a short one more finely."""
    low, high = axis.get_view_interval()
    if high < _SHORT * low:
        axis.set_major_locator(MaxNLocator(6))
        axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(FuncFormatter(lambda value, _: f"{value:g}" if f"{value:e}"[0] in "25" else ""))


def shade_warmup(axes: Axes, end_s: float) -> None:
    """Marks the part of a time axis that doesn't count."""
    if end_s > 0:
        axes.axvspan(0, end_s, color=WARMUP_SHADE, zorder=0, lw=0)


def mark_phases(axes: Axes, starts_s: Mapping[str, float], *, named: bool) -> None:
    """A line at the start of each phase, with its name where `named`."""
    for name, start_s in starts_s.items():
        axes.axvline(start_s, color=GREY, linewidth=0.8, linestyle=(0, (1, 2)))
        if named:
            axes.annotate(name, (start_s, 1), (3, -3), xycoords=("data", "axes fraction"), textcoords="offset points",
                          va="top", fontsize=8, color=GREY)  # fmt: skip
