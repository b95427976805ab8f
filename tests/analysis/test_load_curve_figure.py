"""The figure of latency against rate: what is drawn of each contestant, and the same in its data."""

from __future__ import annotations

import re

from analysis.curves.figure import load_curve_drawings
from analysis.drawing import Drawing, Palette
from tests.analysis.ladders import RATES, SCATTER, LadderWorld

PALETTE = Palette({"a": "#0072B2", "b": "#D55E00"}, frozenset())


def drawn(world: LadderWorld) -> Drawing:
    (drawing,) = load_curve_drawings([world.ladder()], PALETTE)
    return drawing


def two(goal_p99_ms: float | None = 20.0, blocks: int = 6) -> LadderWorld:
    world = LadderWorld(goal_p99_ms)
    world.climb("b", capacity_per_s=3000.0, scatter=SCATTER[:blocks])
    world.climb("a", scatter=SCATTER[:blocks])
    return world


def test_a_contestant_is_named_with_what_is_to_be_known_of_it() -> None:
    """In the order of the palette, whoever is cheaper: how far it keeps the goal, and its knee."""
    svg = drawn(two()).svg
    said = re.findall(r">([^<>]*)</text>", svg)
    assert said[-8:-2] == [
        "a",
        "goal kept: up to 8,000",
        "knee: 6,667",
        "b",
        "goal kept: up to 2,000",
        "knee: 1,000 to 4,000",
    ]
    assert said[-2:] == ["knee", "rate not kept"]
    assert "goal: 20 ms" in said
    assert not any("goal" in each for each in re.findall(r">([^<>]*)</text>", drawn(two(None)).svg))


def test_rungs_are_the_labels_of_the_axis() -> None:
    """As many as there is room for, the highest among them."""
    said = re.findall(r">([\d,]+)</text>", drawn(two()).svg)
    assert "12,000" in said
    assert "8,000" in said
    assert "9,500" not in said


def test_every_trial_is_in_the_data() -> None:
    """A row each, with what was kept, the median of its rung and the interval."""
    drawing = drawn(two())
    rows = [dict(zip(drawing.columns, row, strict=True)) for row in drawing.rows]
    assert len(rows) == 2 * 6 * len(RATES)
    first = next(row for row in rows if (row["contestant"], row["rate_per_s"], row["block"]) == ("a", 9500, 2))
    assert (first["kept"], first["achieved_per_s"], first["goal_kept_per_s"]) == (True, 9500, 8000.0)
    assert first["interval_low_ms"] < first["median_p99_ms"] < first["interval_high_ms"]
    assert first["p50_ms"] < first["p99_ms"] == first["p99_low_ms"] < first["p99.9_ms"]
    assert [row["kept"] for row in rows if row["contestant"] == "b" and row["rate_per_s"] == 4000] == [False] * 6


def test_intervals_are_named_only_where_there_are_any() -> None:
    """Not with two blocks."""
    assert "intervals over blocks" in drawn(two()).note
    assert "intervals over blocks" not in drawn(two(blocks=2)).note


def test_a_rung_that_is_not_kept_stretches_no_axis() -> None:
    """Latencies of many seconds are drawn at the edge: the axis ends at eight times what was kept, or the goal."""
    world = two()
    ends = [float(value) for value in re.findall(r">(\d+)</text>", drawn(world).svg)]
    assert max(ends) <= 8 * 30


def test_a_contestant_that_kept_nothing_is_drawn_all_the_same() -> None:
    """Its crosses, and that no knee was found."""
    world = LadderWorld()
    world.climb("a", capacity_per_s=500.0)
    assert "knee: not found" in drawn(world).svg
    assert "goal kept: at no rung" in drawn(world).svg
