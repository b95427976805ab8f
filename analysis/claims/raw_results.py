"""The raw results that were published beside a report, as a sentence after a verdict on its figures. It changes no verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from analysis.claims.conclude import number, shown_part
from analysis.claims.figures import Figure
from analysis.claims.judge import Found, Weighed
from analysis.claims.verdict import Verdict

MISMATCH = 0.05  # beyond this share a printed figure isn't its raw result, rounded


def with_raw_results(
    verdict: Verdict, printed: Weighed, raw: Weighed, values: Mapping[tuple[str, ...], float]
) -> Verdict:
    """A verdict on printed figures whose sentence says of how many of its rows there is a raw result, and what those say."""
    (of_printed,), (of_raw,) = printed.blocks.values(), raw.blocks.values()
    rows = {figure.key: figure for named in printed.rows.values() for figure in named}
    backed = [figure for figure in rows.values() if figure.key in values]
    if not backed:
        return verdict
    wrong = [figure for figure in backed if abs(figure.value - values[figure.key]) > MISMATCH * figure.value]
    said = [*_turned(raw, of_printed, of_raw), *(_corrected(figure, values[figure.key]) for figure in wrong)]
    agreement = "they say otherwise" if _differs(of_printed, of_raw) else "they differ" if said else "they agree"
    counted = f"Raw results are published for {_share(len(backed), len(rows))}"
    sentence = f"{counted}; {agreement}{': ' if said else ''}{'; '.join(said)}."
    return replace(verdict, sentence=f"{verdict.sentence} {sentence}")


def _share(backed: int, rows: int) -> str:
    if backed == rows:
        return {1: "its one row", 2: "both of its rows"}.get(rows, f"all of its {rows} rows")
    return f"{backed} of its {rows} rows"


def _differs(of_printed: Sequence[Found], of_raw: Sequence[Found]) -> bool:
    return any(
        raw.holds is not None and raw.holds != printed.holds for printed, raw in zip(of_printed, of_raw, strict=True)
    )


def _turned(raw: Weighed, of_printed: Sequence[Found], of_raw: Sequence[Found]) -> list[str]:
    """The parts that come out otherwise by the raw results."""
    return [
        f"{shown_part(part, [found], {})}{'' if found.holds else ', so not as claimed'}"
        for part, found, before in zip(raw.claim.parts, of_raw, of_printed, strict=True)
        if found.holds is not None and found.holds != before.holds
    ]


def _corrected(figure: Figure, value: float) -> str:
    return f"{figure.place} is {number(value)} {figure.unit}, printed {number(figure.value)}"
