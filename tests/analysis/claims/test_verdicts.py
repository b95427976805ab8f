"""The published claims beside the published figures: all of them, each with its verdict, its reason and the rows that decide it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from analysis.claims.application import printed_verdicts
from analysis.claims.claim import ALL, packaged_documents
from analysis.claims.figures import KEYS, PRINTED_FILE, RAW_FILE, Figure, key_within, packaged_figures, select
from analysis.claims.judge import rows_of
from analysis.claims.raw_figures import raw_rows
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
    "SN20-C30": CONFIRMED,  # p99 of 6.84 and 6.94 ms
    "SN20-C40": CONFIRMED,  # 41.83 and 13.67, both cut off
    "SN20-C54": INCONCLUSIVE,  # the sentence is its own evidence
    "TALL-C06": INCONCLUSIVE,  # and so is half of this one
    "CPRO-C05": INCONCLUSIVE,  # Pulsar ran on another machine here, too
    "TALL-C13": INCONCLUSIVE,  # 1 ms of 1.7 is the clock's
    "SN22-C12": CONTRADICTED,  # 3.2 / 2.0 = 1.6
    "SN22-C15": CONTRADICTED,  # 460 / 230 = 2
    "SN22-C17": CONTRADICTED,  # 380 ms in figure 5c, 700 in the prose
    "CPRO-C04": INCONCLUSIVE,  # Pulsar ran on another machine
    "CPRO-C11": CONFIRMED,
    "TALL-C02": CONTRADICTED,  # 29.4 %, not almost 35
    "TALL-C15": INCONCLUSIVE,  # 2.30 and 1.85, or 1.5 and 1.2
    "TALL-C20": CONTRADICTED,  # 200 / 50 = 4
    "TALL-C21": CONTRADICTED,  # Kafka's maximum rises by 10 %, Pulsar's doubles
}


@pytest.fixture(scope="module")
def verdicts() -> Mapping[str, Verdict]:
    """All verdicts on the printed figures, by id."""
    found = printed_verdicts(packaged_documents(), packaged_figures(PRINTED_FILE))
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


def test_raw_results_are_counted_and_named(verdicts: Mapping[str, Verdict]) -> None:
    """Of how many of its rows there is a raw result, and every one that says otherwise: a printed figure may be wrong."""
    assert "for both of its rows; they say otherwise: Pulsar's peak: 3.793 GB/s" in verdicts["SN20-C02"].sentence
    assert "for 1 of its 4 rows; they say otherwise: Kafka's peak: 493.4 MB/s" in verdicts["SN20-C01"].sentence
    assert "for 80 of its 88 rows; they differ" in verdicts["SN20-C52"].sentence
    assert "is 157,562 ms, printed 116,028" in verdicts["SN20-C32"].sentence
    assert verdicts["SN20-C18"].sentence.endswith("Raw results are published for both of its rows; they agree.")
    assert "Raw" not in verdicts["SN22-C01"].sentence


def test_raw_results_are_of_printed_figures() -> None:
    """Each row of raw.csv is the raw result of exactly one printed figure."""
    printed = {figure.key for figure in packaged_figures(PRINTED_FILE)}

    raw = packaged_figures(RAW_FILE)

    assert len(raw) == 376
    assert all(figure.key in printed for figure in raw)


def test_raw_results_are_what_the_import_makes_of_their_files() -> None:
    """Every row of raw.csv whose file is in the repository, made anew: the same value, the same file."""
    here = {str(file.relative_to(RAW_FILES)) for file in RAW_FILES.rglob("*.json")}
    kept = {
        figure.key: (figure.value, figure.columns["note"])
        for figure in packaged_figures(RAW_FILE)
        if figure.columns["note"].partition(":")[0] in here
    }

    made = {
        tuple(row[name] for name in KEYS): (float(row["value"]), row["note"])
        for row in raw_rows(RAW_FILES)
        if tuple(row[name] for name in KEYS) in kept
    }

    assert len(kept) > 150
    assert made == kept


def test_series_that_are_combined_have_the_same_keys() -> None:
    """A ratio is of two figures of the same thing: no key of one series is missing in the other."""
    figures, combined = packaged_figures(PRINTED_FILE), 0
    for claim in (claim for document in packaged_documents() for claim in document.claims):
        rows = rows_of(claim, figures)
        for part in claim.parts:
            series = [name for name in part.names if claim.values[name].take == ALL]
            # of one series alone, or of sums and extremes of several, nothing is put side by side
            together = [name for name in series if f"({name})" not in (part.figure or "")]
            keys = {
                frozenset(key_within(each, claim.values[name].selection) for each in rows[name]) for name in together
            }
            assert len(keys) <= 1, (claim.id, part.what)
            combined += len(together) > 1
    assert combined >= 10


def test_every_name_of_a_claim_has_its_rows() -> None:
    """A misspelt selection would leave a claim without evidence."""
    figures = packaged_figures(PRINTED_FILE)
    for claim in (claim for document in packaged_documents() for claim in document.claims):
        for name, rows in rows_of(claim, figures).items():
            assert rows, (claim.id, name)


def test_a_row_that_is_taken_away_leaves_the_other_claims_alone(verdicts: Mapping[str, Verdict]) -> None:
    """Each printed row in turn: only claims that cite it may change, and none of them from no to yes or from yes to no."""
    figures = packaged_figures(PRINTED_FILE)
    for gone in figures[::97]:
        left = [figure for figure in figures if figure is not gone]
        for found in printed_verdicts(packaged_documents(), left):
            before = verdicts[found.id]
            if gone.place not in {cited.row for cited in before.cited}:
                assert found == before
            elif found.verdict != before.verdict:
                assert found.verdict == INCONCLUSIVE, (found.id, gone.place)


def test_a_counterexample_decides_whatever_else_is_missing() -> None:
    """Every pair but the one that refutes the claim: it stays contradicted; without the one, nothing is known."""
    figures = packaged_figures(PRINTED_FILE)
    documents = [each for each in packaged_documents() if each.name == "sn2020"]
    # Pulsar is 0.73 to 5.7 times faster, which is not 2 to 5 times "at all durability levels"
    lowest = {"table": "2-4", "replication_durability": "async", "statistic": "p99"}

    def of(kept: list[Figure]) -> Verdict:
        return next(each for each in printed_verdicts(documents, kept) if each.id == "SN20-C15")

    others = [figure for figure in figures if all(figure.columns[name] == value for name, value in lowest.items())]
    kafkas = [figure for figure in figures if figure.columns["system"] != "kafka"]
    assert len(others) == 2
    assert of([*others, *(figure for figure in kafkas if figure not in others)]).verdict == CONTRADICTED
    assert of(kafkas).verdict == INCONCLUSIVE


def test_rules_of_wording_are_kept() -> None:
    """What docs/claims.md says of tolerances, as far as the parts' own words tell."""
    for claim in (claim for document in packaged_documents() for claim in document.claims):
        about = any(word in claim.sentence for word in ("~", "about", "around", "almost", "equal", "disk limit"))
        for part in claim.parts:
            assert about or "%" not in part.within, (claim.id, part.what)


def test_every_cell_is_of_some_figure() -> None:
    """A cell that selects nothing would be a misspelt one."""
    figures = packaged_figures(PRINTED_FILE)
    for document in packaged_documents():
        for cell in document.cells:
            assert select(figures, cell.selection), (document.name, cell)
