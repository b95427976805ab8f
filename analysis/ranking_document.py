"""Rankings as report.json has them (docs/statistics.md), in the words of the page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from analysis.certainty.interval import interval_document
from analysis.ranking import Place, Ranking, headlines, several


def rankings_document(rankings: Iterable[Ranking]) -> list[dict[str, Any]]:
    """The list of report.json."""
    rankings = list(rankings)
    first, of_several = headlines(rankings), several(rankings)
    return [
        {
            "workload": each.cell[0],
            "level": each.cell[1],
            "metric": each.metric,
            "called": each.called,
            "unit": each.unit,
            "better": each.better,
            "tested": each.tested,
            "several": each.cell in of_several,
            "headline": first[each.cell] is each,
            "sentence": each.sentence,
            "order": each.order,
            "places": [_place_document(place) for place in each.places],
            "missing": list(each.missing),
        }
        for each in rankings
    ]


def _place_document(place: Place) -> dict[str, Any]:
    against = place.against_best
    return {
        "contestant": place.contestant,
        "trials": place.trials,
        "median": place.median.to_json(),
        "range": place.range.to_json(),
        "first": place.first,
        "last": place.last,
        "better_than": list(place.better_than),
        "worse_than": list(place.worse_than),
        "not_told_from": list(place.not_told_from),
        "not_met": dict(place.not_met),
        "against_best": against
        and {
            "median": against.median.to_json(),
            "interval": interval_document(against.interval),
            "verdict": against.verdict,
            "certainty": against.why,
        },
    }
