"""A hundred faults of known truth: what analysis says of them equals what an independent script says, to the nanosecond."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from analysis.application import conclude
from analysis.bounded import Bounded
from analysis.campaign import Campaign, read_campaign
from analysis.evidence import Evidence
from analysis.pipeline import aggregate, count, seconds_of
from analysis.records.files import records_of
from analysis.storage import Storage
from tests.analysis.faults.independent import independent
from tests.analysis.faults.kills import FaultyTrial, Kill, jittered, write_faulty

TRIALS, KILLS = 20, 5
S = 1e9


def _trial(number: int) -> FaultyTrial:
    """Five faults, twelve seconds apart; some of one partition only, some with messages that fail, are lost or repeated."""
    kills = tuple(
        Kill(
            at_s=12.0 + 12 * place,
            outage_s=(0.05, 0.3, 1.0, 2.0, 3.0)[(number + place) % 5],
            partitions=None if (number + place) % 3 else (place % 3,),
            failed_share=0.2 if (number + place) % 4 == 0 else 0.0,
            lost=number % 3,
            repeated=place % 2,
        )
        for place in range(KILLS)
    )
    trial = FaultyTrial(
        f"b{number:02}-1-kafka-l1-steady", "kafka", kills, number, 1, seed=number, measure_s=72, rate_per_s=400
    )
    return jittered(trial)


@pytest.fixture(scope="module")
def hundred(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, list[Evidence]]]:
    """The results folder, and what analysis found in it in one go."""
    results = write_faulty(
        tmp_path_factory.mktemp("kills") / "demo", [_trial(number) for number in range(1, TRIALS + 1)]
    )
    storage = Storage(spark)
    campaign: Campaign = read_campaign(storage, str(results))
    records = records_of(storage, campaign)
    counted = count(spark, campaign, records, lambda _: None)
    found = aggregate(spark, campaign, records, counted, seconds_of(counted), lambda _: None)
    yield results, list(conclude(campaign, found).trials)


def ns_of(known: Bounded | None) -> int | None:
    """Nanoseconds; 0 where it is only known to be less than something; None where it is more."""
    assert known is not None
    if known.value is not None:
        return round(known.value * S)
    return 0 if known.low == 0 else None


def test_every_kill_is_as_the_independent_script_has_it(hundred: tuple[Path, list[Evidence]]) -> None:
    """Gaps of all and of each partition, recoveries, debt and what was late: all hundred, to the nanosecond."""
    results, trials = hundred
    compared = 0
    for evidence in trials:
        truths = independent(results / "trials" / evidence.trial.name)
        assert len(truths) == len(evidence.impacts) == KILLS
        for truth, impact in zip(truths, evidence.impacts, strict=True):
            assert impact.gap is not None and impact.response is not None
            assert ns_of(impact.gap.length_s) == truth["gap_ns"]
            assert impact.gap.ended_ns is not None
            assert impact.gap.ended_ns - (impact.occurrence.began_ns or 0) == truth["acknowledged_after_ns"]
            assert ns_of(impact.acknowledged_s) == truth["every_partition_after_ns"]
            assert ns_of(impact.response.back_s) == truth["response_back_ns"]
            assert ns_of(impact.end_to_end["sub-0"].back_s) == truth["end_to_end_back_ns"]
            assert (impact.late, impact.late_s) == (truth["late"], truth["late_s"])
            assert {gap.partition: ns_of(gap.length_s) for gap in impact.partitions} == truth["partitions"]
            debt = next(each for each in impact.debts if each.subscription is None)
            assert (debt.highest, ns_of(debt.paid_s)) == (truth["owed"], truth["paid_ns"])
            compared += 1
    assert compared == TRIALS * KILLS


def test_outages_of_everything_are_as_long_as_they_were_made(hundred: tuple[Path, list[Evidence]]) -> None:
    """The gap is the outage, less than the distance of two acknowledgements more; response latency is back when the outage ends,
    or, where nothing overtakes, when what was due has been acknowledged."""
    seen = 0
    for number, evidence in enumerate(hundred[1], start=1):
        for kill, impact in zip(_trial(number).kills, evidence.impacts, strict=True):
            if (
                kill.partitions is None
                and impact.gap is not None
                and impact.response is not None
                and kill.outage_s > 0.1
            ):
                assert kill.outage_s <= impact.gap.length_s.low <= kill.outage_s + 0.03
                assert kill.outage_s - 0.1 <= impact.response.back_s.low <= kill.outage_s + kill.burst_ms / 1e3 + 0.1
                seen += 1
    assert seen >= 40


def test_losses_belong_to_the_fault_that_they_were_acknowledged_before(hundred: tuple[Path, list[Evidence]]) -> None:
    """Each fault loses, repeats and fails what it was made to; nothing belongs to none."""
    for number, evidence in enumerate(hundred[1], start=1):
        for kill, impact in zip(_trial(number).kills, evidence.impacts, strict=True):
            found = impact.losses
            assert found.lost == len(found.rows) == kill.lost * 2  # of each of two producers
            assert found.repeated == kill.repeated * 2
            assert (found.failed > 0) == (kill.failed_share > 0 and kill.outage_s > 0.1) or kill.outage_s < 0.1
        assert evidence.outside_faults.lost == 0
