"""What one fault of one trial did, as plain data: what the counts of its records come to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.bounded import Bounded, exactly
from analysis.campaign import NANOSECONDS, Trial
from analysis.faults import acknowledgements, latency, losses, sends
from analysis.faults.latency import FEWEST_BAND_S, SLOT_NS, band_seconds, limit_ms
from analysis.faults.occurrence import BAND, Occurrence, Window, goal_ms_of, occurrences, windows_of
from analysis.faults.promised import Promise, promise_of
from analysis.faults.recovery import Recovery, recovery_of
from analysis.promise import is_acknowledged
from analysis.records.latencies import END_TO_END, NO_SUBSCRIPTION, RESPONSE

Row = Mapping[str, Any]
# a gap interrupts if it is so many times as long as the longest before the first fault, and so long that anyone feels it
INTERRUPTED = 2
FELT_S = 0.1
DRAWN_BEFORE_NS = 5 * NANOSECONDS
NO_ANSWERS = "no broker answers at this durability"
NO_RATE = "only a rate that is offered throughout has a band: the pacing is {}"
SHORT_BAND = f"fewer than {FEWEST_BAND_S + 1} seconds were measured before the first fault"
NO_BAND = "in a second before the first fault more than one in a hundred messages was never answered"


@dataclass(frozen=True)
class Gap:
    """The longest time without acknowledgements of which some part is in a fault's window. `partition` None = of all together.

    `ended_ns`: of the acknowledgement that ended it; None = none did. `usual_s`: the longest before the first fault, None = unknown.
    """

    partition: int | None
    length_s: Bounded
    began_ns: int
    ended_ns: int | None
    usual_s: float | None

    @property
    def may_be_usual_s(self) -> float | None:
        """What isn't longer doesn't interrupt: there are such gaps without faults."""
        return None if self.usual_s is None else max(FELT_S, INTERRUPTED * self.usual_s)


@dataclass(frozen=True)
class Debt:
    """Of one subscription, or, without one, of the producers. `highest` messages were owed at once; `usual`: at most, before the first
    fault. `paid_s`: from the fault's beginning until no more than usual was owed again; None = unknown what is usual.
    """

    subscription: str | None
    highest: int
    usual: int | None
    paid_s: Bounded | None


@dataclass(frozen=True)
class Lost:
    """A message that was acknowledged and never received by a subscription. Times are in ns since the epoch."""

    subscription: str
    producer: int
    sequence: int
    partition: int | None
    intended_ns: int
    acked_ns: int


@dataclass(frozen=True)
class Losses:
    """Messages that belong to one fault; `lost` and the receipts `repeated`, `steps_back`, `stored_unacknowledged` are summed over
    subscriptions. `failed`: of `scheduled`, those of which the client reported an error; `unanswered`: of which nothing was heard.
    `rows`: the first that were lost.
    """

    scheduled: int = 0
    failed: int = 0
    unanswered: int = 0
    lost: int = 0
    repeated: int = 0
    steps_back: int = 0
    stored_unacknowledged: int = 0
    rows: tuple[Lost, ...] = ()


NO_LOSSES = Losses()


@dataclass(frozen=True)
class Impact:
    """One fault. `acknowledged_s`: from its beginning until every partition that was interrupted was acknowledged again; less than what
    is usual where none was; None = what is usual isn't known. `response` and `end_to_end` (by subscription) are missing where there is
    no band, and `no_band` says why.

    `due`: messages of its window; `late`: of them, answered later than `goal_ms`, or never; `late_s`: seconds of the window with any.
    `around`: the slots of analysis.faults.latency with `at_s`, seconds from the fault, from DRAWN_BEFORE_NS before it.
    """

    occurrence: Occurrence
    promise: Promise
    goal_ms: float
    gap: Gap | None
    partitions: tuple[Gap, ...]
    acknowledged_s: Bounded | None
    response: Recovery | None
    end_to_end: Mapping[str, Recovery]
    no_band: str | None
    debts: tuple[Debt, ...]
    losses: Losses
    due: int
    late: int
    late_s: int
    around: tuple[Row, ...]


@dataclass(frozen=True)
class Counted:
    """The rows of one trial, by the counting that found them."""

    acknowledgements: Sequence[Row]
    slots: Sequence[Row]
    sends: Sequence[Row]
    steps_back: Sequence[Row]
    losses: Sequence[Row]


def counted_of(rows: Mapping[str, Sequence[Row]]) -> Counted:
    """By the countings' names."""
    names = (acknowledgements.NAME, latency.NAME, sends.SENDS, sends.STEPS_BACK, losses.NAME)
    return Counted(*(rows.get(name, ()) for name in names))


def impacts_of(trial: Trial, counted: Counted, manifest: Mapping[str, Any]) -> tuple[Impact, ...]:
    """Of every fault that took effect in the measurement."""
    seen = {each.number: each for each in occurrences(trial)}
    return tuple(
        _impact(trial, promise_of(trial, seen[window.number], manifest), seen[window.number], window, counted)
        for window in windows_of(trial)
        if window.number != BAND
    )


def losses_of(counted: Counted, number: int) -> Losses:
    """Those of one fault, or of none: sends.OUTSIDE."""
    sent = next((row for row in counted.sends if row["fault"] == number), {})
    own = [row for row in counted.losses if row["fault"] == number]
    by_kind = {
        what: sum(row["messages"] for row in own if row["what"] == what)
        for what in dict.fromkeys(r["what"] for r in own)
    }
    told = [(row["subscription"], each) for row in own for each in row["rows"]]
    told.sort(key=lambda each: (each[1]["acked_ns"], each[0], each[1]["producer"], each[1]["sequence"]))
    return Losses(
        scheduled=int(sent.get("scheduled", 0)),
        failed=int(sent.get("failed", 0)),
        unanswered=int(sent.get("unanswered", 0)),
        lost=by_kind.get(losses.LOST, 0),
        repeated=by_kind.get(losses.REPEATED, 0),
        steps_back=sum(row["steps_back"] for row in counted.steps_back if row["fault"] == number),
        stored_unacknowledged=by_kind.get(losses.STORED_UNACKNOWLEDGED, 0),
        rows=tuple(Lost(subscription=name, **each) for name, each in told[: losses.MOST_ROWS]),
    )


def _impact(trial: Trial, promise: Promise, occurrence: Occurrence, window: Window, counted: Counted) -> Impact:
    own = [row for row in counted.acknowledgements if row["window"] == window.number]
    before = [row for row in counted.acknowledgements if row["window"] == BAND and _has_band(trial)]
    slots = [row for row in counted.slots if row["window"] == window.number]
    response = [row for row in slots if row["metric"] == RESPONSE]
    answered = is_acknowledged(trial.durability)
    found = losses_of(counted, window.number)
    gaps = _gaps(own, before, window, waiting=found.failed + found.unanswered > 0) if answered else []
    partitions = tuple(gap for gap in gaps if gap.partition is not None)
    recoveries = _recoveries(slots, window) if trial.has_offered_rate else {}
    late = [row for row in response if row["late_for_users"]]
    return Impact(
        occurrence=occurrence,
        promise=promise,
        goal_ms=goal_ms_of(trial),
        gap=next((gap for gap in gaps if gap.partition is None), None),
        partitions=partitions,
        acknowledged_s=_acknowledged(partitions, window),
        response=recoveries.get((RESPONSE, NO_SUBSCRIPTION)) if answered else None,
        end_to_end={name: own for (metric, name), own in recoveries.items() if metric == END_TO_END},
        no_band=_why_no_band(trial, counted),
        debts=tuple(_debts(own, before, window, answered)),
        losses=found,
        due=sum(row["due"] for row in response),
        late=sum(row["late_for_users"] for row in late),
        late_s=len({row["slot"] // latency.SLOTS_OF_SECOND for row in late}),
        around=tuple(_around(trial, window, counted.slots)),
    )


def _around(trial: Trial, window: Window, slots: Iterable[Row]) -> Iterable[Row]:
    """Whole slots of the fault's window, and of the time just before it, whichever window that is of."""
    windows = {each.number: each for each in windows_of(trial)}
    for row in slots:
        own = windows[row["window"]]
        begin_ns = own.begin_ns + row["slot"] * SLOT_NS
        if window.begin_ns - DRAWN_BEFORE_NS <= begin_ns and begin_ns + SLOT_NS <= min(own.end_ns, window.end_ns):
            yield {**row, "at_s": (begin_ns - window.begin_ns) / NANOSECONDS}


def _why_no_band(trial: Trial, counted: Counted) -> str | None:
    if not trial.has_offered_rate:
        return NO_RATE.format(trial.workload["pacing"])
    if not _has_band(trial):
        return SHORT_BAND
    unknown = [row for row in counted.slots if row["metric"] == RESPONSE and row["limit"] is None]
    return NO_BAND if unknown else None if is_acknowledged(trial.durability) else NO_ANSWERS


def _has_band(trial: Trial) -> bool:
    return band_seconds(windows_of(trial)[0]) >= FEWEST_BAND_S


def _recoveries(slots: Iterable[Row], window: Window) -> dict[tuple[str, str], Recovery]:
    found: dict[tuple[str, str], list[Row]] = {}
    for row in slots:
        if row["window"] == window.number and row["limit"] is not None:
            found.setdefault((row["metric"], row["subscription"]), []).append(row)
    return {key: recovery_of(rows, window, limit_ms(rows[0]["limit"])) for key, rows in found.items()}


def _gaps(own: Iterable[Row], before: Iterable[Row], window: Window, *, waiting: bool) -> list[Gap]:
    """Of all partitions together, and of each; `waiting`: something was due that no acknowledgement came for."""
    lengths_s: Mapping[int, float] = {
        row["partition"]: (row["gap_to_ns"] - row["gap_from_ns"]) / NANOSECONDS
        for row in before
        if row["gap_to_ns"] is not None
    }
    found = (_gap(row, window, lengths_s.get(row["partition"]), waiting) for row in own if row["partition"] is not None)
    return [gap for gap in found if gap is not None]


def _gap(row: Row, window: Window, usual_s: float | None, waiting: bool) -> Gap | None:
    """The longest, of those that ended and of what was open at the window's end."""
    partition = None if row["partition"] == acknowledgements.ALL else int(row["partition"])
    ended_ns = 0 if row["gap_to_ns"] is None else row["gap_to_ns"] - row["gap_from_ns"]
    is_open = row["last_ns"] is not None and (waiting or window.followed)
    open_ns = window.end_ns - row["last_ns"] if is_open else 0
    if open_ns > max(ended_ns, row["step_ns"], INTERRUPTED * (usual_s or 0.0) * NANOSECONDS):
        return Gap(partition, Bounded(None, open_ns / NANOSECONDS, math.inf), row["last_ns"], None, usual_s)
    if row["gap_to_ns"] is None:
        return None
    # between two steps next to each other nothing longer was found: the longest may be inside of one
    length_s, step_s = ended_ns / NANOSECONDS, row["step_ns"] / NANOSECONDS
    known = exactly(length_s) if ended_ns >= row["step_ns"] else Bounded(None, length_s, step_s)
    return Gap(partition, known, row["gap_from_ns"], row["gap_to_ns"], usual_s)


def _acknowledged(partitions: Sequence[Gap], window: Window) -> Bounded | None:
    """Of the partition that was last; None where nothing says what is usual in some."""
    if not partitions or any(gap.usual_s is None for gap in partitions):
        return None
    interrupted = [gap for gap in partitions if gap.length_s.low > (gap.may_be_usual_s or 0.0)]
    if not interrupted:
        return Bounded(None, 0.0, max(gap.may_be_usual_s or 0.0 for gap in partitions))
    ended_ns = [gap.ended_ns for gap in interrupted if gap.ended_ns is not None]
    if len(ended_ns) < len(interrupted):
        return Bounded(None, (window.end_ns - window.begin_ns) / NANOSECONDS, math.inf)
    return exactly((max(ended_ns) - window.begin_ns) / NANOSECONDS)


def _debts(own: Iterable[Row], before: Sequence[Row], window: Window, answered: bool) -> Iterable[Debt]:
    """The producers' debt only where a broker answers."""
    for row in own:
        if row["partition"] is not None or not (answered or row["subscription"]):
            continue
        of_band = (each for each in before if each["partition"] is None and each["subscription"] == row["subscription"])
        usual = next((int(each["highest_to_pay"]) for each in of_band), None)
        yield Debt(row["subscription"] or None, int(row["highest"]), usual, _paid(row, usual, window))


def _paid(row: Row, usual: int | None, window: Window) -> Bounded | None:
    if usual is None:
        return None
    if row["highest_to_pay"] <= usual:
        return Bounded(None, 0.0, row["step_ns"] / NANOSECONDS)
    if row["paid_ns"] is None:
        return Bounded(None, (window.end_ns - window.begin_ns) / NANOSECONDS, math.inf)
    return exactly((row["paid_ns"] - window.begin_ns) / NANOSECONDS)
