"""A measured value as far as it is known: itself, or the bounds that it lies in.

A percentile that falls among messages that were never acknowledged has only a lower bound: how long was waited for them. The
highest rate that a system sustains lies between the highest that it did and the lowest that it didn't.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any


@dataclass(frozen=True)
class Bounded:
    """`low` <= the true value <= `high`, which is infinite where nothing bounds it. `value`: what is told; None = only the bounds."""

    value: float | None
    low: float
    high: float

    @property
    def is_exact(self) -> bool:
        """Whether there is nothing but the value."""
        return self.low == self.high

    def over(self, other: Bounded) -> Bounded:
        """The ratio of two that are positive, or bounded by 0 and infinity."""
        value = None if self.value is None or other.value is None else self.value / other.value
        low = 0.0 if math.isinf(other.high) else self.low / other.high
        high = math.inf if other.low == 0 or math.isinf(self.high) else self.high / other.low
        return Bounded(value, low, high)

    def to_json(self) -> dict[str, Any]:
        """JSON has no infinity: null is no upper bound."""
        return {"value": self.value, "low": self.low, "high": None if math.isinf(self.high) else self.high}


def exactly(value: float) -> Bounded:
    """A value without any doubt."""
    return Bounded(value, value, value)


def from_json(document: Mapping[str, Any]) -> Bounded:
    """What `to_json` wrote, or a value alone. Raises KeyError, TypeError or ValueError for anything else."""
    value, high = document["value"], document.get("high")
    if "low" not in document:
        return exactly(float(value))
    return Bounded(
        None if value is None else float(value), float(document["low"]), math.inf if high is None else float(high)
    )


def range_of(several: Iterable[Bounded]) -> Bounded:
    """From the smallest to the largest that one of them can be."""
    found = list(several)
    return Bounded(None, min(each.low for each in found), max(each.high for each in found))


def median_of(several: Iterable[Bounded]) -> Bounded:
    """The median. It has a value where each one has, or where it is the same wherever the others lie within their bounds."""
    found = list(several)
    values = [each.value for each in found if each.value is not None]
    low, high = median(each.low for each in found), median(each.high for each in found)
    agreed = low if low == high else None
    return Bounded(median(values) if len(values) == len(found) else agreed, low, high)
