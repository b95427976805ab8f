"""Quantities that may be known in part: a range, and series of ranges. It knows no claim.

What nobody measured is still a quantity, so it lies somewhere from nothing to infinity. Arithmetic on ranges carries that through, and
a comparison is true, false, or (None) not decided by what is known: one counterexample decides "every", whatever else is missing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

Key = tuple[str, ...]
Truth = bool | None


@dataclass(frozen=True)
class Range:
    """A number that lies from `low` to `high`, both included; equal where it is known."""

    low: float
    high: float

    @property
    def is_exact(self) -> bool:
        """Whether it is one number."""
        return self.low == self.high and math.isfinite(self.low)


@dataclass(frozen=True)
class Series:
    """Quantities by what they are of; two series are combined key by key, and what only one of them has is unknown in the other."""

    values: Mapping[Key, Range]


Quantity = Range | Series
UNKNOWN = Range(0.0, math.inf)  # of published and of measured figures none is negative
UNDEFINED = Range(-math.inf, math.inf)


def exactly(value: float) -> Range:
    """A known number."""
    return Range(value, value)


def combine(operation: Callable[[Range, Range], Range], left: Quantity, right: Quantity) -> Quantity:
    """An operation on two quantities; a number beside a series meets each of its elements."""
    if isinstance(left, Range) and isinstance(right, Range):
        return operation(left, right)
    keys: Iterable[Key] = {
        **(left.values if isinstance(left, Series) else {}),
        **(right.values if isinstance(right, Series) else {}),
    }
    return Series({key: operation(_element(left, key), _element(right, key)) for key in keys})


def _element(quantity: Quantity, key: Key) -> Range:
    return quantity if isinstance(quantity, Range) else quantity.values.get(key, UNKNOWN)


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


def smaller(left: Range, right: Range) -> Range:
    return Range(min(left.low, right.low), min(left.high, right.high))


def larger(left: Range, right: Range) -> Range:
    return Range(max(left.low, right.low), max(left.high, right.high))


def lowest(series: Series) -> Range:
    """The smallest element. Of no element nothing is known."""
    return _over(series, min)


def highest(series: Series) -> Range:
    """The largest element."""
    return _over(series, max)


def total(series: Series) -> Range:
    """All elements added up."""
    return _over(series, math.fsum)


def decimal_logarithm(quantity: Range) -> Range:
    """The power of ten; undefined where the quantity may be negative, or is nothing."""
    if quantity.low < 0 or quantity.high == 0:
        return UNDEFINED
    return Range(*(-math.inf if end == 0 else math.log10(end) for end in (quantity.low, quantity.high)))


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


def _over(series: Series, take: Callable[[list[float]], float]) -> Range:
    elements = list(series.values.values())
    return Range(take([each.low for each in elements]), take([each.high for each in elements])) if elements else UNKNOWN


def _product(left: float, right: float) -> float:
    # of the ends of ranges: nothing times what has no bound is nothing
    return 0.0 if left == 0 or right == 0 else left * right


def _reciprocal(value: float, side: int) -> float:
    return side * math.inf if value == 0 else 1 / value


def _spanned(ends: list[float]) -> Range:
    return UNDEFINED if any(map(math.isnan, ends)) else Range(min(ends), max(ends))
