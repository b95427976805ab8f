"""Claims beside evidence: what each part of a claim comes to, by the claim's own tolerance.

Whatever the evidence is (what was printed, raw results, a campaign of one's own), it has a value for a published figure, or none, in
each of its blocks; published evidence is a single block. What it doesn't have is unknown, and unknown is anything: a part is decided
where what is known decides it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from analysis.claims.claim import ALL, LARGEST, ONE, SMALLEST, Cell, Claim, Document, Named, Part
from analysis.claims.expression import Key, Quantity, figure_of, truth_of
from analysis.claims.figures import Figure, key_within, select
from analysis.claims.quantity import UNKNOWN, Range, exactly, highest, lowest
from analysis.claims.verdict import Reason
from analysis.errors import AnalysisError


class Evidence(Protocol):
    """Something that has values for published figures."""

    @property
    def blocks(self) -> Sequence[int]:
        """Independent repetitions, each with a value for a figure."""
        ...

    @property
    def is_published(self) -> bool:
        """Whether it is what was published itself: a single block, which isn't a sample of anything."""
        ...

    @property
    def relations_only(self) -> bool:
        """Whether none of its absolute figures counts, because it was measured at another scale."""
        ...

    def value(self, figure: Figure, cell: Cell | None, block: int) -> Range | Reason:
        """What was found for a published figure, which trials of `cell` measure, or why nothing was."""
        ...


@dataclass(frozen=True)
class Published:
    """Published values, by the key of their figure: those that are printed, or those of raw results published beside them."""

    values: Mapping[tuple[str, ...], float]
    blocks: Sequence[int] = (1,)
    is_published: bool = True
    relations_only: bool = False

    @classmethod
    def of(cls, figures: Iterable[Figure]) -> Published:
        """The values that these figures have themselves."""
        return cls({figure.key: figure.value for figure in figures})

    def value(self, figure: Figure, cell: Cell | None, block: int) -> Range | Reason:
        """The published value."""
        del cell, block
        value = self.values.get(figure.key)
        return Reason.NO_FIGURE_PRINTED if value is None else exactly(value)


@dataclass(frozen=True)
class Found:
    """A part in one block: whether it holds, and its figure if it has one. `reason`: why something of it isn't known; with it,
    `holds` is what the rest decides, None where it doesn't.
    """

    holds: bool | None = None
    figure: Range | None = None
    reason: Reason | None = None

    @property
    def is_known(self) -> bool:
        """Whether the evidence says anything of it."""
        return self.holds is not None or self.figure is not None


@dataclass(frozen=True)
class Weighed:
    """A claim with the rows that its names stand for, and per block what was found for each of its parts."""

    claim: Claim
    rows: Mapping[str, tuple[Figure, ...]]
    blocks: Mapping[int, tuple[Found, ...]]


@dataclass(frozen=True)
class _Value:
    """A named value in one block. `reason`: why some of it is missing; `is_known`: whether there is any of it."""

    quantity: Quantity
    reason: Reason | None
    is_known: bool


def weigh(document: Document, figures: Iterable[Figure], evidence: Evidence) -> list[Weighed]:
    """Every claim of a document against the evidence. `figures`: the published ones, of which a claim's names are selections."""
    claims = document.claims
    sources = {source for claim in claims for named in claim.values.values() for source in named.selection["source"]}
    of_sources = [figure for figure in figures if figure.columns["source"] in sources]
    return [_weigh(document, claim, rows_of(claim, of_sources), evidence) for claim in claims]


def rows_of(claim: Claim, figures: Sequence[Figure]) -> dict[str, tuple[Figure, ...]]:
    """The rows that a claim's names stand for, none where there are none. Raises AnalysisError where "one" is several."""
    found = {}
    for name, named in claim.values.items():
        found[name] = tuple(select(figures, named.selection))
        if named.take == ONE and len(found[name]) > 1:
            asked = ", ".join(f"{column} {'/'.join(values)}" for column, values in named.selection.items())
            raise AnalysisError(
                f"{claim.id}, {name}: {len(found[name])} figures have {asked}; expected one.",
                next_step=f'Narrow it by more columns, or say which to take: "{SMALLEST}", "{LARGEST}" or "{ALL}".',
            )
    return found


def _weigh(document: Document, claim: Claim, rows: Mapping[str, tuple[Figure, ...]], evidence: Evidence) -> Weighed:
    placed = {
        name: [(key_within(each, named.selection), each, document.cell_of(each)) for each in rows[name]]
        for name, named in claim.values.items()
    }
    blocks = {}
    for block in evidence.blocks:
        values = {
            name: _value(named, [(key, evidence.value(each, cell, block)) for key, each, cell in placed[name]])
            for name, named in claim.values.items()
        }
        blocks[block] = tuple(_found(claim, part, values, evidence) for part in claim.parts)
    return Weighed(claim, rows, blocks)


def _value(named: Named, found: Sequence[tuple[Key, Range | Reason]]) -> _Value:
    reasons = [value for _, value in found if isinstance(value, Reason)]
    series = {key: UNKNOWN if isinstance(value, Reason) else value for key, value in found}
    take = highest if named.take == LARGEST else lowest
    return _Value(
        series if named.take == ALL else take(list(series.values())),
        next(iter(reasons), None) if found else Reason.NO_FIGURE_PRINTED,
        is_known=len(reasons) < len(found),
    )


def _found(claim: Claim, part: Part, values: Mapping[str, _Value], evidence: Evidence) -> Found:
    untestable = part.reason or (part.as_printed if evidence.is_published else None)
    if untestable is not None:
        return Found(reason=untestable)
    needed = {name: values[name] for name in part.names}
    reason = next((value.reason for value in needed.values() if value.reason is not None), None)
    if not any(value.is_known for value in needed.values()):
        return Found(reason=reason)
    quantities = {name: value.quantity for name, value in needed.items()}
    try:
        if part.holds is not None:
            holds, figure = truth_of(part.holds, quantities), None
        else:
            assert part.figure is not None and part.interval is not None
            figure = figure_of(part.figure, quantities)
            holds = part.interval.holds(figure)
    except ValueError as error:
        raise AnalysisError(f"{claim.id}, {part.what!r}: {error}.") from None
    if holds is None and reason is None:
        reason = Reason.NOT_COMPUTABLE
    return Found(holds, figure, reason)
