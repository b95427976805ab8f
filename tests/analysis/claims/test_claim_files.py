"""Files of claims and their tolerances: what they mean, and what is refused."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from analysis.claims.claim import packaged_documents, read_document
from analysis.claims.figures import KEYS, PRINTED_FILE, packaged_figures, read_figures
from analysis.claims.judge import Published, weigh
from analysis.claims.tolerance import Interval, interval, spread
from analysis.claims.verdict import Reason
from analysis.errors import AnalysisError

CAMPAIGNS = Path(__file__).parents[3] / "campaigns"
FIGURES = packaged_figures(PRINTED_FILE)
PRINTED = Published.of(FIGURES)


def claim_text(
    parts: str, values: str = 'pulsar = { table = "fig-2", system = "pulsar", local_durability = "sync" }'
) -> str:
    """A file with one claim."""
    return f"""
title = "A document"
source = "streamnative-2022"
[[claims]]
id = "X-C01"
sentence = "A sentence"
where = "a place"
[claims.values]
{values}
[[claims.parts]]
what = "Pulsar's"
{parts}
"""


@pytest.mark.parametrize(
    ("claimed", "low", "high"),
    [
        ("3", 2.5, 3.5),
        ("20", 15, 25),
        ("10", 9.5, 15),
        ("0.5", 0.45, 0.55),
        ("1.5", 1.45, 1.6),
        ("1.0", 0.995, 1.1),
        ("41", 40.5, 42),
        ("605", 604.5, 606),
        ("160", 155, 170),
    ],
)
def test_digits_are_met_by_what_is_rounded_or_cut_off_to_them(claimed: str, low: float, high: float) -> None:
    """As many significant digits as are printed, noughts at the end of a whole number being none; one digit is rounded only."""
    assert interval(claimed, "digits") == Interval(low, high, True, False)


def test_a_stretch_is_as_fine_as_its_finer_end() -> None:
    """Between 5 and 10 ms: 10 has no digit that 5 hasn't."""
    assert spread("5", "10", "digits") == Interval(4.5, 10.5, True, False)
    assert interval("-16", "digits") == Interval(-17, -15.5, False, False)
    assert interval("600", "15 %") == Interval(510, 690)


@pytest.mark.parametrize(
    ("parts", "names"),
    [
        ('figure = "pulsar"\nis = "580"', "within"),
        ('figure = "pulsar"\nis = "many"\nwithin = "digits"', "'many' is not a number"),
        ('figure = "pulsar"\nis = "580"\nwithin = "roughly"', '"digits", or a share'),
        ('figure = "pulsar"\nis = "580"\nwithin = "digits"\ncolour = "red"', "unknown key 'colour'. Valid choices: what, figure"),
        ('reason = "too-hard"', "Valid choices: no-figure-printed, figure-ambiguous"),
        ('figure = "1 + 1"\nis = "2"\nwithin = "digits"', "'1 + 1' needs none of the claim's values"),
        ('reason = "not-measured"', "no part needs pulsar"),
    ],
)  # fmt: skip
def test_what_is_not_understood_is_refused(parts: str, names: str) -> None:
    """With file, claim and valid choices."""
    with pytest.raises(AnalysisError, match=r"x\.toml, X-C01") as refused:
        read_document(claim_text(parts), "x.toml")
    assert names in str(refused.value)


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ('pulsar = { tabel = "fig-2" }', "unknown key 'tabel'"),
        ('pulsar = { table = "fig-2", take = "mean" }', "Valid choices: one, min, max, all"),
    ],
)
def test_a_misspelt_selection_is_refused(values: str, names: str) -> None:
    """A column that isn't there would select nothing, or everything."""
    with pytest.raises(AnalysisError) as refused:
        read_document(claim_text('figure = "pulsar"\nis = "580"\nwithin = "digits"', values), "x.toml")
    assert names in str(refused.value)


def test_a_name_is_at_most_one_row() -> None:
    """Unless a claim says which of several to take; of none nothing is known."""
    part = 'figure = "pulsar"\nis = "580"\nwithin = "digits"'
    two = read_document(claim_text(part, 'pulsar = { table = "fig-2", system = "pulsar" }'), "x.toml")
    with pytest.raises(AnalysisError, match=r"X-C01, pulsar: 2 figures have .*; expected one"):
        weigh(two, FIGURES, PRINTED)
    none = read_document(claim_text(part, 'pulsar = { table = "fig-9" }'), "x.toml")
    (weighed,) = weigh(none, FIGURES, PRINTED)
    assert weighed.blocks[1][0].reason is Reason.NO_FIGURE_PRINTED


@pytest.mark.parametrize(
    ("figure", "names"),
    [
        ("sqroot(pulsar)", "there is no function 'sqroot'. Valid choices: lowest, highest"),
        ("pulsar + kafka", "no value is named 'kafka'. Valid choices: pulsar"),
        ("pulsar +", "isn't an expression"),
        ("pulsar.__class__", "isn't understood"),
        ("[pulsar]", "isn't understood"),
        ("'pulsar'", "isn't understood"),
        ("pulsar if pulsar else 1", "isn't understood"),
    ],
)
def test_an_expression_that_is_not_understood_names_its_claim(figure: str, names: str) -> None:
    """When the file is read, and with the valid choices; nothing but numbers is ever evaluated."""
    with pytest.raises(AnalysisError, match="X-C01") as refused:
        read_document(claim_text(f'figure = "{figure}"\nis = "24"\nwithin = "digits"'), "x.toml")
    assert names in str(refused.value)


def test_an_expression_without_a_value_is_no_verdict() -> None:
    """What can't be computed is neither yes nor no."""
    document = read_document(claim_text('figure = "log10(pulsar - 600)"\nis = "24"\nwithin = "digits"'), "x.toml")
    (weighed,) = weigh(document, FIGURES, PRINTED)
    assert weighed.blocks[1][0].holds is None
    assert weighed.blocks[1][0].reason is Reason.NOT_COMPUTABLE


def test_figures_that_are_there_twice_are_refused() -> None:
    """A claim could cite either."""
    header = ",".join([*KEYS, "value"])
    row = ",".join(["x", "1", *("" for _ in KEYS[2:]), "5"])
    with pytest.raises(AnalysisError, match="appears twice"):
        read_figures(f"{header}\n{row}\n{row}\n", "copy.csv")
    with pytest.raises(AnalysisError, match=r"copy\.csv, line 2: value is 'five', not a number"):
        read_figures(f"{header}\n{row[:-1]}five\n", "copy.csv")


def test_cells_are_of_experiments_that_the_campaign_files_have() -> None:
    """A claim is tested on trials of the experiment and workload that its cell names, at a durability that is asked there."""
    for document in packaged_documents():
        campaign = tomllib.loads((CAMPAIGNS / f"{document.name}.toml").read_text())
        experiments = {each["id"]: each for each in campaign["experiments"]}
        assert document.cells
        for cell in document.cells:
            experiment = experiments[cell.experiment]
            assert cell.workload in [workload["name"] for workload in experiment["workloads"]], cell
            assert cell.durability is None or cell.durability in map(str, experiment["durability"]), cell
