"""The published claims beside the published figures: all of them, each with its verdict, its reason and the rows that decide it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import compress
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from analysis.claims.application import printed_verdicts
from analysis.claims.claim import packaged_documents
from analysis.claims.figures import KEYS, PRINTED_FILE, RAW_FILE, Figure, packaged_figures, select
from analysis.claims.judge import rows_of
from analysis.claims.verdict import CONFIRMED, CONTRADICTED, INCONCLUSIVE, VERDICTS, Reason, Verdict

RAW_FILES = Path(__file__).parents[2] / "data" / "omb"
HOW_MANY = {"SN20": 56, "SN22": 18, "CPRO": 12, "TALL": 23}
ALL_IDS = [f"{document}-C{number:02}" for document, count in HOW_MANY.items() for number in range(1, count + 1)]

# worked out by hand from the printed tables
EXPECTED = {
    "SN20-C02": CONFIRMED,  # 3.5 / 1.0
    "SN20-C04": CONTRADICTED,  # 300 and 605
    "SN20-C08": CONTRADICTED,  # 420 -> 300 is no half
    "SN20-C12": CONTRADICTED,  # the table has 420 and 605, the prose 600 and 500
    "SN20-C16": CONTRADICTED,  # 11.37 / 4.73 = 2.4 and 58.83 / 10.37 = 5.7
    "SN20-C18": CONTRADICTED,  # 8.47 / 4.47 = 1.9
    "SN20-C25": CONFIRMED,  # 15.07 / 4.89 = 3.1 and 1593.46 / 9.94 = 160
    "SN20-C28": CONFIRMED,  # 89.80 / 6.84 = 13.1 and 1295.78 / 6.94 = 186.7
    "SN20-C36": CONTRADICTED,  # 187840 / 6.67 = 28162
    "SN20-C39": CONTRADICTED,  # 197140 / 15.78 = 12493
    "SN20-C42": INCONCLUSIVE,  # p99.9 stands in a chart
    "SN20-C47": CONTRADICTED,  # 3.5 times are no 75 %
    "SN20-C56": INCONCLUSIVE,  # a figure of another document
    "SN22-C01": CONFIRMED,  # 700 / 280
    "SN22-C04": CONFIRMED,  # 1 - 1087 / 1600
    "SN22-C07": CONTRADICTED,  # 12.24 ms at p99.9 with journaling
    "SN22-C12": CONTRADICTED,  # 3.2 / 2.0 = 1.6
    "SN22-C15": CONTRADICTED,  # 460 / 230 = 2
    "SN22-C17": CONTRADICTED,  # 380 ms in figure 5c, 700 in the prose
    "CPRO-C04": INCONCLUSIVE,  # Pulsar ran on another machine
    "CPRO-C11": CONFIRMED,
    "TALL-C02": CONTRADICTED,  # 29.4 %, not almost 35
    "TALL-C15": CONFIRMED,  # 2.30 and 1.85
    "TALL-C20": CONTRADICTED,  # 200 / 50 = 4
    "TALL-C21": CONTRADICTED,  # Kafka's maximum rises by 10 %, Pulsar's doubles
}


@pytest.fixture(scope="module")
def verdicts(spark: SparkSession) -> Mapping[str, Verdict]:
    """All verdicts on the printed figures, by id."""
    found = printed_verdicts(spark, packaged_documents(), packaged_figures(PRINTED_FILE))
    assert len(found) == len({verdict.id for verdict in found})
    return {verdict.id: verdict for verdict in found}


def test_every_claim_is_there_once() -> None:
    """The files of claims hold the 109 published claims, none twice."""
    ids = [claim.id for document in packaged_documents() for claim in document.claims]

    assert sorted(ids) == sorted(ALL_IDS)
    assert len(ALL_IDS) == 109


def test_every_claim_has_a_verdict_and_a_sentence(verdicts: Mapping[str, Verdict]) -> None:
    """None is left without; an inconclusive one has a reason of the closed list, and no other has one."""
    words = {reason.word for reason in Reason}

    assert set(verdicts) == set(ALL_IDS)
    for verdict in verdicts.values():
        assert verdict.verdict in VERDICTS
        assert verdict.sentence
        assert (verdict.reason in words) if verdict.verdict == INCONCLUSIVE else verdict.reason is None, verdict.id
        assert verdict.cited or verdict.verdict == INCONCLUSIVE, verdict.id


def test_verdicts_are_those_worked_out_by_hand(verdicts: Mapping[str, Verdict]) -> None:
    """Ratios are recomputed from the table that a claim cites."""
    assert {claim: verdicts[claim].verdict for claim in EXPECTED} == EXPECTED


def test_a_verdict_shows_its_numbers_and_rows(verdicts: Mapping[str, Verdict]) -> None:
    """The sentence has the figure and what was claimed, and the rows have their values."""
    verdict = verdicts["SN20-C36"]

    assert "28,162 times, claimed 280000" in verdict.sentence
    assert {(cited.name, cited.value) for cited in verdict.cited} == {("kafka", 187840.0), ("pulsar", 6.67)}
    assert all("table 1-3" in cited.row and "10000 partitions" in cited.row for cited in verdict.cited)


def test_raw_results_that_say_otherwise_are_named(verdicts: Mapping[str, Verdict]) -> None:
    """A printed figure may be wrong: the sentence then has the raw result beside it."""
    assert "say otherwise: Pulsar's peak: 3.793 GB/s" in verdicts["SN20-C02"].sentence
    assert "is 24.02 ms, printed 87.72" in verdicts["SN20-C24"].sentence
    assert verdicts["SN20-C18"].sentence.endswith("The raw results published beside the report agree.")
    assert "raw" not in verdicts["SN22-C01"].sentence


def test_raw_results_are_of_printed_figures() -> None:
    """Each row of raw.csv is the raw result of exactly one printed figure."""
    printed = {figure.key for figure in packaged_figures(PRINTED_FILE)}

    raw = packaged_figures(RAW_FILE)

    assert len(raw) == 126
    assert all(figure.key in printed for figure in raw)


def test_arrays_that_are_zipped_stand_side_by_side() -> None:
    """Their figures differ in system or local durability alone, one by one: a ratio is of two figures of the same thing."""
    apart = [name not in ("system", "local_durability") for name in KEYS]
    figures, zipped = packaged_figures(PRINTED_FILE), 0
    for claim in (claim for document in packaged_documents() for claim in document.claims):
        rows = rows_of(claim, figures)
        for part in (part for part in claim.parts if "zip_with" in (part.figure or part.holds or "")):
            keys = {tuple(tuple(compress(figure.key, apart)) for figure in rows[name]) for name in part.names}
            assert len(keys) == 1, (claim.id, part.what)
            zipped += 1
    assert zipped > 10


def test_every_cell_is_of_some_figure() -> None:
    """A cell that selects nothing would be a misspelt one."""
    figures = packaged_figures(PRINTED_FILE)
    for document in packaged_documents():
        for cell in document.cells:
            assert select(figures, cell.selection), (document.name, cell)


@pytest.mark.parametrize("figure", packaged_figures(RAW_FILE), ids=lambda figure: figure.place)
def test_raw_results_follow_from_their_files(figure: Figure) -> None:
    """Each row of raw.csv is what the file in its note says, of the whole run or by the rule in the note."""
    file, _, rule = figure.columns["note"].partition(": ")
    document = json.loads((RAW_FILES / file).read_text())
    if rule.startswith("mean of publishRate"):
        rates = document["publishRate"][1:]
        value = sum(rates) / len(rates) * 1024 / 2**20
    elif rule.startswith("highest window"):
        value = max(document["consumeRate"]) * 1024 / 2**30
    else:
        side = {"publish_latency": "PublishLatency", "end_to_end_latency": "EndToEndLatency"}[figure.columns["metric"]]
        statistic = figure.columns["statistic"]
        if statistic == "p90":
            quantiles = document[f"aggregated{side}Quantiles"]
            value = quantiles[min(quantiles, key=lambda quantile: abs(float(quantile) - 90))]
        else:
            field = {"mean": "Avg", "p50": "50pct", "p99": "99pct", "p99.9": "999pct"}[statistic]
            value = document[f"aggregated{side}{field}"]
    assert figure.value == pytest.approx(value, rel=1e-3)
