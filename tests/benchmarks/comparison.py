"""Whether two engines found the same percentiles, to the last nanosecond. It runs no engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Key(NamedTuple):
    """Which percentile."""

    trial: str
    metric: str
    quantile_ppm: int


class Found(NamedTuple):
    """What an engine found: the percentile, and of how many samples."""

    value_ns: int
    samples: int


Values = Mapping[Key, Found]


def differences(ours: Values, theirs: Values) -> list[str]:
    """One line for every percentile that isn't the same in both, or that only one of them has; empty = all equal."""
    keys = sorted(ours.keys() | theirs.keys())
    return [
        f"{key.trial} {key.metric} {key.quantile_ppm / 10_000:g} %: {_words(ours.get(key))}, DuckDB {_words(theirs.get(key))}"
        for key in keys
        if ours.get(key) != theirs.get(key)
    ]


def _words(found: Found | None) -> str:
    return f"{found.value_ns} ns of {found.samples} samples" if found else "nothing"
