"""Which trial a result file is of: from its own fields, then from the names that people gave it. What none of them says stays null.

Fields go before the workload's name, that before the file's. A name is read only by patterns that mean one thing; if it says two
different numbers, it says nothing. Where sources contradict each other, the first one holds and the contradiction is kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from analysis.omb.layout import PUBLISH_RATE, OwnLabel
from analysis.omb.result_file import OmbResult, is_plain
from contract.durability import LEVELS

_NUMBER = r"(?<![\d.])(\d+(?:\.\d+)?)"
_PATTERNS: Mapping[str, str] = {
    "topics": rf"{_NUMBER}()[ -]?topics?\b",
    "partitions_per_topic": rf"{_NUMBER}()[ -]?partitions?\b",
    "producers": rf"{_NUMBER}()[ -]?producers?\b",
    "consumers": rf"{_NUMBER}()[ -]?consumers?\b",
    "subscriptions": rf"{_NUMBER}()[ -]?sub(?:scription)?s?\b",
    "message_bytes": rf"{_NUMBER} ?(k?)b\b",
    "rate_per_s": rf"{_NUMBER} ?([km]?)[ -]?rate\b",
}
_MULTIPLES = {
    "message_bytes": {"": 1, "k": 1024},  # OMB's own payload files of 1 Kb are 1024 bytes
    "rate_per_s": {"": 1, "k": 1_000, "m": 1_000_000},
}
_WORKLOAD_NAME, _FILE_NAME = "the workload's name", "the file's name"
# what an acknowledgement waited for, as drivers and files are named ("ack-all", "ack-2", "acks=1"), and "sync", "nosync", "bypass"
_ACKNOWLEDGED = re.compile(r"\backs?[-_= ]?(all|\d+)\b")
_ON_DISK: Mapping[str, tuple[str, bool]] = {
    "nosync": ("async", False),
    "sync": ("sync", False),
    "bypass": ("async", True),
}
_LEVELS: Mapping[tuple[str, str], str] = {(level.replication, level.local): level.name for level in LEVELS}


@dataclass(frozen=True)
class Known:
    """A value and where it comes from; `others`: what other sources say instead."""

    value: int | float | str | None
    source: str | None
    others: Mapping[str, int | float | str] | None = None

    def to_json(self) -> dict[str, Any]:
        """The entry of import.json."""
        return {"value": self.value, "source": self.source, **({"others": dict(self.others)} if self.others else {})}


UNKNOWN = Known(None, None)
REFUTED = 1.05  # a rate limiter doesn't send so much more than its rate


def identity_of(result: OmbResult) -> dict[str, Known]:
    """Everything that says what was run, by name; unknown where nothing does."""
    names = {_WORKLOAD_NAME: result.workload, _FILE_NAME: PurePath(result.source).name.removesuffix(".json")}
    found: dict[str, Known] = {"system": _system(result.driver), "durability": _durability(result, names)}
    for what, pattern in _PATTERNS.items():
        said: list[tuple[str, int | float | str]] = []
        if what in result.scalars:
            said.append((f"the field of {what}", result.scalars[what]))
        for source, name in names.items():
            value = _only(pattern, name, _MULTIPLES.get(what, {"": 1}))
            if value is not None:
                said.append((source, value))
        found[what] = _first(said)
    for meaning in ("producers_per_topic", "consumers_per_subscription"):
        if meaning in result.scalars:
            found[meaning] = Known(result.scalars[meaning], f"the field of {meaning}")
    for key in ("version", "beginTime", "endTime"):
        extra = result.extras.get(key)
        if isinstance(extra, str) and is_plain(extra):
            found[key] = Known(extra, f"the field {key}")
    return found | (_of_own(result.own) if result.own else {"rate_per_s": _unless_refuted(found["rate_per_s"], result)})


def _of_own(label: OwnLabel) -> dict[str, Known]:
    """What an export of samebox's says of its trial."""
    source = "the driver's name in an export of samebox's"
    said: dict[str, int | float | str | None] = {
        "system": label.system,
        "durability": label.durability,
        "block": label.block,
        "block_kind": "A/A" if label.is_aa else "A/B",
        "rate_per_s": label.rate_per_s,
        "subscriptions": label.subscriptions,
    }
    return {name: UNKNOWN if value is None else Known(value, source) for name, value in said.items()}


def achieved_per_s(result: OmbResult) -> float | None:
    """The mean publish rate without the first window, which counts the warm-up."""
    later = result.series[PUBLISH_RATE][1:]
    return sum(later) / len(later) if later else None


def _unless_refuted(rate: Known, result: OmbResult) -> Known:
    """A rate that a name says, unless more was sent."""
    achieved = achieved_per_s(result)
    if isinstance(rate.value, int | float) and rate.source and achieved and achieved > rate.value * REFUTED:
        return Known(None, None, {rate.source: rate.value, **(rate.others or {})})
    return rate


def _system(driver: str) -> Known:
    """The driver's first word: the file says no more of what it drove."""
    word = re.match(r"\s*(?:apache\s+)?([a-z]+)", driver.lower())
    return Known(word.group(1), "the driver's name") if word else UNKNOWN


def _durability(result: OmbResult, names: Mapping[str, str]) -> Known:
    """A level of samebox's, only where a name says both what an acknowledgement waited for and what became of the disk."""
    said = []
    for source, name in {"the driver's name": result.driver, **names}.items():
        tokens = name.lower()
        acknowledged = {match.group(1) for match in _ACKNOWLEDGED.finditer(tokens)}
        local = {word for word in re.split(r"[^a-z]+", tokens) if word in _ON_DISK}
        if len(acknowledged) != 1 or len(local) != 1 or acknowledged == {"0"}:
            continue
        by, on_disk = acknowledged.pop(), local.pop()
        state, bypass = _ON_DISK[on_disk]
        level = _LEVELS["async" if by == "1" else "sync", state] + ("-bypass" if bypass else "")
        said.append(
            (f"{source}: ack {by}, {on_disk}" + ("; taken for a quorum" if by not in ("1", "all") else ""), level)
        )
    return _first(said)


def _first(said: list[tuple[str, Any]]) -> Known:
    if not said:
        return UNKNOWN
    (source, value), *rest = said
    return Known(value, source, {where: other for where, other in rest if other != value} or None)


def _only(pattern: str, name: str, multiples: Mapping[str, int]) -> int | None:
    """The number that a name says once, or every time alike."""
    found = re.finditer(pattern, name.lower())
    values = {float(number) * multiples[unit] for number, unit in (match.groups() for match in found)}
    if len(values) != 1:
        return None
    value = values.pop()
    return int(value) if value == int(value) else None
