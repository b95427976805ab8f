"""What can be said of a claim: three verdicts, and the closed list of reasons for which there is neither yes nor no."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

CONFIRMED, CONTRADICTED, INCONCLUSIVE = "confirmed", "contradicted", "inconclusive"
VERDICTS = (CONFIRMED, CONTRADICTED, INCONCLUSIVE)


class Reason(Enum):
    """Why a claim, or a part of it, is inconclusive. The value is its name in files, the sentence is what people read."""

    NO_FIGURE_PRINTED = (
        "no-figure-printed",
        "no figure that it could be checked against is printed, or a chart alone shows it",
    )
    FIGURE_AMBIGUOUS = (
        "figure-ambiguous",
        "the text doesn't say which of several figures or which figure of another document is meant",
    )
    NO_MEASURE_STATED = "no-measure-stated", "it names no quantity that could be measured"
    NOT_COMPARABLE = "not-comparable", "what it compares was measured in different ways or under different conditions"
    NOT_COMPUTABLE = "not-computable", "the evidence doesn't determine it: a figure is 0, or only bounded"
    NOT_IN_CAMPAIGN = "not-in-campaign", "the campaign, or the imported files, have no sound trial of it"
    NOT_MEASURED = "not-measured", "samebox measures no such statistic"
    SCALED = "scaled", "the campaign was scaled down, so only relations can be tested and no absolute figures"
    TOO_FEW_BLOCKS = "too-few-blocks", "with fewer than 6 blocks no 95 % interval is possible"
    BLOCKS_DISAGREE = (
        "blocks-disagree",
        "the 95 % interval over the blocks lies on both sides of an edge of the tolerance",
    )

    def __init__(self, word: str, sentence: str) -> None:
        self.word = word
        self.sentence = sentence


@dataclass(frozen=True)
class Cited:
    """A figure that decided: the name it has in the claim, where it was read, and its value."""

    name: str
    row: str
    value: float | None
    unit: str


@dataclass(frozen=True)
class PartVerdict:
    """One part of a claim: `figure` is what was computed, None where it wasn't or where it is a condition."""

    what: str
    verdict: str
    reason: str | None
    figure: float | None
    sentence: str


@dataclass(frozen=True)
class Verdict:
    """A claim beside the evidence. `reason` and `parts`' reasons are words of `Reason`, None unless inconclusive."""

    id: str
    document: str
    claim: str
    where: str
    verdict: str
    reason: str | None
    sentence: str
    parts: tuple[PartVerdict, ...]
    cited: tuple[Cited, ...]
    experiments: tuple[str, ...]
