"""What is suspected, and what new blocks make of it."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from analysis.certainty.verdict import TOO_FEW
from analysis.watch.document import judged_document
from analysis.watch.judge import NOT_CONFIRMED, REGRESSION, judge
from analysis.watch.series import series_of
from analysis.words import RATE
from contract.watch_history import History, Known, Suspicion
from tests.analysis.watch.histories import ANCHOR, P99, history, noisy, round_of_ratios

LOOKED = round_of_ratios({"1.1": noisy(1.0), "1.2": noisy(1.02), "1.3": noisy(1.2)})
SUSPICION = Suspicion("1.2", "1.3", (P99,))
STEADY = [1.01, 0.99, 1.0, 1.02, 0.98, 1.0, 1.01, 0.99, 1.0, 1.02, 0.98, 1.0]  # of twelve blocks, up and down: no drift


def confirmed_by(before: float, version: float, *, blocks: int = 12, first: History | None = None) -> History:
    """LOOKED, and a round in which 1.2 and 1.3 have these ratios to the anchor."""
    ratios = {
        "1.2": [before * each for each in STEADY[:blocks]],
        "1.3": [version * each for each in reversed(STEADY[:blocks])],
    }
    again = round_of_ratios(ratios, confirms=[SUSPICION], number=2)
    return history(*(first or history(LOOKED)).rounds, again)


def test_a_higher_level_makes_its_first_version_suspected() -> None:
    """Of being worse than the version before it; nothing is shown yet."""
    found = judge(history(LOOKED))
    assert (found.open, found.findings) == ((SUSPICION,), ())


def test_a_lower_level_is_no_suspicion() -> None:
    """It is told, and nothing is run for it."""
    found = judge(history(round_of_ratios({"1.1": noisy(1.2), "1.2": noisy(1.0)})))
    assert found.open == ()
    [sentence] = judged_document(found)["sentences"]
    assert sentence.startswith("1.2 looks better than 1.1 in response latency p99: from it on the level is 0.83")


def test_of_a_rate_the_lower_level_is_the_worse_one() -> None:
    """A higher one is no suspicion."""
    down = round_of_ratios({"1.1": noisy(1.2), "1.2": noisy(1.0)}, metric=RATE)
    assert judge(history(down)).open == (Suspicion("1.1", "1.2", (RATE,)),)
    up = round_of_ratios({"1.1": noisy(1.0), "1.2": noisy(1.2)}, metric=RATE)
    assert judge(history(up)).open == ()


def test_a_step_that_new_blocks_show_is_a_regression() -> None:
    """With the ratio to the version before, of those blocks alone."""
    found = judge(confirmed_by(1.0, 1.1))
    [finding] = found.findings
    assert (finding.verdict, finding.before, finding.version, finding.blocks) == (REGRESSION, "1.2", "1.3", 12)
    assert finding.ratio is not None
    assert finding.ratio.value == pytest.approx(1.1, abs=0.02)
    assert found.open == ()
    [sentence] = judged_document(found)["sentences"]
    assert sentence.startswith("A regression is shown in 1.3: its response latency p99 was 1.1")


def test_new_blocks_alone_decide() -> None:
    """However large the step was in the blocks in which it was seen."""
    first = history(round_of_ratios({"1.1": noisy(1.0), "1.2": noisy(1.0), "1.3": noisy(3.0)}))
    [finding] = judge(confirmed_by(1.0, 1.0, first=first)).findings
    assert finding.verdict == NOT_CONFIRMED
    assert finding.certainty.why == "the interval includes 1"


def test_a_suspicion_is_judged_once() -> None:
    """It isn't open again, although the series still looks so."""
    found = judge(confirmed_by(1.0, 1.01, first=history(LOOKED)))
    assert series_of(found.history, P99).worse
    assert found.open == ()


def test_the_other_way_round_is_no_regression() -> None:
    """A version that new blocks show to be faster after all."""
    [finding] = judge(confirmed_by(1.1, 1.0)).findings
    assert finding.verdict == NOT_CONFIRMED


def test_too_few_new_blocks_show_nothing() -> None:
    """As in every report."""
    [finding] = judge(confirmed_by(1.0, 2.0, blocks=5)).findings
    assert finding.verdict == TOO_FEW


def test_without_a_block_that_has_both_nothing_is_said_of_the_ratio() -> None:
    """All trials of one of them were unsound."""
    both = confirmed_by(1.0, 1.1)
    alone = replace(
        both.rounds[1],
        metrics={
            P99: tuple(
                replace(block, values={version: known for version, known in block.values.items() if version != "1.3"})
                for block in both.rounds[1].metrics[P99]
            )
        },
    )
    found = judge(history(both.rounds[0], alone))
    assert [(each.verdict, each.ratio) for each in found.findings] == [(TOO_FEW, None)]
    assert "no block has sound trials of both" in judged_document(found)["sentences"][0]


def test_everything_that_a_round_confirms_is_corrected_together() -> None:
    """One suspicion more makes the corrected p-value of the other larger."""
    alone = confirmed_by(1.0, 1.05)
    [one] = judge(alone).findings
    again = replace(
        alone.rounds[1],
        versions=("1.1", "1.2", "1.3"),
        confirms=(SUSPICION, Suspicion("1.2", "1.1", (P99,))),
        metrics={
            P99: tuple(
                replace(block, values={**block.values, "1.1": block.values["1.2"]})
                for block in alone.rounds[1].metrics[P99]
            )
        },
    )
    both = judge(history(alone.rounds[0], again)).findings
    assert one.certainty.corrected_p == one.certainty.p
    assert both[0].certainty.corrected_p == pytest.approx(2 * (one.certainty.p or 0))


def test_what_was_never_answered_is_worse() -> None:
    """A percentile of which only a lower bound is known has a ratio without an upper one, which has no logarithm."""
    silent = {"1.3": Known(None, 30.0, None)}
    blocks = tuple(
        replace(block, values={**block.values, **(silent if block.block <= 2 else {})}) for block in LOOKED.metrics[P99]
    )
    series = series_of(history(replace(LOOKED, metrics={P99: blocks})), P99)
    assert [len(each.logs) for each in series.places] == [6, 6, 4]
    assert series.places[2].ratios[0].low == pytest.approx(30.0 / blocks[0].values[ANCHOR].low)
    assert math.isinf(series.places[2].ratios[0].high)


def test_bounds_on_both_sides_stand_for_their_middle() -> None:
    """As the brackets of searches do."""
    bounded = {"1.3": Known(None, 11.0, 14.0)}
    blocks = tuple(replace(block, values={**block.values, **bounded}) for block in LOOKED.metrics[P99])
    series = series_of(history(replace(LOOKED, metrics={P99: blocks})), P99)
    assert series.places[2].logs == pytest.approx([math.log(math.sqrt(1.1 * 1.4))] * 6)


def test_a_version_keeps_its_place_when_it_is_run_again() -> None:
    """Its new blocks are in its ratios to the anchor, too."""
    series = series_of(confirmed_by(1.0, 1.1), P99)
    assert [(each.version, len(each.ratios)) for each in series.places] == [("1.1", 6), ("1.2", 18), ("1.3", 18)]


def test_versions_without_any_value_have_no_place() -> None:
    """The series goes on without them."""
    nothing = replace(LOOKED, versions=("1.1", "1.2", "1.3", "1.4"))
    assert [each.version for each in series_of(history(nothing), P99).places] == ["1.1", "1.2", "1.3"]


def test_a_level_that_stays_is_said_in_words() -> None:
    """And what a version didn't do is, whatever its latency."""
    quiet = replace(round_of_ratios({"1.1": noisy(1.0), "1.2": noisy(1.0)}), not_met={"1.2": {"no-loss": 2}})
    assert judged_document(judge(history(quiet)))["sentences"] == [
        "No level changes from one version to the next, as far as these blocks can tell.",
        "1.2 didn't do all that was asked in watch-x-1: no-loss in 2 trials.",
    ]
