"""Numbers as people read them: three significant digits, units, times. It rounds for display only; files keep full precision."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

_BYTES = ("B", "kB", "MB", "GB", "TB")


def number(value: float | None) -> str:
    """Three significant digits, thousands separated, never an exponent."""
    if value is None or not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{min(digits, 6)}f}"


def quantity(value: float | None, unit: str) -> str:
    """A value in the unit people expect: bytes scaled, shares as per cent, counts whole."""
    if value is None:
        return "–"
    if unit == "bytes":
        return size(value)
    if unit == "share":
        return f"{number(value * 100)} %"
    if unit in ("messages", "steps"):
        return f"{value:,.0f}"
    return f"{number(value)} {'µs' if unit == 'us' else unit}"


def size(value: float | None) -> str:
    """Bytes with a decimal unit."""
    if value is None:
        return "–"
    scaled, step = float(value), 0
    while abs(scaled) >= 1000 and step < len(_BYTES) - 1:
        scaled, step = scaled / 1000, step + 1
    return f"{number(scaled)} {_BYTES[step]}"


def ratio(value: float) -> str:
    """A ratio of two systems."""
    return f"{value:.2f}×" if 0.1 <= value < 10 else f"{number(value)}×"


def within(low: float, high: float | None, shown: Callable[[float], str]) -> str:
    """Bounds in words. An upper bound that is infinite or None isn't one, nor is a lower bound of 0."""
    if high is None or math.isinf(high):
        return f"more than {shown(low)}" if low > 0 else "anything"
    return f"{shown(low)} to {shown(high)}" if low > 0 else f"less than {shown(high)}"


def ratios(low: float, high: float | None) -> str:
    """Bounds of a ratio."""
    return within(low, high, ratio)


def bounded(found: Mapping[str, Any], shown: Callable[[float], str] = ratio) -> str:
    """What is known of a value, as report.json has it (value, low, high): the value where there is one, else its bounds."""
    return within(found["low"], found["high"], shown) if found["value"] is None else shown(found["value"])


def bounded_quantity(found: Mapping[str, Any], unit: str) -> str:
    """The same, with a unit."""
    return bounded(found, lambda value: quantity(value, unit))


def within_quantity(low: float, high: float | None, unit: str) -> str:
    """Bounds with a unit."""
    return within(low, high, lambda value: quantity(value, unit))


def bounded_number(found: Mapping[str, Any]) -> str:
    """The same, a bare number."""
    return bounded(found, number)


def interval(low: float, high: float | None, attained: float) -> str:
    """An interval of a ratio with the level that it attains."""
    return f"{100 * attained:.3g} % interval {ratios(low, high)}"


def p_value(value: float | None) -> str:
    """A p-value: two significant digits."""
    return "–" if value is None else f"{value:.2g}" if value >= 0.0001 else "below 0.0001"


def moment(time_ns: int | None) -> str:
    """A time as UTC to the second."""
    return "–" if not time_ns else datetime.fromtimestamp(time_ns / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def words(metric: str) -> str:
    """A metric's name as words: publish_latency_p99 -> publish latency p99."""
    return metric.replace("_", " ")


def listed(names: Sequence[str]) -> str:
    """Names in a sentence: a, b and c."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def plain(value: Any) -> str:
    """Any recorded value in a table cell."""
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return number(value)
    if isinstance(value, dict):
        return ", ".join(f"{key} {plain(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(plain(inner) for inner in value) or "none"
    return str(value)
