"""What faults did to each contestant: messages acknowledged and lost, the longest gap, and how long recovery took."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analysis.bounded import Bounded, from_json
from analysis.digest.entries import Entry, Place
from analysis.digest.reading import Told, text, told, whole
from analysis.faults.measures import ACKNOWLEDGED, GAP_OF_PARTITION, RESPONSE_BACK

_TIMES = (GAP_OF_PARTITION, ACKNOWLEDGED, RESPONSE_BACK)
_COUNTED = ("lost", "failed", "unanswered")


def faults_of(report: Mapping[str, Any], entries: Mapping[Place, Entry]) -> list[dict[str, Any]]:
    """One of each fault and cell; empty for a campaign without faults.

    `felt`: of each contestant, its entry's number, how many trials it is of, counts of messages over all of them, and times over those
    that are compared.
    """
    numbers = {place: number for number, place in enumerate(entries)}
    acknowledged = {str(trial["trial"]): whole(trial["counts"]["acknowledged"]) for trial in report["trials"]}
    return [
        {
            "words": text(each["words"], 120),
            "do": text(each["asked"]["do"], 40),
            "target": text(each["asked"]["target"], 80),
            "felt": list(_felt(each, numbers, acknowledged)),
        }
        for each in report.get("faults") or []
    ]


def _felt(
    fault: Mapping[str, Any], numbers: Mapping[Place, int], acknowledged: Mapping[str, int]
) -> Iterator[dict[str, Any]]:
    for own in fault["contestants"]:
        number = numbers.get(Place(str(own["contestant"]), str(fault["workload"]), whole(fault["level"])))
        if number is None:  # of A/A blocks alone
            continue
        trials = own["trials"]
        yield {
            "entry": number,
            "trials": len(trials),
            "acknowledged": sum(acknowledged[str(trial["trial"])] for trial in trials),
            **{name: whole(own["totals"][name]) for name in _COUNTED},
            "must": any(trial["promise"]["must"] is True for trial in trials),
            "why": text(trials[0]["promise"]["why"]) if trials else "",
            "times": {name: _over_blocks(own["figures"][name]) for name in _TIMES if name in own["figures"]},
        }


def _over_blocks(figure: Mapping[str, Any]) -> dict[str, Any]:
    blocks: Sequence[Bounded] = [from_json(each) for each in figure["blocks"]]
    longest: Told | None = None
    if blocks:
        low, high = max(each.low for each in blocks), max(each.high for each in blocks)
        longest = told(Bounded(low if low == high else None, low, high))
    return {"unit": text(figure["unit"], 20), "median": told(from_json(figure["median"])), "longest": longest}
