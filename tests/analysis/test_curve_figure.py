"""Percentile curves: a line per trial, told apart as well by a legend that holds many contestants."""

from __future__ import annotations

import re

from analysis.campaign import Trial
from analysis.curve_figure import curve_drawings
from analysis.drawing import Drawing, Palette
from analysis.evidence import Counts, Evidence
from analysis.percentiles import Percentile
from analysis.records.latencies import RESPONSE
from tests.analysis.synthetic_results import Plan, Shape, trial_document

NOTHING = Counts(0, 0, 0, 0, 0, 0, 0, 0, {}, {}, {})


def drawn(contestants: str, blocks: int, excluded: frozenset[str] = frozenset()) -> Drawing:
    """One curve per contestant and block."""
    trials = []
    for block in range(1, blocks + 1):
        for system in contestants:
            name = f"b{block:02}-{system}"
            trial = Trial(name, trial_document(Plan(name, block, 1, system), Shape(), 0, {}, 0))
            curve = tuple(
                Percentile(name, RESPONSE, "", quantile, 1000, value)
                for quantile, value in ((500_000, 1_000_000), (990_000, 5_000_000))
            )
            trials.append(Evidence(trial, (trial,), NOTHING, curve, (), (), (), ()))
    (found,) = curve_drawings(trials, Palette(dict.fromkeys(contestants, "#0072B2"), excluded))
    return found


def labels(drawing: Drawing) -> list[str]:
    texts = re.findall(r"<text[^>]*>([^<]+)</text>", drawing.svg)
    return [text for text in texts if text[0] in "abcdef" or text == "not compared"]


def test_few_lines_have_a_label_each() -> None:
    """Contestant and block."""
    assert labels(drawn("ab", 2)) == ["a, block 1", "a, block 2", "b, block 1", "b, block 2"]


def test_many_lines_have_a_label_per_contestant() -> None:
    """Six contestants in three blocks are six labels and 18 lines; what isn't compared comes last."""
    drawing = drawn("abcdef", 3, frozenset({"b01-a", "b02-c"}))
    assert labels(drawing) == ["a", "b", "c", "d", "e", "f", "not compared"]
    assert len({row[0] for row in drawing.rows}) == 18
