"""What page, report and first screen say of ladders; and that other campaigns' say nothing of them."""

from __future__ import annotations

import html
import re
from typing import Any

from analysis.answer import answer
from analysis.application import draw
from analysis.campaign import Campaign
from analysis.comparison import compare, count_outcomes, excluded_trials
from analysis.curves.document import ladders_of
from analysis.page import render_page
from analysis.ranking import rank
from analysis.report import Results, report_document
from tests.analysis.ladders import SCATTER, LadderWorld
from tests.analysis.synthetic_results import Plan, Shape, manifest_document

PRICES: dict[str, Any] = {
    "pinned": "2026-11-21",
    "hosts": {"broker-1": 1.0, "broker-2": 1.0, "broker-3": 1.6, "client-1": 0.4},
}


def _results(world: LadderWorld, *, priced: bool = False) -> Results:
    plans = [Plan(each.trial.name, each.trial.block, 1, each.trial.system) for each in world.trials]
    manifest = manifest_document(plans, Shape()) | ({"prices": PRICES} if priced else {})
    campaign = Campaign("results", manifest, tuple(each.trial for each in world.trials), {}, ())
    outcomes = count_outcomes(world.trials, world.checks)
    excluded = excluded_trials(world.trials, world.checks)
    comparisons = compare(world.trials, world.checks, world.measured)
    rankings = rank(world.trials, excluded, world.checks, world.measured, comparisons)
    ladders = ladders_of(world.curves().values(), PRICES["hosts"] if priced else {})
    told = answer(campaign, world.trials, comparisons, outcomes, excluded, rankings=rankings, ladders=ladders)
    found = Results(campaign, world.trials, world.checks, world.measured, outcomes, excluded, comparisons, told, ())
    return Results(**{**vars(found), "rankings": rankings, "ladders": ladders})


def _page(results: Results) -> str:
    return render_page(report_document(results), draw(results, {}, ()))


def _text(page: str) -> str:
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", page)))


def _world(contestants: str = "ab", goal_p99_ms: float | None = 20.0) -> LadderWorld:
    world = LadderWorld(goal_p99_ms)
    for at, name in enumerate(contestants):
        world.climb(name, capacity_per_s=3000.0 * (at + 1) + 1000.0, scatter=SCATTER, broker_cores=1.0 - 0.1 * at)
    return world


def test_the_curve_comes_before_everything_else() -> None:
    """Its section, its figure and its entry in the navigation are the first."""
    page = _page(_results(_world()))
    assert page.index('<a href="#curves">') < page.index('<a href="#outcomes">')
    assert page.index('<h2 id="curves">') < page.index("<svg") < page.index('<h2 id="outcomes">')
    assert "Ladder curve, durability level 1: a response latency p99 of at most 20 ms" in _text(page)


def test_the_table_is_sorted_by_cost() -> None:
    """Dollars where hosts have a price, with the day of the prices; CPU time where they have none."""
    priced, free = (_text(_page(_results(_world(), priced=priced))) for priced in (True, False))
    assert re.search(r"blocks b 6,000 .* a 2,000 ", priced.split("Cheapest first")[1].split("Every rung")[0])
    assert "prices as of 2026-11-21" in priced
    assert "client hosts, 0.400 dollars an hour, are not in it" in priced
    assert "dollars" not in free.split("Cheapest first")[1].split("Every rung")[0]


def test_a_ladder_without_a_goal_is_told_at_the_knee() -> None:
    """No column of the goal."""
    said = _text(_page(_results(_world(goal_p99_ms=None))))
    assert "Cheapest first, at the knee" in said
    assert "keeps the goal up to" not in said


def test_every_rung_is_listed_with_what_was_kept() -> None:
    """Of each contestant; a rate that wasn't kept stands out."""
    page = _page(_results(_world()))
    assert "a 4,000 0 of 6" in _text(page)
    assert "b 6,000 6 of 6" in _text(page)
    assert '<td class="n invalid">0 of 6</td>' in page


def test_the_first_screen_has_one_sentence_for_all_rungs() -> None:
    """Of three contestants too, whose rungs would have one each."""
    findings = _results(_world("abc")).answer.findings
    ladder = [
        each
        for each in findings
        if each.startswith("Ladder curve, durability level 1: a p99 of at most 20 ms is kept up to")
    ]
    assert len(ladder) == 1
    assert not any(each.startswith("Workload curve-") for each in findings)


def test_one_contestant_has_its_curve_alone() -> None:
    """Nothing to compare, and no list of the rungs' values on the first screen."""
    findings = _results(_world("a")).answer.findings
    assert [each for each in findings if "response latency was" in each] == []
    assert any(each.startswith("Ladder curve") for each in findings)


def test_few_blocks_are_told_to_give_no_interval() -> None:
    """In the place of what intervals mean."""
    world = LadderWorld()
    world.climb("a", scatter=(1.0, 1.1))
    said = _text(_page(_results(world)))
    assert "With fewer than 6 blocks no 95 % interval is possible. Every rung" in said


def test_other_campaigns_have_no_such_section() -> None:
    """Neither on the page nor in its navigation, and nothing is folded away; the list in the report is empty."""
    world = _world()
    for each in world.trials:
        del each.trial.document["workload"]["ladder"]
    results = _results(world)
    page = _page(results)
    assert "curves" not in page
    assert "rung" not in page.split("</style>")[1]
    assert report_document(results)["curves"] == []
