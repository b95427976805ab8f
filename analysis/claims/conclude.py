"""From what was found to verdicts with their sentences. It computes no figure.

What is printed is there once, and decides by itself. The blocks of a campaign are a sample: what decides is the interval that a
report prints, which allows for blocks that follow one another, and must lie on one side of the tolerance's edges. A claim is
contradicted by one contradicted part, and confirmed by all its parts.

A block from which something is missing stands aside where enough whole ones are left. Where they aren't, it counts with all that
the missing may be, so that it decides only where nothing missing could change it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from analysis.claims.claim import Document, Part
from analysis.claims.figures import Figure
from analysis.claims.judge import Evidence, Found, Weighed
from analysis.claims.quantity import Range
from analysis.claims.verdict import CONFIRMED, CONTRADICTED, INCONCLUSIVE, Cited, PartVerdict, Reason, Verdict


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


def _part(part: Part, found: Sequence[Found], weighed: Weighed, evidence: Evidence, kind: Kind) -> PartVerdict:
    known = _counting([each for each in found if each.is_known])
    verdict, reason = _decided(part, found, known, kind)
    figures = [each.figure for each in known if each.figure is not None]
    exact = [figure.low for figure in figures if figure.is_exact]
    values = {} if figures or not known else _values(part, weighed, evidence)
    sentence = shown_part(part, known, values)
    if reason is not None:
        tail = f" ({_counted(known)})" if reason in (Reason.TOO_FEW_BLOCKS, Reason.BLOCKS_DISAGREE) else ""
        sentence = f"{sentence} [{reason.sentence}{tail}]"
    return PartVerdict(part.what, verdict, reason.word if reason else None, median(exact) if exact else None, sentence)


def _counting(known: Sequence[Found]) -> Sequence[Found]:
    """The whole blocks, where they are enough for an interval; else all of which something is known."""
    whole = [each for each in known if each.reason is None]
    return whole if len(whole) == len(known) or len(whole) >= _fewest_blocks() else known


def _decided(part: Part, found: Sequence[Found], known: Sequence[Found], kind: Kind) -> tuple[str, Reason | None]:
    if not known:
        return INCONCLUSIVE, next(each.reason for each in found)
    if kind.relations_only and part.is_absolute:
        return INCONCLUSIVE, Reason.SCALED
    missing = next((each.reason for each in known if each.holds is None), None)
    if not kind.sampled:
        if any(each.holds is False for each in known):
            return CONTRADICTED, None
        return (CONFIRMED, None) if missing is None else (INCONCLUSIVE, missing)
    sides = _sides(part, known)
    if sides is None:
        return INCONCLUSIVE, Reason.TOO_FEW_BLOCKS
    if sides[0] != sides[1]:
        if missing is None:
            return INCONCLUSIVE, Reason.BLOCKS_DISAGREE
        return INCONCLUSIVE, Reason.TOO_FEW_BLOCKS if any(each.reason is None for each in known) else missing
    return (CONFIRMED if sides[0] == 0 else CONTRADICTED), None


def _sides(part: Part, known: Sequence[Found]) -> tuple[int, int] | None:
    """On which side of the tolerance the ends of the interval lie, 0 = inside; None where there is no interval."""
    if part.interval is None:
        ends = _exact_ends([Range(float(each.holds is False), float(each.holds is not True)) for each in known])
        return None if ends is None else (int(ends.low), int(ends.high))
    ends = _printed_ends([each.figure for each in known if each.figure is not None])
    return None if ends is None else (part.interval.side(ends.low), part.interval.side(ends.high))


# loaded where they are needed: scipy takes a second, and what a document printed needs no interval


def _fewest_blocks() -> int:
    from analysis.certainty.interval import FEWEST_BLOCKS

    return FEWEST_BLOCKS


def _exact_ends(figures: Sequence[Range]) -> Range | None:
    """The exact interval of the median, as wide as what isn't known of the figures can make it."""
    from analysis.certainty.interval import exact_interval

    found = exact_interval([each.low for each in figures], [each.high for each in figures])
    return None if found is None else Range(found.low, found.high)


def _printed_ends(figures: Sequence[Range]) -> Range | None:
    """The interval that a report of this comparison alone would print: of blocks that may follow one another."""
    from analysis.certainty.verdict import printed_interval

    found = printed_interval([each.low for each in figures], [each.high for each in figures])
    return None if found is None else Range(found.low, found.high)


def _counted(known: Sequence[Found]) -> str:
    held = sum(bool(each.holds) for each in known)
    return f"it holds in {held} of {len(known)} block{'s' if len(known) > 1 else ''}"


def _values(part: Part, weighed: Weighed, evidence: Evidence) -> dict[str, Range]:
    """The values of a condition's names, in the first block."""
    block = evidence.blocks[0]
    values = {name: evidence.value(weighed.rows[name][0], block) for name in part.names if len(weighed.rows[name]) == 1}
    return {name: value for name, value in values.items() if not isinstance(value, Reason)}


def shown_part(part: Part, known: Sequence[Found], values: Mapping[str, Range]) -> str:
    """What was found of a part, in words with its numbers."""
    asked = part.interval.low if part.interval is not None and part.interval.low == part.interval.high else None
    figures = [_shown_figure(each.figure, asked) for each in known if each.figure is not None]
    if figures:
        unit = f" {part.unit}" if part.unit else ""
        return f"{part.what}: {', '.join(figures)}{unit}, {part.claimed}{_stretch(part)}"
    if known:
        shown = ", ".join(f"{name} = {_shown_figure(value, None)}" for name, value in values.items())
        answer = {True: "yes", False: "no", None: "not known"}[known[0].holds]
        return f"{part.what}: {answer}{f' ({shown})' if shown else ''}"
    return part.what


def _shown_figure(figure: Range, asked: float | None) -> str:
    if not figure.is_exact:
        bounds = (
            f"at least {number(figure.low)}" if figure.low > 0 and math.isfinite(figure.low) else "",
            f"at most {number(figure.high)}" if math.isfinite(figure.high) else "",
        )
        return " and ".join(filter(None, bounds)) or "unknown"
    # what must be equal to the last digit is shown to the last digit, unless it is plainly not
    plainly_not = asked is None or not math.isclose(figure.low, asked, rel_tol=1e-3)
    return number(figure.low, 4 if plainly_not else 8)


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
    known = [value.low for value in values if not isinstance(value, Reason) and value.is_exact]
    return Cited(name, figure.place, median(known) if known else None, figure.unit)


def number(value: float, digits: int = 4) -> str:
    """So many significant digits, no noughts at the end, never an exponent."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    text = f"{value:,.{max(0, digits - 1 - math.floor(math.log10(abs(value))))}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
