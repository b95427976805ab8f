"""How sure a report is of the differences between its contestants: the comparisons of the metrics that a site shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analysis.bounded import from_json
from analysis.digest.entries import SHOWN, Entry, Place
from analysis.digest.reading import rounded, text, told, whole


def pairs_of(report: Mapping[str, Any], entries: Mapping[Place, Entry]) -> list[dict[str, Any]]:
    """`first`, `second`: which entries, counted from 0; `ratio`: the first over the second, median of `blocks` blocks; `interval`: None
    with too few of them. Raises KeyError for a contestant without trials."""
    numbers = {place: number for number, place in enumerate(entries)}
    found = []
    for each in report["comparisons"]:
        if each["metric"] not in SHOWN:
            continue
        level = whole(each["level"])
        first, second = (numbers[Place(str(each[end]), str(each["workload"]), level)] for end in ("first", "second"))
        found.append(
            {
                "metric": each["metric"],
                "first": first,
                "second": second,
                "blocks": len(each["blocks"]),
                "ratio": told(from_json(each["median"])),
                "interval": _interval(each["interval"]),
                "verdict": text(each["verdict"], 40),
                "why": text(each["certainty"]),
            }
        )
    return found


def _interval(found: Mapping[str, Any] | None) -> list[float | int | None] | None:
    """Its low end, its high end (None: unbounded), its level."""
    if found is None:
        return None
    high = found["high"]
    return [rounded(found["low"]), None if high is None else rounded(high), rounded(found["attained"])]
