"""Latency around faults, in slots of 100 ms from the instant of each: the band before the first, and when it was kept again.

The band's limit is a step of a scale on which each is 0.8 % above the one before (`coarse_bucket`): QUARTER above the one that the
highest p99 of a whole second before the first fault lies in, but for the last second before it. A second is in the band if its p99
(nearest rank, what was never answered being later than everything) is at most that: if no more than one in a hundred of its messages is
later. So counts in steps are enough, and nothing about it is rounded twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from analysis.faults.occurrence import BAND, BEFORE_NS, Window
from analysis.percentiles import MILLION, rank
from analysis.records.arrow import grouped, labelled, pc, schema, table
from analysis.records.counting import NANOSECONDS, Counting, Times
from analysis.records.latencies import (
    END_TO_END,
    NO_SUBSCRIPTION,
    PRODUCED_LATENCIES,
    RESPONSE,
    end_to_end,
    subscriptions,
)
from analysis.records.seconds import ACKNOWLEDGED, BUCKETS_PER_E, coarse_bucket

NAME = "fault latency"
SLOT_NS = 100_000_000
SLOTS_OF_SECOND = NANOSECONDS // SLOT_NS
FEWEST_BAND_S = 10
QUARTER = 29  # steps: a factor of 1.254
KEYS = ("metric", "subscription", "window", "slot", "bucket")
SUMS = ("samples", "late_for_users")
HIGHEST = ("highest_ns", "last_ns")
_FEWEST_FOR_P99 = 1_000
BUCKETS = schema(
    metric=pa.string(),
    subscription=pa.string(),
    window=pa.int64(),
    slot=pa.int64(),
    bucket=pa.int64(),
    **{name: pa.int64() for name in (*SUMS, *HIGHEST)},
)
SLOTS = schema(
    metric=pa.string(),
    subscription=pa.string(),
    window=pa.int64(),
    slot=pa.int64(),
    due=pa.int64(),
    late_for_users=pa.int64(),
    missing=pa.int64(),
    late=pa.int64(),
    last_late_ns=pa.int64(),
    p50_ns=pa.int64(),
    p99_ns=pa.int64(),
    max_ns=pa.int64(),
    limit=pa.int64(),
)
Ints = npt.NDArray[np.int64]


def limit_ms(limit: int) -> float:
    """What no latency of the band is longer than, of the step that is its limit."""
    return float(np.expm1((limit + 1) / BUCKETS_PER_E) / 1e6)


def count_produced(rows: pa.Table, times: Times, *, windows: Sequence[Window], goal_ns: int) -> pa.Table:
    """BUCKETS of response latency, by intended time; a null bucket: never acknowledged. And of ACKNOWLEDGED, by when that was."""
    del times
    response = _of(rows["intended_ns"], PRODUCED_LATENCIES[RESPONSE](rows), RESPONSE, NO_SUBSCRIPTION, windows, goal_ns)
    acked = pc.drop_null(rows["acked_ns"])
    # of these only how many there were is of interest
    counted = _of(acked, pc.multiply(acked, 0), ACKNOWLEDGED, NO_SUBSCRIPTION, windows, goal_ns)
    return merge(pa.concat_tables([response, counted]))


def count_consumed(rows: pa.Table, times: Times, *, windows: Sequence[Window], goal_ns: int) -> pa.Table:
    """The same of end-to-end latency, by subscription and receipt."""
    del times
    tables, latency = [BUCKETS.empty_table()], end_to_end(rows)
    for name, theirs in subscriptions(rows):
        columns = [rows["intended_ns"], latency]
        intended, values = columns if theirs is None else (pc.filter(each, theirs) for each in columns)
        tables.append(_of(intended, values, END_TO_END, name, windows, goal_ns))
    return merge(pa.concat_tables(tables))


def _of(
    intended: Any, values: Any, metric: str, subscription: str, windows: Sequence[Window], goal_ns: int
) -> pa.Table:
    tables = [BUCKETS.empty_table()]
    for window in windows:
        inside = pc.and_(pc.greater_equal(intended, window.begin_ns), pc.less(intended, window.end_ns))
        at_ns, own = (pc.filter(each, inside) for each in (intended, values))
        known = pc.fill_null(own, 0).to_numpy()
        unknown = pc.is_null(own).to_numpy()
        columns = {
            "window": pa.repeat(window.number, len(at_ns)),
            "slot": np.floor_divide(at_ns.to_numpy() - window.begin_ns, SLOT_NS),
            "bucket": pa.array(coarse_bucket(known), pa.int64(), mask=unknown),
            "samples": np.ones(len(at_ns), np.int64),
            "late_for_users": (unknown | (known > goal_ns)).astype(np.int64),
            "highest_ns": own,
            "last_ns": at_ns,
        }
        tables.append(labelled(columns, metric=metric, subscription=subscription).cast(BUCKETS))
    return pa.concat_tables(tables)


def merge(buckets: pa.Table) -> pa.Table:
    """Buckets of several files as one."""
    wanted = [*((name, "sum") for name in SUMS), *((name, "max") for name in HIGHEST)]
    added = grouped(buckets, KEYS, wanted)
    columns = {name: added[name] for name in KEYS} | {name: added[f"{name}_{how}"] for name, how in wanted}
    return table(columns).cast(BUCKETS)


def slots_of(buckets: pa.Table, *, windows: Sequence[Window]) -> pa.Table:
    """SLOTS: every slot in which something was due, of each metric and subscription; `late`: later than the band's limit, which is null
    where the band has none."""
    due = _due(buckets)
    names = dict.fromkeys(zip(*(buckets[name].to_pylist() for name in ("metric", "subscription")), strict=True))
    rows: list[dict[str, Any]] = []
    for metric, subscription in sorted(names):
        its = pc.and_(pc.equal(buckets["metric"], metric), pc.equal(buckets["subscription"], subscription))
        own = _slots(buckets.filter(its), {} if metric == ACKNOWLEDGED else due)
        limit = limit_of(own, windows[0])
        rows += [{"metric": metric, "subscription": subscription, **_slot(*each, limit)} for each in own.items()]
    return pa.Table.from_pylist(rows, SLOTS)


# window, slot
_Slot = tuple[int, int]


class _Counts:
    """The latencies of one slot or second: buckets ascending, those never answered last, as a bucket above all."""

    NEVER = np.iinfo(np.int64).max

    def __init__(
        self, buckets: Ints, samples: Ints, highest_ns: Ints, last_ns: Ints, due: int, late_for_users: int
    ) -> None:
        missing = max(0, due - int(samples.sum()))  # never received, and counted nowhere
        self.due = max(due, int(samples.sum()))
        self.late_for_users = late_for_users + missing
        self.missing = missing
        self.buckets, self.samples, self.highest_ns, self.last_ns = buckets, samples, highest_ns, last_ns

    def bucket_at(self, quantile_ppm: int) -> int:
        """That of a percentile, by nearest rank."""
        at = int(np.searchsorted(np.cumsum(self.samples), rank(quantile_ppm, self.due)))
        return int(self.buckets[at]) if at < len(self.buckets) else self.NEVER

    def value_at(self, quantile_ppm: int) -> int | None:
        """The highest value in the bucket of a percentile; None among those never answered."""
        at = int(np.searchsorted(np.cumsum(self.samples), rank(quantile_ppm, self.due)))
        return int(self.highest_ns[at]) if at < len(self.buckets) and self.buckets[at] != self.NEVER else None


def _due(buckets: pa.Table) -> dict[_Slot, int]:
    """How many messages were due in each slot, by the producers' records."""
    response = buckets.filter(pc.equal(buckets["metric"], RESPONSE))
    added = grouped(response, ["window", "slot"], [("samples", "sum")])
    columns = (added[name].to_pylist() for name in ("window", "slot", "samples_sum"))
    return {(window, slot): count for window, slot, count in zip(*columns, strict=True)}


def _slots(buckets: pa.Table, due: dict[_Slot, int]) -> dict[_Slot, _Counts]:
    """Every slot with something due, in order."""
    ordered = buckets.sort_by(
        [(name, "ascending") for name in ("window", "slot", "bucket")]
    ).combine_chunks()  # nulls last
    columns = {
        name: pc.fill_null(ordered[name], _Counts.NEVER if name == "bucket" else 0).to_numpy()
        for name in ("window", "slot", "bucket", *SUMS, *HIGHEST)
    }
    places = list(zip(columns["window"].tolist(), columns["slot"].tolist(), strict=True))
    starts: dict[_Slot, int] = {}
    for at, place in enumerate(places):
        starts.setdefault(place, at)
    ends = dict(zip(starts, [*list(starts.values())[1:], len(places)], strict=True))
    found = {}
    for place in sorted({*starts, *due}):
        part = slice(starts.get(place, 0), ends.get(place, 0))
        bucket, samples, highest_ns, last_ns = (
            columns[name][part] for name in ("bucket", "samples", "highest_ns", "last_ns")
        )
        late = int(columns["late_for_users"][part].sum())
        found[place] = _Counts(bucket, samples, highest_ns, last_ns, due.get(place, 0), late)
    return found


def band_seconds(band: Window) -> int:
    """How many whole seconds the band has."""
    return max(0, (band.end_ns - band.begin_ns - BEFORE_NS) // NANOSECONDS)


def limit_of(slots: dict[_Slot, _Counts], band: Window) -> int | None:
    """The band's limit; None where there are fewer than FEWEST_BAND_S seconds in it, or a second's p99 was never answered. What was due
    in the last second before the fault may have been on its way, and isn't in it.
    """
    seconds = band_seconds(band)
    if seconds < FEWEST_BAND_S:
        return None
    by_second: dict[int, list[_Counts]] = {}
    for (window, slot), counts in slots.items():
        if window == BAND and slot < seconds * SLOTS_OF_SECOND:
            by_second.setdefault(slot // SLOTS_OF_SECOND, []).append(counts)
    highest = [_p99_bucket(own) for own in by_second.values()]
    return None if not highest or max(highest) == _Counts.NEVER else max(highest) + QUARTER


def _p99_bucket(slots: Sequence[_Counts]) -> int:
    buckets = np.concatenate([each.buckets for each in slots])
    samples = np.concatenate([each.samples for each in slots])
    order = np.argsort(buckets, kind="stable")
    wanted = rank(990_000, sum(each.due for each in slots))
    at = int(np.searchsorted(np.cumsum(samples[order]), wanted))
    return int(buckets[order][at]) if at < len(order) else _Counts.NEVER


def _slot(place: _Slot, counts: _Counts, limit: int | None) -> dict[str, Any]:
    late = counts.buckets > (_Counts.NEVER if limit is None else limit)
    shown = counts.due >= _FEWEST_FOR_P99
    return {
        "window": place[0],
        "slot": place[1],
        "due": counts.due,
        "late_for_users": counts.late_for_users,
        "missing": counts.missing,
        "late": None if limit is None else int(counts.samples[late].sum()) + counts.missing,
        # of what was never received nobody knows when exactly it was due
        "last_late_ns": int(counts.last_ns[late].max()) if late.any() else None,
        "p50_ns": counts.value_at(500_000),
        "p99_ns": counts.value_at(990_000) if shown else None,
        "max_ns": counts.value_at(MILLION),
        "limit": limit,
    }


def countings(windows: Sequence[Window], goal_ms: float) -> tuple[Counting, Counting]:
    """Of one trial: both sides come together in one table."""
    produced = partial(count_produced, windows=windows, goal_ns=round(goal_ms * 1e6))
    consumed = partial(count_consumed, windows=windows, goal_ns=round(goal_ms * 1e6))
    finish = partial(slots_of, windows=windows)
    return (
        Counting(NAME, "produced", ("intended_ns", "acked_ns"), produced, merge, finish),
        Counting(NAME, "consumed", ("subscription", "intended_ns", "received_ns"), consumed, merge, finish),
    )
