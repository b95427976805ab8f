"""The figure of a comparison: one row per metric, with what is known of its certainty, and the same in its data."""

from __future__ import annotations

import dataclasses
import math

import pytest

from analysis.bounded import Bounded, exactly
from analysis.certainty.interval import Interval, NoiseBand
from analysis.certainty.verdict import NOT_SHOWN, TOO_FEW, Certainty
from analysis.comparison import BlockRatio, Comparison
from analysis.ratio_figure import axis_limits, ratio_drawings

FEW = Certainty(None, None, TOO_FEW, "", None, None)
SURE = Certainty(Interval(0.8, 1.6, 0.969), NoiseBand(0.9, 1.1, 0.969, 6), NOT_SHOWN, "", 0.03, 0.3)


def comparison(metric: str, certainty: Certainty, second: str = "kafka") -> Comparison:
    """Pulsar's values are twice, then half of the other's."""
    ratios = (BlockRatio(1, exactly(4.0), exactly(2.0)), BlockRatio(2, exactly(1.0), exactly(2.0)))
    return Comparison(("steady", 1), "pulsar", second, metric, "ms", ratios, (), certainty)


def test_a_drawing_per_pair_with_every_block_in_its_data() -> None:
    """Interval and band where there are some, empty cells where there are none."""
    found = [comparison("response_latency_p50", FEW), comparison("response_latency_p99", SURE)]
    (drawing,) = ratio_drawings(found)
    assert drawing.name == "ratios-steady-l1-pulsar-kafka"
    by_metric = {row[0]: dict(zip(drawing.columns, row, strict=True)) for row in drawing.rows}
    assert len(drawing.rows) == 4
    assert by_metric["response_latency_p50"]["interval_low"] is None
    assert by_metric["response_latency_p99"]["band_high"] == 1.1
    assert by_metric["response_latency_p99"]["median_ratio"] == 1.25
    assert "response latency p99" in drawing.svg


def test_other_pairs_and_cells_have_their_own() -> None:
    """As many as the page has tables."""
    found = [comparison("throughput_achieved", FEW), comparison("throughput_achieved", FEW, "kafka-bypass")]
    found.append(dataclasses.replace(found[0], cell=("steady", 2)))
    assert [drawing.name for drawing in ratio_drawings(found)] == [
        "ratios-steady-l1-pulsar-kafka",
        "ratios-steady-l1-pulsar-kafka-bypass",
        "ratios-steady-l2-pulsar-kafka",
    ]
    assert ratio_drawings([]) == []


def test_small_ratios_look_small() -> None:
    """An axis that ends where the values do would show a thousandth as it shows a half."""
    assert axis_limits(0.9992, 1.0) == pytest.approx((0.9, 1.111), abs=1e-3)
    assert axis_limits(0.5, 1.0) == pytest.approx((0.5, 1.111), abs=1e-3)
    assert axis_limits(1.0, 3.0) == (0.9, 3.0)
    found = dataclasses.replace(
        comparison("throughput_achieved", FEW),
        ratios=(BlockRatio(1, exactly(1.9999), exactly(2.0)), BlockRatio(2, exactly(2.0), exactly(2.0))),
    )
    (drawing,) = ratio_drawings([found])
    assert ">0.92<" in drawing.svg  # which is far from all that was measured


def test_what_has_no_bound_is_drawn_as_such() -> None:
    """Triangles where a ratio lies beyond, an interval to the edge, and empty cells of the data for what isn't known."""
    ratios = (
        BlockRatio(1, Bounded(None, 40.0, math.inf), exactly(2.0)),
        BlockRatio(2, exactly(1.0), Bounded(None, 40.0, math.inf)),
    )
    unbounded = dataclasses.replace(
        SURE, interval=Interval(0.0, math.inf, 0.969), band=NoiseBand(0.0, math.inf, 0.97, 6)
    )
    found = dataclasses.replace(comparison("response_latency_p99", unbounded), ratios=ratios)
    (drawing,) = ratio_drawings([found])
    first, second = (dict(zip(drawing.columns, row, strict=True)) for row in drawing.rows)
    assert (first["ratio"], first["ratio_low"], first["ratio_high"]) == (None, 20.0, None)
    assert (second["ratio"], second["ratio_low"], second["ratio_high"]) == (None, 0.0, 0.025)
    assert (first["interval_low"], first["interval_high"]) == (0.0, None)
    assert "A triangle" in drawing.note


def test_a_bracket_is_a_circle_with_its_range() -> None:
    """A search's rate has a value, and may be higher."""
    ratios = (BlockRatio(1, Bounded(100.0, 100.0, 110.0), Bounded(50.0, 50.0, 51.0)),)
    (drawing,) = ratio_drawings([dataclasses.replace(comparison("throughput_achieved", FEW), ratios=ratios)])
    (row,) = (dict(zip(drawing.columns, row, strict=True)) for row in drawing.rows)
    assert (row["ratio"], row["ratio_low"], row["ratio_high"]) == (2.0, 100 / 51, 2.2)
    assert "A triangle" not in drawing.note
