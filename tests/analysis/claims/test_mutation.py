"""A changed figure changes the verdicts that depend on it, and no others. All copies of the evidence are judged in one go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pytest

from analysis.claims.claim import Cell, Claim, Document, packaged_documents
from analysis.claims.conclude import conclude
from analysis.claims.figures import PRINTED_FILE, Figure, packaged_figures, select
from analysis.claims.judge import Found, Published, Weighed, rows_of, weigh
from analysis.claims.quantity import Range, exactly
from analysis.claims.verdict import Reason

FACTORS = (0.001, 1000.0)
DOCUMENTS = packaged_documents()
FIGURES = packaged_figures(PRINTED_FILE)
PRINTED = Published.of(FIGURES)
Key = tuple[str, ...]

# a printed figure, what is put in its place, and the verdicts that must flip, worked out by hand
CHANGES: Sequence[tuple[Mapping[str, str], float, set[str]]] = (
    # half of Kafka's time becomes 0.4 of it, which is the "2.5 times faster" of the prose
    (
        {"source": "streamnative-2022", "table": "fig-5b", "system": "pulsar", "local_durability": "async"},
        184,
        {"SN22-C14", "SN22-C15"},
    ),
    # 200 s and not 180, though still 10,000 times what it was
    (
        {
            "source": "streamnative-2020", "table": "1-3", "system": "kafka", "local_durability": "sync",
            "replication_durability": "async", "partitions": "10000",
        },
        200_000,
        {"SN20-C35"},
    ),
    # 27 times instead of 270
    (
        {
            "source": "streamnative-2020", "table": "2-9", "system": "kafka", "replication_durability": "sync", "statistic": "p99",
        },
        128,
        {"SN20-C27"},
    ),
    # 35 % behind, as was claimed
    (
        {"source": "tallberg-2020", "table": "2", "system": "kafka", "message_bytes": "1000", "unit": "msg/s"},
        127_000,
        {"TALL-C02"},
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Copy:
    """A copy of the evidence: every figure times a factor, but for one that has another."""

    every: float = 1.0
    one: Key = ()
    factor: float = 1.0


@dataclass(frozen=True)
class Copies:
    """Copies of the evidence, each as a block."""

    copies: Sequence[Copy]
    is_published: bool = True
    relations_only: bool = False

    @property
    def blocks(self) -> Sequence[int]:
        """A block for each copy."""
        return range(len(self.copies))

    def value(self, figure: Figure, cell: Cell | None, block: int) -> Range | Reason:
        """The figure as it stands in that copy."""
        del cell
        copy = self.copies[block]
        return exactly(figure.value * (copy.factor if figure.key == copy.one else copy.every))


@dataclass(frozen=True)
class Judged:
    """What was found of a claim in every copy of the evidence, and the keys of the figures that it cites."""

    document: Document
    claim: Claim
    rows: Mapping[str, tuple[Figure, ...]]
    found: Mapping[Copy, tuple[Found, ...]]

    @property
    def cited(self) -> set[Key]:
        return {figure.key for rows in self.rows.values() for figure in rows}

    @property
    def printed(self) -> tuple[Found, ...]:
        return self.found[Copy()]

    def verdict(self, copy: Copy) -> str:
        """The verdict on that copy."""
        weighed = Weighed(self.claim, self.rows, {1: self.found[copy]})
        return conclude(self.document, weighed, PRINTED).verdict


def changed_copies() -> list[tuple[Copy, set[str]]]:
    """The copies with one of CHANGES each."""
    found = []
    for selection, value, flipped in CHANGES:
        (figure,) = select(FIGURES, {column: (asked,) for column, asked in selection.items()})
        found.append((Copy(one=figure.key, factor=value / figure.value), flipped))
    return found


@pytest.fixture(scope="module")
def judged() -> list[Judged]:
    """Every claim on every copy: as printed, all doubled, CHANGES, and each printed figure changed in both directions."""
    mutations = [Copy(one=figure.key, factor=factor) for figure in FIGURES for factor in FACTORS]
    copies = Copies([Copy(), Copy(every=2.0), *(copy for copy, _ in changed_copies()), *mutations])
    return [
        Judged(document, each.claim, each.rows, {copies.copies[block]: found for block, found in each.blocks.items()})
        for document in DOCUMENTS
        for each in weigh(document, FIGURES, copies)
    ]


def test_a_claim_does_not_depend_on_figures_that_it_does_not_cite(judged: list[Judged]) -> None:
    """For every printed figure: what is found of claims without it is as before, to the last digit."""
    for each in judged:
        cited = each.cited
        for copy, found in each.found.items():
            assert copy.every != 1 or copy.one in cited or found == each.printed, (each.claim.id, copy)


def test_every_figure_of_a_confirmed_claim_can_refute_it(judged: list[Judged]) -> None:
    """No cited figure is decoration: some change of it alone makes the claim false."""
    confirmed = [each for each in judged if all(found.holds for found in each.printed)]
    assert len(confirmed) > 40
    for each in confirmed:
        for key in each.cited:
            outcomes = [each.found[Copy(one=key, factor=factor)] for factor in FACTORS]
            assert any(not all(part.holds for part in found) for found in outcomes), (each.claim.id, key)


@pytest.mark.parametrize(("copy", "flipped"), changed_copies(), ids=["fig-5b", "1-3", "2-9", "T2"])
def test_one_changed_figure_flips_exactly_these_verdicts(judged: list[Judged], copy: Copy, flipped: set[str]) -> None:
    """Of all 109 verdicts, those that can be worked out by hand."""
    assert {each.claim.id for each in judged if each.verdict(copy) != each.verdict(Copy())} == flipped


def test_only_quantities_with_a_unit_change_with_their_scale(judged: list[Judged]) -> None:
    """Parts without a unit are relations: with every figure doubled they are the same, and the others double."""
    for each in judged:
        for part, before, after in zip(each.claim.parts, each.printed, each.found[Copy(every=2.0)], strict=True):
            if before.figure is None or after.figure is None:
                assert before.holds == after.holds, (each.claim.id, part.what)
                continue
            factor = 2 if part.is_absolute else 1
            assert after.figure.low == pytest.approx(factor * before.figure.low), (each.claim.id, part.what)


def test_rows_are_chosen_without_looking_at_values() -> None:
    """A changed value can't change which rows a name stands for."""
    changed = [Figure(figure.columns, figure.value * 3) for figure in FIGURES]
    for document in DOCUMENTS:
        for claim in document.claims:
            chosen = [[figure.key for figure in rows] for rows in rows_of(claim, FIGURES).values()]
            assert chosen == [[figure.key for figure in rows] for rows in rows_of(claim, changed).values()]
