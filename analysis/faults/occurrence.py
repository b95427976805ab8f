"""The faults of a trial as they took effect, and the times that what they did is looked for in."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.campaign import NANOSECONDS, Trial

BAND = -1  # the number of the window before the first fault
MOST_BAND_S = 60  # and a second before the first fault, in which something may have been on its way
# What was on its way when a fault began was sent before: a message belongs to a fault from so long before it.
BEFORE_NS = NANOSECONDS
DEFAULT_GOAL_MS = 100.0
ENDS_PROCESSES = frozenset({"kill", "restart", "replace"})


@dataclass(frozen=True)
class Occurrence:
    """One fault of a trial. Times are the clients', in ns since the epoch; None = not seen. `hits`: hosts and daemons it was done to.

    `window_ns`: from when it took effect until the next fault does, or the measurement ends, if only early; None = it never did in it.
    """

    number: int
    do: str
    target: str
    peers: str
    hits: tuple[Mapping[str, Any], ...]
    planned_ns: int
    began_ns: int | None
    ended_ns: int | None
    back_ns: int | None
    problem: str | None
    window_ns: tuple[int, int] | None

    @property
    def called(self) -> str:
        """Its name in metrics: place in the workload, from 1, and what was done."""
        return f"{self.number + 1} {self.do}"

    @property
    def words(self) -> str:
        """What it was, in a sentence."""
        return f"fault {self.number + 1} ({self.do} {self.target})"

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that it was done to."""
        return tuple(dict.fromkeys(str(hit["host"]) for hit in self.hits))

    @property
    def is_undone(self) -> bool:
        """Whether nothing of it was left when the load ended."""
        return all(hit["ended_ns"] is not None for hit in self.hits)


@dataclass(frozen=True)
class Window:
    """A time that is looked at, in ns since the epoch: of a fault, or BAND. `followed`: another fault begins where it ends."""

    number: int
    begin_ns: int
    end_ns: int
    followed: bool


def occurrences(trial: Trial) -> tuple[Occurrence, ...]:
    """The faults that were observed, in the workload's order; none in a trial that had none."""
    asked, seen = trial.workload.get("faults") or (), trial.document["observations"].get("faults") or ()
    began_ns = [int(each["began_ns"]) for each in seen if each["began_ns"] is not None]
    end_ns = _watched_ns(trial)[1]
    return tuple(
        Occurrence(
            number=int(each["number"]),
            do=str(asked[each["number"]]["do"]),
            target=str(asked[each["number"]]["target"]),
            peers=str(asked[each["number"]].get("peers", "")),
            hits=tuple(each["hits"]),
            planned_ns=each["planned_ns"],
            began_ns=each["began_ns"],
            ended_ns=each["ended_ns"],
            back_ns=each["back_ns"],
            problem=each["problem"],
            window_ns=_window(each["began_ns"], began_ns, end_ns),
        )
        for each in seen
    )


def _watched_ns(trial: Trial) -> tuple[int, int]:
    """The measurement, as far as it went: a trial that was ended early has a shorter one. Of a trial that never got to it, nothing."""
    measured_ns = trial.measured_ns()
    return (0, 0) if measured_ns is None else (measured_ns[0], min(measured_ns[1], trial.watched_until_ns("producers")))


def _window(own_ns: int | None, began_ns: Sequence[int], end_ns: int) -> tuple[int, int] | None:
    if own_ns is None or own_ns >= end_ns:
        return None
    return own_ns, min([each for each in began_ns if each > own_ns] + [end_ns])


def windows_of(trial: Trial) -> tuple[Window, ...]:
    """The window of each fault that took effect in the measurement, after that before the first: the trial's own band, up to
    MOST_BAND_S whole seconds of the measurement and the last before the fault. Empty without such a fault.
    """
    measured_ns = _watched_ns(trial)
    if trial.is_native:
        return ()
    found = [
        Window(each.number, *each.window_ns, followed=each.window_ns[1] < measured_ns[1])
        for each in occurrences(trial)
        if each.window_ns is not None
    ]
    if not found:
        return ()
    first_ns = min(window.begin_ns for window in found)
    seconds = min(MOST_BAND_S + 1, (first_ns - measured_ns[0]) // NANOSECONDS)
    return Window(BAND, first_ns - max(0, seconds) * NANOSECONDS, first_ns, followed=True), *found


def ended_by_faults(trial: Trial) -> dict[tuple[str, str], bool]:
    """The daemons (host, name) whose processes faults ended, and whether they were started again after all of them."""
    found: dict[tuple[str, str], bool] = {}
    for each in occurrences(trial):
        if each.do in ENDS_PROCESSES and each.began_ns is not None:
            for hit in each.hits:
                key = (str(hit["host"]), str(hit["daemon"]))
                found[key] = found.get(key, True) and hit["ended_ns"] is not None
    return found


@dataclass(frozen=True)
class Belonging:
    """Which fault a time belongs to: the last one that began no more than BEFORE_NS after it. `starts_ns` ascend."""

    starts_ns: tuple[int, ...]
    numbers: tuple[int, ...]

    def of(self, time_ns: int) -> int | None:
        """The number of the fault; None = the time was before all of them."""
        at = bisect_right(self.starts_ns, time_ns) - 1
        return None if at < 0 else self.numbers[at]


def belonging_of(trial: Trial) -> Belonging:
    """That of a trial's faults which took effect."""
    began = sorted((each.began_ns, each.number) for each in occurrences(trial) if each.began_ns is not None)
    return Belonging(tuple(ns - BEFORE_NS for ns, _ in began), tuple(number for _, number in began))


def goal_ms_of(trial: Trial) -> float:
    """Later than so much is late for a user: the workload's goal, or DEFAULT_GOAL_MS."""
    return float(trial.workload.get("goal_ms") or DEFAULT_GOAL_MS)
