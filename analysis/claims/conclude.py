"""From what Spark found to verdicts with their sentences. It computes no figure.

What is printed is there once, and decides by itself. The blocks of a campaign are a sample: what decides is the exact interval of
the median over them, which must lie on one side of the tolerance's edges. A claim is contradicted by one contradicted part, and
confirmed by all its parts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from analysis.certainty.interval import exact_interval
from analysis.claims.claim import Document, Part
from analysis.claims.figures import Figure
from analysis.claims.judge import Evidence, Found, Weighed
from analysis.claims.verdict import CONFIRMED, CONTRADICTED, INCONCLUSIVE, Cited, PartVerdict, Reason, Verdict

MISMATCH = 0.05  # beyond this share a printed figure isn't its raw result, rounded


@dataclass(frozen=True)
class Kind:
    """How evidence is to be judged. `sampled`: its blocks are repetitions; `relations_only`: no absolute figure of it counts."""

    sampled: bool = False
    relations_only: bool = False


def conclude(document: Document, weighed: Weighed, evidence: Evidence, kind: Kind) -> Verdict:
    """The verdict on a claim."""
    claim = weighed.claim
    parts = [
        _part(part, [found[position] for found in weighed.blocks.values()], weighed, evidence, kind)
        for position, part in enumerate(claim.parts)
    ]
    undecided = [part for part in parts if part.verdict == INCONCLUSIVE]
    verdict = CONTRADICTED if any(part.verdict == CONTRADICTED for part in parts) else CONFIRMED
    if undecided and verdict == CONFIRMED:
        verdict = INCONCLUSIVE
    return Verdict(
        id=claim.id,
        document=document.name,
        claim=claim.sentence,
        where=claim.where,
        verdict=verdict,
        reason=undecided[0].reason if verdict == INCONCLUSIVE else None,
        sentence=_sentence(parts, claim.note),
        parts=tuple(parts),
        cited=tuple(
            _cited(name, figure, evidence, weighed.blocks) for name, rows in weighed.rows.items() for figure in rows
        ),
        experiments=experiments_of(document, [figure for rows in weighed.rows.values() for figure in rows]),
    )


def experiments_of(document: Document, figures: Sequence[Figure]) -> tuple[str, ...]:
    """The experiments of samebox's own campaigns that measure some of these figures."""
    cells = [document.cell_of(figure) for figure in figures]
    return tuple(dict.fromkeys(cell.experiment for cell in cells if cell is not None))


def with_raw_results(
    verdict: Verdict, printed: Weighed, raw: Weighed, raw_values: Mapping[tuple[str, ...], float]
) -> Verdict:
    """A verdict on printed figures whose sentence says whether the raw results, where there are any, say the same."""
    (of_printed,), (of_raw,) = printed.blocks.values(), raw.blocks.values()
    others = [
        f"{_shown_part(part, [found], {})}{'' if found.holds else ', so not as claimed'}"
        for part, found, before in zip(raw.claim.parts, of_raw, of_printed, strict=True)
        if found.holds is not None and found.holds != before.holds
    ]
    figures = {figure.key: figure for rows in printed.rows.values() for figure in rows if figure.key in raw_values}
    wrong = [
        f"{figure.place} is {number(raw_values[figure.key])} {figure.unit}, printed {number(figure.value)}"
        for figure in figures.values()
        if abs(figure.value - raw_values[figure.key]) / figure.value > MISMATCH
    ]
    if others:
        sentence = f"The raw results published beside the report say otherwise: {'; '.join(others)}."
    elif wrong:
        sentence = f"Of the raw results published beside the report, {'; '.join(wrong)}."
    elif any(found.holds is not None for found in of_raw):
        sentence = "The raw results published beside the report agree."
    else:
        return verdict
    return replace(verdict, sentence=f"{verdict.sentence} {sentence}")


def _part(part: Part, found: Sequence[Found], weighed: Weighed, evidence: Evidence, kind: Kind) -> PartVerdict:
    known = [each for each in found if each.holds is not None]
    verdict, reason = _decided(part, found, known, kind)
    figures = [each.figure for each in known if each.figure is not None]
    values = {} if figures or not known else _values(part, weighed, evidence)
    sentence = _shown_part(part, known, values)
    if reason is not None:
        tail = f" ({_counted(known)})" if reason in (Reason.TOO_FEW_BLOCKS, Reason.BLOCKS_DISAGREE) else ""
        sentence = f"{sentence} [{reason.sentence}{tail}]"
    return PartVerdict(
        part.what, verdict, reason.word if reason else None, median(figures) if figures else None, sentence
    )


def _decided(part: Part, found: Sequence[Found], known: Sequence[Found], kind: Kind) -> tuple[str, Reason | None]:
    if not known:
        return INCONCLUSIVE, next(each.reason for each in found)
    if kind.relations_only and part.is_absolute:
        return INCONCLUSIVE, Reason.SCALED
    if not kind.sampled:
        return (CONFIRMED if all(each.holds for each in known) else CONTRADICTED), None
    sides = _sides(part, known)
    if sides is None:
        return INCONCLUSIVE, Reason.TOO_FEW_BLOCKS
    if sides[0] != sides[1]:
        return INCONCLUSIVE, Reason.BLOCKS_DISAGREE
    return (CONFIRMED if sides[0] == 0 else CONTRADICTED), None


def _sides(part: Part, known: Sequence[Found]) -> tuple[int, int] | None:
    """On which side of the tolerance the ends of the exact interval lie, 0 = inside; None where there is no interval."""
    if part.interval is None:
        ends = exact_interval([0.0 if each.holds else 1.0 for each in known])
        return None if ends is None else (int(ends.low), int(ends.high))
    ends = exact_interval([each.figure for each in known if each.figure is not None])
    return None if ends is None else (part.interval.side(ends.low), part.interval.side(ends.high))


def _counted(known: Sequence[Found]) -> str:
    held = sum(bool(each.holds) for each in known)
    return f"it holds in {held} of {len(known)} block{'s' if len(known) > 1 else ''}"


def _values(part: Part, weighed: Weighed, evidence: Evidence) -> dict[str, float]:
    """The values of a condition's names, in the first block."""
    block = evidence.blocks[0]
    values = {name: evidence.value(weighed.rows[name][0], block) for name in part.names if len(weighed.rows[name]) == 1}
    return {name: value for name, value in values.items() if not isinstance(value, Reason)}


def _shown_part(part: Part, known: Sequence[Found], values: Mapping[str, float]) -> str:
    asked = part.interval.low if part.interval is not None and part.interval.low == part.interval.high else None
    # what must be equal to the last digit is shown to the last digit, unless it is plainly not
    figures = [
        number(each.figure, 4 if asked is None or not math.isclose(each.figure, asked, rel_tol=1e-3) else 8)
        for each in known
        if each.figure is not None
    ]
    if figures:
        unit = f" {part.unit}" if part.unit else ""
        return f"{part.what}: {', '.join(figures)}{unit}, {part.claimed}{_stretch(part)}"
    if known:
        shown = ", ".join(f"{name} = {number(value)}" for name, value in values.items())
        return f"{part.what}: {'yes' if known[0].holds else 'no'}{f' ({shown})' if shown else ''}"
    return part.what


def _stretch(part: Part) -> str:
    interval = part.interval
    if interval is None or interval.low is None or interval.high is None or interval.low == interval.high:
        return ""
    return f" ({number(interval.low)} to {number(interval.high)})"


def _sentence(parts: Sequence[PartVerdict], note: str) -> str:
    by_verdict = {
        "Not so: ": [part.sentence for part in parts if part.verdict == CONTRADICTED],
        "Not known: ": [part.sentence for part in parts if part.verdict == INCONCLUSIVE],
        "As claimed: ": [part.sentence for part in parts if part.verdict == CONFIRMED],
    }
    sentences = [f"{opening}{'; '.join(found)}." for opening, found in by_verdict.items() if found]
    return " ".join([*sentences, *([note] if note else [])])


def _cited(name: str, figure: Figure, evidence: Evidence, blocks: Mapping[int, object]) -> Cited:
    values = [evidence.value(figure, block) for block in blocks]
    known = [value for value in values if not isinstance(value, Reason)]
    return Cited(name, figure.place, median(known) if known else None, figure.unit)


def number(value: float, digits: int = 4) -> str:
    """So many significant digits, no noughts at the end, never an exponent."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    text = f"{value:,.{max(0, digits - 1 - math.floor(math.log10(abs(value))))}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
