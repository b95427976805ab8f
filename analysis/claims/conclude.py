"""From what was found to verdicts with their sentences.

What was published is there once, and decides by itself. The blocks of a campaign are a sample: what decides is the interval that a
report prints, which allows for blocks that follow one another, and must lie on one side of the tolerance's edges. A claim is
contradicted by one contradicted part, and confirmed by all its parts.

A block from which something is missing is left out where enough complete ones remain. Where they don't, it counts with all that
the missing may be, so that it decides only where nothing missing could change it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from analysis.claims.claim import Document, Part
from analysis.claims.figures import Figure
from analysis.claims.judge import Evidence, Found, Weighed, weigh
from analysis.claims.quantity import Range
from analysis.claims.tolerance import Interval
from analysis.claims.verdict import CONFIRMED, CONTRADICTED, INCONCLUSIVE, Cited, PartVerdict, Reason, Verdict


def verdicts_on(documents: Iterable[Document], figures: Sequence[Figure], evidence: Evidence) -> list[Verdict]:
    """The verdicts on every claim of these documents. `figures`: the published ones."""
    return [
        conclude(document, weighed, evidence)
        for document in documents
        for weighed in weigh(document, figures, evidence)
    ]


def conclude(document: Document, weighed: Weighed, evidence: Evidence) -> Verdict:
    """The verdict on a claim."""
    claim = weighed.claim
    parts = [
        _part(part, [found[position] for found in weighed.blocks.values()], document, weighed, evidence)
        for position, part in enumerate(claim.parts)
    ]
    undecided = [part for part in parts if part.verdict == INCONCLUSIVE]
    verdict = CONTRADICTED if any(part.verdict == CONTRADICTED for part in parts) else CONFIRMED
    if undecided and verdict == CONFIRMED:
        verdict = INCONCLUSIVE
    named = [(name, figure, document.cell_of(figure)) for name, rows in weighed.rows.items() for figure in rows]
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
            _cited(name, figure, [evidence.value(figure, cell, block) for block in weighed.blocks])
            for name, figure, cell in named
        ),
        experiments=tuple(dict.fromkeys(cell.experiment for _, _, cell in named if cell is not None)),
    )


def _part(part: Part, found: Sequence[Found], document: Document, weighed: Weighed, evidence: Evidence) -> PartVerdict:
    known = [each for each in found if each.is_known]
    if not evidence.is_published:
        known = _counting(known)
    verdict, reason = _decided(part, found, known, evidence)
    figures = [each.figure for each in known if each.figure is not None]
    exact = [figure.low for figure in figures if figure.is_exact]
    values = {} if figures or not known else _values(part, document, weighed, evidence)
    sentence = shown_part(part, known, values)
    if reason is not None:
        tail = f" ({_counted(known)})" if reason in (Reason.TOO_FEW_BLOCKS, Reason.BLOCKS_DISAGREE) else ""
        sentence = f"{sentence} [{reason.sentence}{tail}]"
    return PartVerdict(part.what, verdict, reason.word if reason else None, median(exact) if exact else None, sentence)


# what computes intervals is imported where it is needed: scipy takes a second, and published evidence has none


def _counting(known: list[Found]) -> list[Found]:
    """The complete blocks, where they are enough for an interval; else all of which something is known."""
    from analysis.certainty.interval import FEWEST_BLOCKS

    complete = [each for each in known if each.reason is None]
    return complete if len(complete) >= FEWEST_BLOCKS else known


def _decided(
    part: Part, found: Sequence[Found], known: Sequence[Found], evidence: Evidence
) -> tuple[str, Reason | None]:
    if not known:
        return INCONCLUSIVE, next(each.reason for each in found)
    if evidence.relations_only and part.is_absolute:
        return INCONCLUSIVE, Reason.SCALED
    missing = next((each.reason for each in known if each.holds is None), None)
    if evidence.is_published:
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
    """On which side of the tolerance the ends of the interval lie, 0 = inside; None where there is no interval.

    Of a figure it is the interval that a report of this comparison alone would print, of a condition the exact one of the median, as
    wide as what isn't known can make it.
    """
    from analysis.certainty.interval import exact_interval
    from analysis.certainty.verdict import printed_interval

    if part.interval is None:
        lows, highs = [float(each.holds is False) for each in known], [float(each.holds is not True) for each in known]
        ends = exact_interval(lows, highs)
        return None if ends is None else (int(ends.low), int(ends.high))
    figures = [each.figure for each in known if each.figure is not None]
    ends = printed_interval([each.low for each in figures], [each.high for each in figures])
    return None if ends is None else (part.interval.side(ends.low), part.interval.side(ends.high))


def _counted(known: Sequence[Found]) -> str:
    held = sum(bool(each.holds) for each in known)
    return f"it holds in {held} of {len(known)} block{'s' if len(known) > 1 else ''}"


def _values(part: Part, document: Document, weighed: Weighed, evidence: Evidence) -> dict[str, Range]:
    """The values of a condition's names, in the first block."""
    single = {name: weighed.rows[name][0] for name in part.names if len(weighed.rows[name]) == 1}
    values = {
        name: evidence.value(figure, document.cell_of(figure), evidence.blocks[0]) for name, figure in single.items()
    }
    return {name: value for name, value in values.items() if not isinstance(value, Reason)}


def shown_part(part: Part, known: Sequence[Found], values: Mapping[str, Range]) -> str:
    """What was found of a part, in words with its numbers."""
    interval = part.interval
    figures = [each.figure for each in known if each.figure is not None]
    if figures and interval is not None:
        asked = interval.low if interval.low == interval.high else None
        shown, unit = ", ".join(_shown_figure(each, asked) for each in figures), f" {part.unit}" if part.unit else ""
        return f"{part.what}: {shown}{unit}, {part.claimed}{_stretch(interval)}"
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


def _stretch(interval: Interval) -> str:
    if interval.low is None or interval.high is None or interval.low == interval.high:
        return ""
    return f" ({number(interval.low)} to {number(interval.high)})"


def _sentence(parts: Sequence[PartVerdict], note: str) -> str:
    openings = {CONTRADICTED: "Not so: ", INCONCLUSIVE: "Not known: ", CONFIRMED: "As claimed: "}
    found = {
        opening: [part.sentence for part in parts if part.verdict == verdict] for verdict, opening in openings.items()
    }
    return " ".join(
        [*(f"{opening}{'; '.join(said)}." for opening, said in found.items() if said), *filter(None, [note])]
    )


def _cited(name: str, figure: Figure, values: Sequence[Range | Reason]) -> Cited:
    known = [value.low for value in values if not isinstance(value, Reason) and value.is_exact]
    return Cited(name, figure.place, median(known) if known else None, figure.unit)


def number(value: float, digits: int = 4) -> str:
    """So many significant digits, no zeros at the end, never an exponent."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    text = f"{value:,.{max(0, digits - 1 - math.floor(math.log10(abs(value))))}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
