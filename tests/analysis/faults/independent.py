"""What a fault did, once more: from the raw Parquet files with pyarrow and numpy alone, written without samebox's code.

Everything is done message by message, in one array for all of a trial: sorted, subtracted, looked up. It follows docs/faults.md.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

SECOND, SLOT = 1_000_000_000, 100_000_000
NEVER = -1


def independent(trial: Path, goal_ms: float = 100.0) -> list[dict[str, Any]]:
    """Per fault: gap, recovery, debt, late messages; times in nanoseconds, None = not within its time."""
    document = json.loads((trial / "trial.json").read_text())
    measured = next(phase for phase in document["phases"] if phase["name"] == "measure")
    told = [fault["began_ns"] for fault in document["observations"]["faults"]]
    began = [each for each in told if each is not None and each < measured["end_ns"]]
    produced = pq.read_table(sorted((trial / "produced").glob("*.parquet")))
    consumed = pq.read_table(sorted((trial / "consumed").glob("*.parquet")))
    nothing: Any = NEVER
    intended, acked_ns, partitions = (
        produced[name].fill_null(nothing).to_numpy() for name in ("intended_ns", "acked_ns", "partition")
    )
    answered = acked_ns != NEVER
    latency = np.where(answered, acked_ns - intended, math.inf)
    acked = np.sort(acked_ns[answered])
    received = consumed["intended_ns"].to_numpy()
    to_end = consumed["received_ns"].to_numpy() - received
    first = min(began)
    limit = _limit(intended, latency, first, measured["start_ns"])
    limit_to_end = _limit(received, to_end, first, measured["start_ns"], due=intended)
    band = (first - min(61, (first - measured["start_ns"]) // SECOND) * SECOND, first)
    found = []
    for own in began:
        end = min([each for each in began if each > own] + [measured["end_ns"]])
        followed = end < measured["end_ns"]
        gap = _gap(acked, own, end, followed)
        inside = (intended >= own) & (intended < end)
        late = inside & (latency > goal_ms * 1e6)
        found.append(
            {
                "gap_ns": gap[1] - gap[0],
                "acknowledged_after_ns": gap[1] - own,
                "response_back_ns": _back(intended, latency, limit, own, end),
                "end_to_end_back_ns": _back(received, to_end, limit_to_end, own, end, due=intended),
                "late": int(late.sum()),
                "late_s": len(np.unique((intended[late] - own) // SECOND)),
                "partitions": {
                    int(partition): _length(_gap(np.sort(acked_ns[partitions == partition]), own, end, followed))
                    for partition in np.unique(partitions[answered])
                },
                "every_partition_after_ns": _every_partition(acked_ns, partitions, own, end, followed, band),
                **_debt(intended, acked_ns, own, end, band),
            }
        )
    return found


def _every_partition(
    acked_ns: Any, partitions: Any, begin: int, end: int, followed: bool, band: tuple[int, int]
) -> int | None:
    """When the last partition was back whose gap is over twice its longest in the band, and over a tenth of a second; 0 = none was."""
    ends = [0]
    for partition in np.unique(partitions[acked_ns != NEVER]):
        acked = np.sort(acked_ns[partitions == partition])
        before, after = acked[:-1], acked[1:]
        usual = (after - before)[(after > band[0]) & (after < band[1])].max()
        gap = _gap(acked, begin, end, followed)
        if _length(gap) > max(2 * usual, SECOND // 10):
            ends.append(gap[1] - begin)
    return max(ends)


def _length(gap: tuple[int, int]) -> int:
    return gap[1] - gap[0]


def _gap(acked: Any, begin: int, end: int, followed: bool) -> tuple[int, int]:
    """The longest of those between neighbours of which some part is in the time; what lies across the beginning of the next fault is
    the next one's."""
    before, after = acked[:-1], acked[1:]
    inside = (after > begin) & ((after if followed else before) < end)
    lengths = (after - before)[inside]
    at = int(lengths.argmax())
    return int(before[inside][at]), int(after[inside][at])


def _scale(latency: Any) -> Any:
    """The steps of 1/128 of a factor e."""
    with np.errstate(divide="ignore"):
        return np.where(
            np.isinf(latency), math.inf, np.floor(np.log(np.where(np.isinf(latency), 1, latency) + 1.0) * 128)
        )


def _limit(intended: Any, latency: Any, first: int, measured: int, due: Any = None) -> float:
    """A quarter above the highest p99 of the whole seconds before the first fault, at most 60 of them, but for the last one. What is
    `due` and has no latency is later than all."""
    highest, seconds = -math.inf, min(61, (first - measured) // SECOND)
    assert seconds >= 11
    for second in range(2, seconds + 1):
        begin = first - second * SECOND
        values = np.sort(latency[(intended >= begin) & (intended < begin + SECOND)])
        there = _by_slot(intended, begin, 10)
        missing = 0 if due is None else int(np.maximum(0, _by_slot(due, begin, 10) - there).sum())
        values = np.append(values, np.full(missing, math.inf))
        highest = max(highest, values[math.ceil(0.99 * len(values)) - 1])
    return float(_scale(np.array([highest]))[0] + 29)


def _by_slot(times: Any, begin: int, slots: int) -> Any:
    inside = times[(times >= begin) & (times < begin + slots * SLOT)]
    return np.bincount((inside - begin) // SLOT, minlength=slots)


def _back(intended: Any, latency: Any, limit: float, begin: int, end: int, due: Any = None) -> int | None:
    """0: never left; else the last message beyond the limit before the first five seconds of which each is within it. What is `due` and
    has no latency at all is beyond the limit, and of it no more than its tenth of a second is known."""
    slots = (end - begin) // SLOT
    times = intended[(intended >= begin) & (intended < end)]
    late = _scale(latency[(intended >= begin) & (intended < end)]) > limit
    there = np.bincount((times - begin) // SLOT, minlength=slots + 1)[:slots]
    beyond = np.bincount((times[late] - begin) // SLOT, minlength=slots + 1)[:slots]
    asked = (
        there
        if due is None
        else np.bincount((due[(due >= begin) & (due < end)] - begin) // SLOT, minlength=slots + 1)[:slots]
    )
    missing = np.maximum(0, asked - there)
    for slot in range(slots - 49):
        seconds = [slice(slot + 10 * n, slot + 10 * n + 10) for n in range(5)]
        if all((beyond[s].sum() + missing[s].sum()) * 100 <= there[s].sum() + missing[s].sum() for s in seconds):
            late_slots = np.flatnonzero(beyond[:slot] + missing[:slot])
            if not len(late_slots):
                return 0
            last = int(late_slots[-1])
            if missing[last]:
                return (last + 1) * SLOT
            return int(times[late & (times < begin + slot * SLOT)].max() - begin)
    return None


def _debt(intended: Any, acked: Any, begin: int, end: int, band: tuple[int, int]) -> dict[str, Any]:
    """What is due and not acknowledged at each millisecond; paid once no more is than at most in the band."""
    answered = acked != NEVER
    all_due, due, paid = (np.sort(each) for each in (intended, intended[answered], acked[answered]))

    def owed(start: int, stop: int) -> tuple[Any, Any]:
        looks = np.append(np.arange(start, stop, 1_000_000), stop)
        gone = np.searchsorted(paid, looks)
        return np.searchsorted(all_due, looks) - gone, np.searchsorted(due, looks) - gone

    usual = owed(*band)[1].max()
    everything, to_pay = owed(begin, end)
    at = int(to_pay.argmax())
    low = np.flatnonzero(to_pay[at:] <= usual)
    return {"owed": int(everything.max()), "paid_ns": int((at + low[0]) * 1_000_000) if len(low) else None}
