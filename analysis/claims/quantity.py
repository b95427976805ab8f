"""Numbers that may be known in part, as ranges.

A figure that nobody measured is still a number, so it lies somewhere from nothing to infinity. Arithmetic on ranges carries that
through, and a comparison is true, false, or (None) undecided: one counterexample decides "every", whatever else is missing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

Truth = bool | None


@dataclass(frozen=True)
class Range:
    """A number from `low` to `high`, both included; they are equal where it is known."""

    low: float
    high: float

    @property
    def is_exact(self) -> bool:
        """Whether it is one number."""
        return self.low == self.high and math.isfinite(self.low)


UNKNOWN = Range(0.0, math.inf)  # no published or measured figure is negative
UNDEFINED = Range(-math.inf, math.inf)


def exactly(value: float) -> Range:
    """A known number."""
    return Range(value, value)


def add(left: Range, right: Range) -> Range:
    return _spanned([left.low + right.low, left.high + right.high])


def subtract(left: Range, right: Range) -> Range:
    return _spanned([left.low - right.high, left.high - right.low])


def multiply(left: Range, right: Range) -> Range:
    return _spanned([_product(a, b) for a in (left.low, left.high) for b in (right.low, right.high)])


def divide(left: Range, right: Range) -> Range:
    if right.low < 0 < right.high or right.low == right.high == 0:
        return UNDEFINED
    if right.is_exact and left.is_exact:
        return exactly(left.low / right.low)  # once: by way of the reciprocal it would be rounded twice
    return multiply(left, Range(_reciprocal(right.high, -1), _reciprocal(right.low, 1)))


def power(left: Range, right: Range) -> Range:
    if not (left.is_exact and right.is_exact and left.low > 0):
        return UNDEFINED
    return exactly(left.low**right.low)


def decimal_logarithm(quantity: Range) -> Range:
    """Undefined where the quantity may be negative, or is 0."""
    if quantity.low < 0 or quantity.high == 0:
        return UNDEFINED
    return Range(*(-math.inf if end == 0 else math.log10(end) for end in (quantity.low, quantity.high)))


def lowest(several: Sequence[Range]) -> Range:
    """Unknown of no element."""
    return _over(several, min)


def highest(several: Sequence[Range]) -> Range:
    """Unknown of no element."""
    return _over(several, max)


def total(several: Sequence[Range]) -> Range:
    """Unknown of no element."""
    return _over(several, math.fsum)


def is_below(left: Range, right: Range) -> Truth:
    """left < right."""
    return True if left.high < right.low else False if left.low >= right.high else None


def all_of(truths: Iterable[Truth]) -> Truth:
    """False if one is, true if all are."""
    found = list(truths)
    return False if False in found else None if None in found else True


def any_of(truths: Iterable[Truth]) -> Truth:
    """True if one is, false if none is."""
    found = list(truths)
    return True if True in found else None if None in found else False


def _over(several: Sequence[Range], take: Callable[[list[float]], float]) -> Range:
    return Range(take([each.low for each in several]), take([each.high for each in several])) if several else UNKNOWN


def _product(left: float, right: float) -> float:
    # of the ends of ranges: 0 times what has no bound is 0
    return 0.0 if left == 0 or right == 0 else left * right


def _reciprocal(value: float, side: int) -> float:
    return side * math.inf if value == 0 else 1 / value


def _spanned(ends: list[float]) -> Range:
    return UNDEFINED if any(map(math.isnan, ends)) else Range(min(ends), max(ends))
