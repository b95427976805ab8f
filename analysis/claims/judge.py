"""Claims beside evidence: Spark evaluates every part's expression over the named values. It decides by the claim's own tolerance alone.

Whatever the evidence is (what was printed, raw results, a campaign of one's own), it says which value it has for a published
figure, once for each of its blocks; printed evidence is a single block.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from analysis.claims.claim import ALL, LARGEST, ONE, SMALLEST, Claim, Named, Part
from analysis.claims.figures import Figure, paired_order, select
from analysis.claims.verdict import Reason
from analysis.errors import AnalysisError

Value = float | tuple[float, ...]


class Evidence(Protocol):
    """Something that has values for published figures."""

    @property
    def blocks(self) -> Sequence[int]:
        """Independent repetitions, each with a value for a figure."""
        ...

    def value(self, figure: Figure, block: int) -> float | Reason:
        """What was found for a published figure, or why nothing was."""
        ...


@dataclass(frozen=True)
class Printed:
    """The published figures themselves."""

    blocks: Sequence[int] = (1,)

    def value(self, figure: Figure, block: int) -> float | Reason:
        """The printed value."""
        del block
        return figure.value


@dataclass(frozen=True)
class Substituted:
    """Other values for some published figures, by their key: what raw results say."""

    values: Mapping[tuple[str, ...], float]
    blocks: Sequence[int] = (1,)

    def value(self, figure: Figure, block: int) -> float | Reason:
        """The other value."""
        del block
        return self.values.get(figure.key, Reason.NO_FIGURE_PRINTED)


@dataclass(frozen=True)
class Found:
    """A part in one block: whether it holds, and its figure if it has one; or why neither is known."""

    holds: bool | None = None
    figure: float | None = None
    reason: Reason | None = None


@dataclass(frozen=True)
class Weighed:
    """A claim with the rows that its names stand for, and per block what was found for each of its parts."""

    claim: Claim
    rows: Mapping[str, tuple[Figure, ...]]
    blocks: Mapping[int, tuple[Found, ...]]


def weigh(spark: SparkSession, claims: Iterable[Claim], figures: Sequence[Figure], evidence: Evidence) -> list[Weighed]:
    """Every claim against the evidence. `figures`: the published ones, of which a claim's names are selections."""
    return [_weigh(spark, claim, rows_of(claim, figures), evidence) for claim in claims]


def rows_of(claim: Claim, figures: Sequence[Figure]) -> dict[str, tuple[Figure, ...]]:
    """The rows that a claim's names stand for. Raises AnalysisError where there aren't as many as it says."""
    return {name: _rows(claim, name, named, figures) for name, named in claim.values.items()}


def _rows(claim: Claim, name: str, named: Named, figures: Sequence[Figure]) -> tuple[Figure, ...]:
    found = select(figures, named.selection)
    if not found or (named.take == ONE and len(found) != 1):
        asked = ", ".join(f"{column} {'/'.join(values)}" for column, values in named.selection.items())
        raise AnalysisError(
            f"{claim.id}, {name}: {len(found)} figures have {asked}; expected {'one' if named.take == ONE else 'some'}.",
            next_step=f'Narrow it by more columns, or say which to take: "{SMALLEST}", "{LARGEST}" or "{ALL}".',
        )
    return tuple(paired_order(found))


def _weigh(spark: SparkSession, claim: Claim, rows: Mapping[str, tuple[Figure, ...]], evidence: Evidence) -> Weighed:
    values = {
        block: {name: _value(claim.values[name], rows[name], evidence, block) for name in rows}
        for block in evidence.blocks
    }
    computed = evaluate(spark, claim, list(values.values()))
    return Weighed(claim, rows, dict(zip(values, computed, strict=True)))


def _value(named: Named, rows: Sequence[Figure], evidence: Evidence, block: int) -> Value | Reason:
    values = []
    for figure in rows:
        value = evidence.value(figure, block)
        if isinstance(value, Reason):
            return value
        values.append(value)
    take = {ONE: min, SMALLEST: min, LARGEST: max}.get(named.take)
    return tuple(values) if take is None else take(values)


def evaluate(
    spark: SparkSession, claim: Claim, values: Sequence[Mapping[str, Value | Reason]]
) -> list[tuple[Found, ...]]:
    """What Spark finds for each part of a claim, once for each row of named values. Raises AnalysisError for a wrong expression."""
    names = list(claim.values)
    testable = [
        part
        for part in claim.parts
        if part.condition is not None and any(_missing(part, row) is None for row in values)
    ]
    if not testable:
        return [_found(claim, (), row, ()) for row in values]
    # equal rows are evaluated once
    frame = dict.fromkeys(tuple(row[name] for name in names) for row in values)
    columns = [f"({part.condition}), CAST({part.figure or 'NULL'} AS DOUBLE)" for part in testable]
    takes = [named.take for named in claim.values.values()]
    tuples = ", ".join(f"({number}, {', '.join(map(_literal, row, takes))})" for number, row in enumerate(frame))
    statement = f"SELECT claim_row, {', '.join(columns)} FROM VALUES {tuples} AS claim(claim_row, {', '.join(names)})"
    try:
        found = {int(row[0]): tuple(row[1:]) for row in spark.sql(statement).collect()}
    except PySparkException as error:
        raise AnalysisError(f"{claim.id}: Spark refuses an expression: {str(error).splitlines()[0]}") from None
    by_row = {row: found[number] for number, row in enumerate(frame)}
    return [_found(claim, testable, row, by_row[tuple(row[name] for name in names)]) for row in values]


def _found(
    claim: Claim, testable: Sequence[Part], values: Mapping[str, Value | Reason], row: Sequence[object]
) -> tuple[Found, ...]:
    found = []
    for part in claim.parts:
        missing = part.reason or _missing(part, values)
        if missing is not None:
            found.append(Found(reason=missing))
            continue
        holds, figure = row[2 * testable.index(part) : 2 * testable.index(part) + 2]
        if holds is None:
            raise AnalysisError(f"{claim.id}, {part.what!r}: the expression has no value.")
        found.append(Found(bool(holds), None if figure is None else float(str(figure))))
    return tuple(found)


def _missing(part: Part, values: Mapping[str, Value | Reason]) -> Reason | None:
    """Why a part can't be evaluated with these values, None if it can."""
    return next((reason for name in part.names if isinstance(reason := values[name], Reason)), None)


def _literal(value: Value | Reason, take: str) -> str:
    if isinstance(value, Reason):
        return f"CAST(NULL AS {'ARRAY<DOUBLE>' if take == ALL else 'DOUBLE'})"
    return f"array({', '.join(f'{each!r}D' for each in value)})" if isinstance(value, tuple) else f"{value!r}D"
