"""What page and first screen say of more than two contestants: their ranking first, their pairs folded away."""

from __future__ import annotations

import html
import re

from analysis.answer import answer
from analysis.campaign import Campaign
from analysis.comparison import count_outcomes, excluded_trials
from analysis.drawing import Drawings
from analysis.page import render_page
from analysis.report import Results, report_document
from tests.analysis.synthetic_results import Plan, Shape, manifest_document
from tests.analysis.test_ranking import P50, SCATTER, World, around

COLOURS = {"a": "#0072B2", "b": "#D55E00", "c": "#009E73"}


def _world(systems: str, blocks: int = 8) -> World:
    world = World()
    for system, value in zip(systems, (10.0, 10.2, 2.0), strict=False):
        scatter = SCATTER[::-1] if system == "b" else SCATTER
        world.run(system, around(value, scatter)[:blocks], not_met={2: "no-loss"} if system == "b" else {})
        world.run(system, around(value / 2, scatter)[:blocks], P50)
    return world


def _results(world: World) -> Results:
    plans = [Plan(each.trial.name, each.trial.block, 1, each.trial.system) for each in world.trials]
    trials = tuple(each.trial for each in world.trials)
    campaign = Campaign("results", manifest_document(plans, Shape()), trials, {}, ())
    outcomes = count_outcomes(world.trials, world.checks)
    excluded = excluded_trials(world.trials, world.checks)
    comparisons, rankings = world.comparisons(), world.rankings()
    told = answer(campaign, world.trials, comparisons, outcomes, excluded, rankings=rankings)
    found = Results(campaign, world.trials, world.checks, world.measured, outcomes, excluded, comparisons, told, ())
    return Results(**{**vars(found), "rankings": rankings})


def _page(world: World) -> str:
    return render_page(report_document(_results(world)), Drawings(colours=COLOURS))


def _text(page: str) -> str:
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", page)))


def test_three_are_ranked_and_their_pairs_folded_away() -> None:
    """Values with the places that are left open; each pair's tables are inside of a fold, none of which is open."""
    page = _page(_world("abc"))
    assert "Workload steady, durability level 1: 3 contestants" in page
    assert re.search(
        r"c 1\.01 ms 1 2\.02 ms 1 8 – a 5\.05 ms 2–3 10\.1 ms 2–3 8 – b 5\.15 ms 2–3 10\.3 ms 2–3 8 no-loss \(1\)",
        _text(page),
    )
    before, folded = page.split('<details class="pairs">')
    assert "<h4>a over b</h4>" in folded
    assert "a over b" not in before


def test_the_overview_leads_to_every_cell() -> None:
    """A line per workload and level, with its one metric."""
    page = _page(_world("abc"))
    assert "steady, level 1 response latency p99 2.02 ms 1 10.1 ms 2–3 10.3 ms 2–3" in _text(page)
    (target,) = re.findall(r'<a href="#(cell-[^"]+)">steady, level 1</a>', page)
    assert page.count(f'id="{target}"') == 1


def test_a_metric_that_one_of_three_lacks_is_a_dash() -> None:
    """The overview's own metric among them: the cell stays one of three, and the page whole."""
    world = _world("ab")
    world.run("c", around(1.0), P50)
    said = _text(_page(world))
    assert "Workload steady, durability level 1: 3 contestants" in said
    assert "steady, level 1 response latency p99 – 10.1 ms 1–2 10.3 ms 1–2" in said
    assert "c 1.01 ms 1 – 8 –" in said
    assert "no sound trial here" not in said
    assert "response latency p50, lowest median first: c 1.01 ms, a 5.05 ms, b 5.15 ms" in str(
        report_document(_results(world))
    )


def test_a_contestant_has_its_colour_beside_its_name() -> None:
    """The one that it has in the figures."""
    page = _page(_world("abc"))
    for name, colour in COLOURS.items():
        assert f'<span class="swatch" style="background:{colour}"></span>{name}<' in page


def test_a_matrix_tells_each_pair_both_ways() -> None:
    """Row over column: bold and coloured where a difference is shown, the other way round in the mirrored cell."""
    page = _page(_world("abc"))
    (matrix,) = re.findall(r'<table class="matrix">\s*<caption>response latency p99.*?</table>', page, re.DOTALL)
    rows = [re.findall(r"<td class=\"n\">(.*?)</td>", row) for row in matrix.split("<tr>")[2:]]
    found = [[re.sub(r"<[^>]*>", "", cell) for cell in row] for row in rows]
    assert found == [["", "0.20×", "0.20×"], ["5.00×", "", "0.98×"], ["5.10×", "1.02×", ""]]
    assert 'class="better"' in rows[0][1]
    assert 'class="worse"' in rows[1][0]
    assert 'class="soft"' in rows[1][2]


def test_two_have_their_comparison_alone() -> None:
    """As ever: no ranking, no fold around the pair, and its values on the first screen."""
    page = _page(_world("ab"))
    assert '<table class="ranking"' not in page
    assert '<details class="pairs">' not in page
    assert "<h3>a over b: workload steady, durability level 1</h3>" in page
    assert any("no difference shown in response latency p99" in each for each in _results(_world("ab")).answer.findings)


def test_the_first_screen_has_a_sentence_per_cell_of_three() -> None:
    """Not one per pair; those that did what was asked share a sentence."""
    assert _results(_world("abc")).answer.findings == (
        "a and c did all that was asked in 8 of 8 trials each.",
        "b did all that was asked in 7 of 8 trials. Not met: no-loss (1 trial).",
        "Workload steady, durability level 1: response latency p99, lowest median first: c 2.02 ms, a 10.1 ms, b 10.3 ms. "
        "2 of 3 pairs are told apart. Not told apart: a from b.",
    )


def test_report_and_page_say_the_same() -> None:
    """The sentence of each metric's order is on the page in its own words."""
    world = _world("abc")
    document = report_document(_results(world))
    said = _text(_page(world))
    for each in document["rankings"]:
        assert each["order"][:1].lower() + each["order"][1:] in said
        assert each["sentence"].endswith(each["order"])


def test_with_few_blocks_no_place_is_told() -> None:
    """Values only, and why."""
    said = _text(_page(_world("abc", blocks=2)))
    assert "No two are told apart: with fewer than 6 blocks" in said.replace("no two", "No two")
    assert "and the places that are left open" not in said
    assert "1–3" not in said


def test_many_exclusions_are_counted_on_the_first_screen() -> None:
    """Six by name; all of them are in the table below it."""
    world = _world("ab")
    world.run("c", around(3.0), validity=dict.fromkeys(range(1, 9), "invalid"))
    results = _results(world)
    (warning,) = (each for each in results.answer.warnings if each.startswith("Not compared"))
    assert warning.count("(steal invalid)") == 6
    assert warning.endswith(" and 2 more, listed below.")
    assert _text(_page(world)).count("steal invalid: Stolen.") == 8


def test_what_is_said_of_many_trials_each_is_folded_away() -> None:
    """Checks of 24 trials: one is open, which needs attention, the others share a fold."""
    page = _page(_world("abc"))
    assert "23 trials of which no check needs attention" in page
    assert page.index("b02-b: 1 of 2 checks needs attention") < page.index("23 trials of which")
