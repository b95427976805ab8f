"""Reads one result file of OpenMessaging Benchmark, all generations, into plain data with units. It takes it whole or refuses it.

It judges nothing: whether the figures can be believed is analysis/omb/faults.py's business.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from analysis.errors import AnalysisError
from analysis.omb.layout import (
    FAMILIES,
    MINIMUM,
    REQUIRED_SERIES,
    SCALARS,
    SERIES,
    STATISTICS,
    Family,
    generation,
    known_keys,
)

NEXT = "Give result files of OpenMessaging Benchmark: the JSON that bin/benchmark writes after a run."
_GZIP = b"\x1f\x8b"
MOST_BYTES = 64 * 2**20  # a day in windows of 10 s is 5 MB
MOST_CHARACTERS = 1_000  # of a name: it stands in every row
# no rate, latency or count of a benchmark comes near it, and no sum of what is below it is infinite
MOST = 1e15


@dataclass(frozen=True)
class Latency:
    """One latency of a file, in milliseconds; `quantiles` are (percentile, value) in order of the percentile."""

    family: Family
    windows: Mapping[str, tuple[float, ...]]  # statistic -> one value per window
    aggregate: Mapping[str, float]  # statistic -> value of the whole run
    quantiles: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class OmbResult:
    """What a file says. `series`: key -> one value per window; `extras`: keys that upstream doesn't have, as they are."""

    source: str
    sha256: str
    bytes: int
    generation: str
    workload: str
    driver: str
    scalars: Mapping[str, int]
    series: Mapping[str, tuple[float, ...]]
    latencies: Mapping[str, Latency]
    extras: Mapping[str, Any]

    @property
    def windows(self) -> int:
        """How many there are."""
        return len(self.series[REQUIRED_SERIES[0]])


def read_result(content: bytes, source: str) -> OmbResult:
    """Raises AnalysisError, naming file and key, if this is no result file or not a whole one."""
    if not content.strip():
        raise AnalysisError(f"{source}: the file is empty.", next_step=NEXT)
    document = _document(content, source)
    reader = _Reader(source, document)
    for key in ("workload", "driver"):
        reader.text(key)
    for key in REQUIRED_SERIES:
        reader.require(key)
    series = {key: reader.numbers(key) for key in SERIES if key in document}
    latencies = {family.metric: reader.latency(family) for family in FAMILIES if reader.has(family)}
    reader.require_equal_lengths(
        {
            **series,
            **{f"{one.family.stem}{end}": one.windows[name] for one in latencies.values() for end, name in _ends(one)},
        }
    )
    keys = frozenset(document)
    return OmbResult(
        source=source,
        sha256=hashlib.sha256(content).hexdigest(),
        bytes=len(content),
        generation=generation(keys),
        workload=reader.text("workload"),
        driver=reader.text("driver"),
        scalars={meaning: reader.whole(key) for key, meaning in SCALARS.items() if key in document},
        series=series,
        latencies=latencies,
        extras={key: document[key] for key in sorted(keys - known_keys())},
    )


def _document(content: bytes, source: str) -> dict[str, Any]:
    try:
        document = json.loads(content.decode("utf-8"), object_pairs_hook=_once)
    except UnicodeDecodeError:
        packed = content.startswith(_GZIP)
        what = "compressed by gzip" if packed else "not a text file, so no result of OpenMessaging Benchmark"
        raise AnalysisError(f"{source}: {what}.", next_step=f"gunzip {source}" if packed else NEXT) from None
    except json.JSONDecodeError as error:
        cut = "" if content.rstrip().endswith(b"}") else " (it doesn't end with }: was it cut off?)"
        raise AnalysisError(
            f"{source}: not valid JSON: {error.msg} in line {error.lineno}, column {error.colno}{cut}.", next_step=NEXT
        ) from None
    except _Twice as error:
        raise AnalysisError(
            f"{source}: the key {_kind(error.key)} is there twice: nobody can say which counts.", next_step=NEXT
        ) from None
    except ValueError:  # Python reads no integer of more than 4,300 digits
        raise AnalysisError(f"{source}: has a number of thousands of digits.", next_step=NEXT) from None
    except RecursionError:
        raise AnalysisError(
            f"{source}: nested too deeply for a result of OpenMessaging Benchmark.", next_step=NEXT
        ) from None
    if not isinstance(document, dict):
        raise AnalysisError(f"{source}: expected a JSON object, found {_kind(document)}.", next_step=NEXT)
    return document


class _Twice(Exception):
    """A key that an object has twice."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _Twice(next(key for key in keys if keys.count(key) > 1))
    return found


def is_plain(text: str) -> bool:
    """Whether a text can stand in a table: not too long, no control characters, nothing that UTF-8 doesn't have."""
    return len(text) <= MOST_CHARACTERS and not any(unicodedata.category(each) in ("Cc", "Cs") for each in text)


def _ends(one: Latency) -> list[tuple[str, str]]:
    return [(end, name) for end, name in (*STATISTICS.items(), MINIMUM) if name in one.windows]


@dataclass(frozen=True)
class _Reader:
    source: str
    document: dict[str, Any]

    def has(self, family: Family) -> bool:
        """Whether the file has this latency; it must if every generation has it."""
        return family.required or any(f"{family.stem}{end}" in self.document for end in STATISTICS)

    def require(self, key: str) -> Any:
        if key not in self.document:
            raise AnalysisError(
                f"{self.source}: no result of OpenMessaging Benchmark: the key {key} is missing.", next_step=NEXT
            )
        return self.document[key]

    def text(self, key: str) -> str:
        value = self.require(key)
        name = value.strip() if isinstance(value, str) else ""
        if not name:
            raise self.wrong(key, "a name", value)
        if not is_plain(name):
            expected = f"a name of at most {MOST_CHARACTERS:,} characters, none of them a control character"
            raise self.wrong(key, expected, value)
        return name

    def whole(self, key: str) -> int:
        value = self.document[key]
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST:
            raise self.wrong(key, "a whole number from 0 to 10^15", value)
        return value

    def number(self, key: str, value: Any, *, negative: bool = False) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.wrong(key, "a finite number", value)
        if not abs(value) <= MOST:
            finite = isinstance(value, int) or abs(value) < float("inf")
            raise self.wrong(key, "a number below 10^15" if finite else "a finite number", value)
        if value < 0 and not negative:
            raise self.wrong(key, "a number, 0 or more", value)
        return float(value)

    def numbers(self, key: str) -> tuple[float, ...]:
        values = self.require(key)
        if not isinstance(values, list) or not values:
            raise self.wrong(key, "a list with one number for each window", values)
        # a reader may run ahead of what its producer has been told is stored: a backlog of -2 is real
        return tuple(
            self.number(f"{key}[{index}]", value, negative=key == "backlog") for index, value in enumerate(values)
        )

    def latency(self, family: Family) -> Latency:
        ends = dict(STATISTICS)
        if f"{family.stem}{MINIMUM[0]}" in self.document:
            ends[MINIMUM[0]] = MINIMUM[1]
        scale = family.to_ms
        windows = {
            name: tuple(value * scale for value in self.numbers(f"{family.stem}{end}")) for end, name in ends.items()
        }
        aggregate = {}
        for end, name in STATISTICS.items():
            key = f"{family.aggregate}{end}"
            aggregate[name] = self.number(key, self.require(key)) * scale
        return Latency(family, windows, aggregate, self.quantiles(family))

    def quantiles(self, family: Family) -> tuple[tuple[float, float], ...]:
        key = family.quantiles
        values = self.require(key)
        if not isinstance(values, dict):
            raise self.wrong(key, "an object of percentile and value", values)
        found = []
        for percentile, value in values.items():
            try:
                at = float(percentile)
            except ValueError:
                raise self.wrong(key, "percentiles from 0 to 100 as its keys", percentile) from None
            if not 0 <= at <= 100:
                raise self.wrong(key, "percentiles from 0 to 100 as its keys", percentile)
            found.append((at, self.number(f"{key}[{percentile}]", value) * family.to_ms))
        return tuple(sorted(found))

    def require_equal_lengths(self, lists: Mapping[str, tuple[float, ...]]) -> None:
        first, *others = lists
        for key in others:
            if len(lists[key]) != len(lists[first]):
                raise AnalysisError(
                    f"{self.source}: {first} has {len(lists[first])} windows and {key} has {len(lists[key])}: "
                    "nobody can say which belong together.",
                    next_step="Get the file as the benchmark wrote it.",
                )

    def wrong(self, key: str, expected: str, value: Any) -> AnalysisError:
        return AnalysisError(f"{self.source}: {key}: expected {expected}, found {_kind(value)}.", next_step=NEXT)


def _kind(value: Any) -> str:
    """A value, short enough for a sentence."""
    if isinstance(value, list | dict):
        what = "list" if isinstance(value, list) else "object"
        return f"a {what} of {len(value)}" if value else f"an empty {what}"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > MOST:
        return f"an integer of about {value.bit_length() * 3 // 10 + 1} digits"
    text = json.dumps(value[:40] if isinstance(value, str) else value)
    return text if len(text) <= 40 else f"{text[:37]}..."
