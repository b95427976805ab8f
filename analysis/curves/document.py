"""Curves as report.json has them (docs/statistics.md), cheapest contestant first, in the words of the page."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from analysis.bounded import Bounded
from analysis.certainty.interval import Interval
from analysis.curves.cost import Cost, Prices, cost_of
from analysis.curves.curve import METRICS, Curve, Rung
from analysis.curves.over_blocks import OverBlocks
from analysis.formatting import number

NOT_KNOWN = "–"


@dataclass(frozen=True)
class Ladder:
    """All contestants on one ladder at one durability level, each with its cost, the cheapest first."""

    name: str
    level: int
    goal_p99_ms: float | None
    curves: tuple[tuple[Curve, Cost | None], ...]

    @property
    def sentence(self) -> str:
        """For the first screen: how far each keeps the goal, and its knee."""
        where = f"Ladder {self.name}, durability level {self.level}"
        knees = [f"{curve.contestant} {rate_words(curve.knee.median)}" for curve, _ in self.curves if curve.knee]
        knee = f"the knee of p99 over rate is at: {', '.join(knees)} msg/s" if knees else "no knee was found"
        if self.goal_p99_ms is None:
            return f"{where}: {knee}."
        kept = ", ".join(
            f"{curve.contestant} {rate_words(curve.at_goal.median)}" for curve, _ in self.curves if curve.at_goal
        )
        return f"{where}: a p99 of at most {self.goal_p99_ms:g} ms is kept up to: {kept} msg/s; {knee}."


def ladders_of(curves: Iterable[Curve], prices: Prices) -> list[Ladder]:
    """Gathered by ladder and level, in the order of the curves."""
    found: dict[tuple[str, int], list[tuple[Curve, Cost | None]]] = {}
    for curve in curves:
        found.setdefault((curve.ladder, curve.level), []).append((curve, cost_of(curve, prices)))
    return [
        Ladder(name, level, own[0][0].goal_p99_ms, tuple(sorted(own, key=lambda each: _sorted_as(each[1]))))
        for (name, level), own in found.items()
    ]


def curves_document(ladders: Iterable[Ladder], prices: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """The list of report.json. `prices`: the manifest's, None where nobody charges for the hosts."""
    return [
        {
            "ladder": each.name,
            "level": each.level,
            "goal_p99_ms": each.goal_p99_ms,
            "prices_pinned": prices["pinned"] if prices else None,
            "sentence": each.sentence,
            "contestants": [_curve(curve, cost) for curve, cost in each.curves],
        }
        for each in ladders
    ]


def rate_words(known: Bounded) -> str:
    """How far a rate is known, in messages a second."""
    if known.low <= 0:
        return NOT_KNOWN if math.isinf(known.high) else f"below {number(known.high)}"
    if math.isinf(known.high):
        return f"{number(known.low)} or more"
    if known.value is None:
        return f"{number(known.low)} to {number(known.high)}"
    # a bracket of rungs tells the lower one, which was seen to pass
    return number(known.value) + (f" (below {number(known.high)})" if known.value == known.low < known.high else "")


def interval_words(found: Interval | None) -> str:
    """An interval of a rate with its level."""
    if found is None:
        return "none"
    return f"{rate_words(Bounded(None, found.low, found.high))} ({100 * found.attained:.3g} %)"


def _sorted_as(cost: Cost | None) -> tuple[bool, float]:
    return (True, math.inf) if cost is None else cost.sorted_as


def _curve(curve: Curve, cost: Cost | None) -> dict[str, Any]:
    fits = {block: knee.fit for block, knee in curve.knees.items() if knee.fit}
    return {
        "contestant": curve.contestant,
        "at_goal": _rate(curve.at_goal),
        "knee": _rate(curve.knee),
        "highest_kept": _rate(curve.highest_kept),
        "fits": [{"block": block, **vars(fit)} for block, fit in sorted(fits.items())],
        "cost": cost and _cost(cost),
        "rungs": [_rung(rung) for rung in curve.rungs],
    }


def _rate(found: OverBlocks | None) -> dict[str, Any] | None:
    if found is None:
        return None
    said = {"words": rate_words(found.median), "interval_words": interval_words(found.interval)}
    return {**found.to_json(), **said}


def _cost(cost: Cost) -> dict[str, Any]:
    parts = {
        "million_messages": cost.million,
        "gib": cost.gib,
        "brokers_core_s": cost.brokers_core_s,
        "clients_core_s": cost.clients_core_s,
    }
    return {
        "at": cost.at,
        "hosts_per_hour": cost.hour,
        "clients_per_hour": cost.clients_hour,
        **{name: part and part.to_json() for name, part in parts.items()},
    }


def _rung(rung: Rung) -> dict[str, Any]:
    metrics = {metric: rung.over_blocks(metric) for metric in METRICS}
    return {
        "rate_per_s": rung.rate_per_s,
        "trials": [point.evidence.trial.name for point in rung.points],
        "kept": rung.count(True),
        "not_kept": rung.count(False),
        **{metric: found and found.to_json() for metric, found in metrics.items()},
    }
