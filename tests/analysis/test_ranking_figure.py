"""The figure of a ranking: a panel per metric, everybody against the best, and the same in its data."""

from __future__ import annotations

from analysis.drawing import Palette
from analysis.ranking_figure import ranking_drawings
from tests.analysis.test_ranking import P50, World, around

PALETTE = Palette({"a": "#0072B2", "b": "#D55E00", "c": "#009E73"}, frozenset())


def _world(blocks: int, systems: str = "abc") -> World:
    world = World()
    for system, value in zip(systems, (10.0, 10.2, 2.0), strict=False):
        world.run(system, around(value)[:blocks])
        world.run(system, around(value / 2)[:blocks], P50)
    return world


def test_a_drawing_per_cell_of_three_or_more() -> None:
    """Of two, their comparison has a figure of its own."""
    (drawing,) = ranking_drawings(_world(8).rankings(), PALETTE)
    assert drawing.name == "ranking-steady-l1"
    assert "response latency p50, × the lowest" in drawing.svg
    assert "response latency p99, × the lowest" in drawing.svg
    assert ranking_drawings(_world(8, "ab").rankings(), PALETTE) == []
    assert ranking_drawings([], PALETTE) == []


def test_each_block_of_each_but_the_best_is_in_its_data() -> None:
    """Ratios, the interval and the places; of the best its median alone."""
    (drawing,) = ranking_drawings(_world(8).rankings(), PALETTE)
    rows = [dict(zip(drawing.columns, row, strict=True)) for row in drawing.rows]
    assert all(len(row) == len(drawing.columns) for row in drawing.rows)
    best = [row for row in rows if row["contestant"] == "c" and row["metric"] == P50]
    assert [(row["first_place"], row["last_place"], row["block"], row["ratio"]) for row in best] == [(1, 1, None, None)]
    others = [row for row in rows if row["contestant"] == "a" and row["metric"] == P50]
    assert [row["block"] for row in others] == list(range(1, 9))
    assert others[0]["ratio"] == others[0]["value"] / others[0]["best_value"]
    assert others[0]["interval_low"] <= 5.0 <= others[0]["interval_high"]


def test_places_are_drawn_only_where_they_are_told() -> None:
    """Beside the median; with too few blocks the median stands alone."""
    (drawing,) = ranking_drawings(_world(8).rankings(), PALETTE)
    assert ">2.02 ms · 1<" in drawing.svg
    assert "places" in drawing.note
    (few,) = ranking_drawings(_world(3).rankings(), PALETTE)
    assert ">2.00 ms<" in few.svg
    assert "places" not in few.note


def test_a_contestant_without_a_common_block_has_no_ratio() -> None:
    """The best ran in block 1 alone, and the others were compared without it."""
    world = World()
    world.run("c", [1.0])
    world.run("a", around(10.0), validity={1: "invalid"})
    world.run("b", around(20.0), validity={1: "invalid"})
    (drawing,) = ranking_drawings(world.rankings(), PALETTE)
    rows = [dict(zip(drawing.columns, row, strict=True)) for row in drawing.rows]
    assert [(row["contestant"], row["block"], row["median"] is None) for row in rows] == [
        ("c", None, False),
        ("a", None, False),
        ("b", None, False),
    ]
