"""Reads one result file of OpenMessaging Benchmark, of any generation, into plain data with units, or refuses it.

Whether its figures can be believed is for analysis/omb/faults.py to say.
"""

from __future__ import annotations

import hashlib
import json
import math
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from analysis.documents import shown
from analysis.errors import AnalysisError
from analysis.omb.layout import (
    BACKLOG,
    FAMILIES,
    MINIMUM,
    PUBLISH_RATE,
    REQUIRED_SERIES,
    SCALARS,
    SERIES,
    STATISTICS,
    Family,
    OwnLabel,
    generation,
    known_keys,
    own_label,
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
        return len(self.series[PUBLISH_RATE])

    @property
    def own(self) -> OwnLabel | None:
        """What it says of its trial, if samebox exported it."""
        return own_label(self.driver)


def read_result(content: bytes, source: str) -> OmbResult:
    """Raises AnalysisError, naming file and key, for anything but a complete result file."""
    document = _document(content, source)
    reader = _Reader(source, document)
    workload, driver = reader.text("workload"), reader.text("driver")
    series = {key: reader.numbers(key) for key in SERIES if key in document or key in REQUIRED_SERIES}
    latencies = {family.metric: reader.latency(family) for family in FAMILIES if reader.has(family)}
    reader.require_equal_lengths(series, latencies.values())
    keys = frozenset(document)
    return OmbResult(
        source=source,
        sha256=hashlib.sha256(content).hexdigest(),
        bytes=len(content),
        generation=generation(keys),
        workload=workload,
        driver=driver,
        scalars={meaning: reader.whole(key) for key, meaning in SCALARS.items() if key in document},
        series=series,
        latencies=latencies,
        extras={key: document[key] for key in sorted(keys - known_keys())},
    )


def _document(content: bytes, source: str) -> dict[str, Any]:
    if not content.strip():
        raise _refused(source, "the file is empty")
    try:
        document = json.loads(content.decode("utf-8"), object_pairs_hook=_without_duplicates)
    except UnicodeDecodeError:
        if content.startswith(_GZIP):
            raise _refused(source, "compressed with gzip", next_step=f"gunzip {source}") from None
        raise _refused(source, "not a text file, so not a result of OpenMessaging Benchmark") from None
    except json.JSONDecodeError as error:
        cut = "" if content.rstrip().endswith(b"}") else " (it doesn't end with }: was it cut off?)"
        where = f"line {error.lineno}, column {error.colno}"
        raise _refused(source, f"not valid JSON: {error.msg} in {where}{cut}") from None
    except _Duplicate as error:
        raise _refused(
            source, f"the key {shown(error.args[0])} appears twice, so which value counts is unclear"
        ) from None
    except ValueError:  # Python reads no integer of more than 4,300 digits
        raise _refused(source, "contains a number with thousands of digits") from None
    except RecursionError:
        raise _refused(source, "nested too deeply for a result of OpenMessaging Benchmark") from None
    if not isinstance(document, dict):
        raise _refused(source, f"expected a JSON object, found {shown(document)}")
    return document


class _Duplicate(Exception):
    """A key that an object has twice."""


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _Duplicate(next(key for key in keys if keys.count(key) > 1))
    return found


def is_plain(text: str) -> bool:
    """Whether a text can stand in a table: not too long, no control characters, nothing that UTF-8 doesn't have."""
    return len(text) <= MOST_CHARACTERS and not any(unicodedata.category(each) in ("Cc", "Cs") for each in text)


@dataclass(frozen=True)
class _Reader:
    """The values of a file by their keys. Each method raises AnalysisError for a value that isn't what the key says."""

    source: str
    document: Mapping[str, Any]

    def has(self, family: Family) -> bool:
        """Whether the file has this latency; it must if every generation has it."""
        return family.required or any(f"{family.stem}{end}" in self.document for end in STATISTICS)

    def text(self, key: str) -> str:
        value = self._required(key)
        name = value.strip() if isinstance(value, str) else ""
        if not name:
            raise self._unexpected(key, "a name", value)
        if not is_plain(name):
            expected = f"a name of at most {MOST_CHARACTERS:,} characters, none of them a control character"
            raise self._unexpected(key, expected, value)
        return name

    def whole(self, key: str) -> int:
        value = self.document[key]
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST:
            raise self._unexpected(key, "a whole number from 0 to 10^15", value)
        return value

    def numbers(self, key: str) -> tuple[float, ...]:
        values = self._required(key)
        if not isinstance(values, list) or not values:
            raise self._unexpected(key, "a list with one number for each window", values)
        return tuple(
            # a reader may run ahead of what its producer has been told is stored: a backlog of -2 is real
            self._number(f"{key}[{index}]", value, negative=key == BACKLOG)
            for index, value in enumerate(values)
        )

    def latency(self, family: Family) -> Latency:
        ends = dict([*STATISTICS.items(), *([MINIMUM] if f"{family.stem}{MINIMUM[0]}" in self.document else [])])
        windows = {name: self.numbers(f"{family.stem}{end}") for end, name in ends.items()}
        run = {name: f"{family.aggregate}{end}" for end, name in STATISTICS.items()}
        return Latency(
            family,
            {name: tuple(value * family.to_ms for value in values) for name, values in windows.items()},
            {name: self._number(key, self._required(key)) * family.to_ms for name, key in run.items()},
            self._quantiles(family),
        )

    def require_equal_lengths(self, series: Mapping[str, tuple[float, ...]], latencies: Iterable[Latency]) -> None:
        lengths = {key: len(values) for key, values in series.items()}
        for one in latencies:
            ends = (*STATISTICS.items(), MINIMUM)
            lengths |= {f"{one.family.stem}{end}": len(one.windows[name]) for end, name in ends if name in one.windows}
        first = PUBLISH_RATE
        for key, length in lengths.items():
            if length != lengths[first]:
                raise _refused(
                    self.source,
                    f"{first} has {lengths[first]} windows and {key} has {length}, so they can't be matched",
                    next_step="Get the file as the benchmark wrote it.",
                )

    def _required(self, key: str) -> Any:
        if key not in self.document:
            raise _refused(self.source, f"not a result of OpenMessaging Benchmark: the key {key} is missing")
        return self.document[key]

    def _number(self, key: str, value: Any, *, negative: bool = False) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._unexpected(key, "a finite number", value)
        if not abs(value) <= MOST:
            finite = isinstance(value, int) or abs(value) < float("inf")
            raise self._unexpected(key, "a number below 10^15" if finite else "a finite number", value)
        if value < 0 and not negative:
            raise self._unexpected(key, "a number, 0 or more", value)
        return float(value)

    def _quantiles(self, family: Family) -> tuple[tuple[float, float], ...]:
        key = family.quantiles
        values = self._required(key)
        if not isinstance(values, dict):
            raise self._unexpected(key, "an object of percentile and value", values)
        found = []
        for percentile, value in values.items():
            try:
                at = float(percentile)
            except ValueError:
                at = math.nan
            if not 0 <= at <= 100:
                raise self._unexpected(key, "percentiles from 0 to 100 as its keys", percentile)
            found.append((at, self._number(f"{key}[{percentile}]", value) * family.to_ms))
        return tuple(sorted(found))

    def _unexpected(self, key: str, expected: str, value: Any) -> AnalysisError:
        return _refused(self.source, f"{key}: expected {expected}, found {shown(value)}")


def _refused(source: str, sentence: str, *, next_step: str = NEXT) -> AnalysisError:
    return AnalysisError(f"{source}: {sentence}.", next_step=next_step)
