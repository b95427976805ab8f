"""How a campaign reports its progress: step n of m, and the time left. A bar for terminals, plain lines for the rest.

The time left is the sum of the remaining steps' estimates, stretched by how the finished ones compared with theirs.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn


@dataclass(frozen=True)
class Step:
    """One step of a plan, and how long it usually takes."""

    title: str
    estimate_s: float


class Reporter(Protocol):
    """Where a campaign reports to."""

    def plan(self, steps: Sequence[Step]) -> None:
        """All steps to come, in order; called once, before the first `step`."""

    def step(self, title: str) -> None:
        """The next step begins."""

    def skip(self, count: int) -> None:
        """The next `count` planned steps will not happen (an aborted trial)."""

    def detail(self, text: str) -> None:
        """What is going on inside the current step; replaces the previous detail."""

    def notice(self, text: str) -> None:
        """A line worth keeping on the screen."""

    def close(self) -> None:
        """No more is to come."""


@dataclass
class Ledger:
    """Which of the planned steps is under way, and the time left by the estimates."""

    steps: Sequence[Step] = ()
    title: str = ""  # of the step under way
    done: int = 0
    estimated_done_s: float = 0.0
    taken_s: float = 0.0
    began_s: float | None = None
    now_s: Callable[[], float] = time.monotonic

    def advance(self, title: str) -> None:
        """Closes the step under way, if any, and opens the next."""
        if self.began_s is not None:
            self.taken_s += self.now_s() - self.began_s
            self.estimated_done_s += self._estimate(self.done - 1)
        self.done += 1
        self.title, self.began_s = title, self.now_s()

    def skip(self, count: int) -> None:
        """Takes `count` steps that follow the current one out of the plan."""
        self.steps = [*self.steps[: self.done], *self.steps[self.done + count :]]

    def left_s(self) -> float:
        """Seconds left. The current step counts with its estimate less what it has taken, at least nothing."""
        pace = self.taken_s / self.estimated_done_s if self.estimated_done_s > 10 else 1.0
        ahead = sum(step.estimate_s for step in self.steps[self.done :]) * pace
        current = self._estimate(self.done - 1) * pace - (self.now_s() - (self.began_s or self.now_s()))
        return ahead + max(0.0, current)

    def share(self) -> float:
        """How much of the whole estimate lies behind, 0 to 1."""
        spent_s = self.taken_s + (self.now_s() - self.began_s if self.began_s is not None else 0.0)
        return spent_s / (spent_s + self.left_s() or 1.0)

    def _estimate(self, index: int) -> float:
        return self.steps[index].estimate_s if 0 <= index < len(self.steps) else 0.0


def clock_text(seconds: float) -> str:
    """Seconds as m:ss, or h:mm:ss from an hour on."""
    whole = int(seconds + 0.5)
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"


def _to_stderr(line: str) -> None:
    """A closed terminal or pipe must not cut a teardown short."""
    with suppress(OSError):
        print(line, file=sys.stderr, flush=True)


class PlainReporter:
    """One line a step, for logs and pipes; `watch` is called with every step and every detail of one."""

    def __init__(
        self, write: Callable[[str], None] | None = None, watch: Callable[[Ledger, str], None] | None = None
    ) -> None:
        self._write = write or _to_stderr
        self._watch = watch
        self._ledger = Ledger()

    def plan(self, steps: Sequence[Step]) -> None:
        self._ledger = Ledger(steps)

    def step(self, title: str) -> None:
        self._ledger.advance(title)
        total = len(self._ledger.steps)
        left = clock_text(self._ledger.left_s())
        self._write(f"[{self._ledger.done:>{len(str(total))}}/{total}] {title}  (about {left} left)")
        self.detail("")

    def skip(self, count: int) -> None:
        self._ledger.skip(count)

    def detail(self, text: str) -> None:
        if self._watch:  # and no line: they would drown the steps
            self._watch(self._ledger, text)

    def notice(self, text: str) -> None:
        self._write(f"        {text}")

    def close(self) -> None:
        return None


class TerminalReporter:
    """A bar at the bottom of a terminal; finished steps scroll by above it."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._ledger = Ledger()
        self._bar = Progress(
            TextColumn("[bold]{task.fields[place]}"),
            BarColumn(bar_width=24),
            TextColumn("{task.percentage:>3.0f} %"),
            TimeElapsedColumn(),
            TextColumn("left {task.fields[left]}"),
            TextColumn("{task.description}"),
            console=console,
            transient=True,
        )
        self._task: TaskID | None = None

    def plan(self, steps: Sequence[Step]) -> None:
        self._ledger = Ledger(steps)
        self._task = self._bar.add_task("", total=1.0, place="", left="")
        self._bar.start()

    def step(self, title: str) -> None:
        self._finish_line()
        self._ledger.advance(title)
        self.detail("")

    def skip(self, count: int) -> None:
        self._ledger.skip(count)

    def detail(self, text: str) -> None:
        if self._task is None:
            return
        ledger = self._ledger
        title = f"{ledger.title}: {text}" if text else ledger.title
        place, left = f"{ledger.done}/{len(ledger.steps)}", clock_text(ledger.left_s())
        with suppress(OSError):
            self._bar.update(self._task, description=title, completed=ledger.share(), place=place, left=left)

    def notice(self, text: str) -> None:
        self._print(f"  {text}")

    def close(self) -> None:
        self._finish_line()
        with suppress(OSError):
            self._bar.stop()

    def _print(self, line: str) -> None:
        with suppress(OSError):  # a closed terminal must not cut a teardown short
            self._console.print(line, highlight=False, markup=False)

    def _finish_line(self) -> None:
        if self._ledger.began_s is not None:
            self._print(f"  {self._ledger.title:<64} {self._ledger.now_s() - self._ledger.began_s:6.1f} s")


def reporter_for(console: Console, *, plain: bool) -> Reporter:
    """The bar when `console` is a terminal and plain lines weren't asked for."""
    return TerminalReporter(console) if console.is_terminal and not plain else PlainReporter()
