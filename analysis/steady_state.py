"""Was the measurement steady? Whether its last third is like its first, by response latency.

Told, and bounded, are exact percentiles of the two thirds; whether their difference may be chance is tested on windows of the measured
phase (analysis.certainty.shift). A trial isn't steady where a percentile has changed by more than its bound and chance alone would
do that in fewer than FALSE_ALARMS of steady trials, over both percentiles. Where the question has no answer, that is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from analysis.certainty.shift import shift
from analysis.evidence import Evidence, Finding, Missing
from analysis.formatting import listed, number
from analysis.percentiles import MILLION, SAMPLES_BEYOND, quantile_name
from analysis.records.windows import WINDOWS
from analysis.thirds import JUDGED_PPM, values_ms, why_not_told

STEADY_STATE = "steady-state"
FALSE_ALARMS = 0.05
TOO_SHORT = f"there are too few messages in some of {WINDOWS} windows, or some of them weren't acknowledged"
# what a window needs, by percentile
_FEWEST = {quantile_name(ppm): SAMPLES_BEYOND * MILLION // (MILLION - ppm) for ppm in JUDGED_PPM}


@dataclass(frozen=True)
class Change:
    """Of one percentile, from the first third to the last; `p`: how often a steady trial's windows are so far apart, corrected for
    the number of percentiles that are judged."""

    percentile: str
    first_ms: float
    last_ms: float
    bound: float
    p: float

    @property
    def ratio(self) -> float:
        """The last third's value over the first's."""
        return self.last_ms / self.first_ms

    @property
    def is_large(self) -> bool:
        """Whether it is beyond its bound, up or down."""
        return not 1 / self.bound <= self.ratio <= self.bound

    @property
    def is_shown(self) -> bool:
        """Whether it is large, and more than chance."""
        return self.is_large and self.p <= FALSE_ALARMS

    def __str__(self) -> str:
        values = f"{number(self.last_ms)} after {number(self.first_ms)} ms"
        return f"{self.percentile} was {self.ratio:.2f} times the first third's ({values})"


def steady_state(evidence: Evidence, bounds: Mapping[str, Any]) -> Finding:
    """No percentile of response latency differed between the thirds by more than its bound and more than chance."""
    why = why_not_told(evidence.trial)
    if why is None and not evidence.trial.completed:
        why = f"The trial was ended early ({(evidence.trial.document['abort'] or {}).get('rule')})."
    if why is not None:
        return Finding(True, f"Not judged. {why}", {"judged": [], "why": why})
    if not evidence.windows:
        raise Missing("No message of the measure phase was recorded.")
    judged = _changes(evidence, bounds)
    figures = {
        "judged": [{**asdict(change), "ratio": change.ratio} for change in judged],
        "windows": WINDOWS,
        "false_alarms": FALSE_ALARMS,
    }
    sentences = [*_told(judged), *_warmup(evidence)]
    if not judged:
        return Finding(True, " ".join([f"Not judged: {TOO_SHORT}.", *sentences]), {**figures, "why": TOO_SHORT})
    return Finding(not any(change.is_shown for change in judged), " ".join(sentences), figures)


def _changes(evidence: Evidence, bounds: Mapping[str, Any]) -> list[Change]:
    """What became of each percentile of which every window and both thirds have one."""
    found = []
    for ppm in JUDGED_PPM:
        name, thirds, logs = quantile_name(ppm), values_ms(evidence.thirds, ppm), _logs(evidence, ppm)
        if thirds is not None and logs is not None:
            found.append((name, *thirds, float(bounds[f"{name}_ratio"]), float(shift(logs).p)))
    return [Change(*each[:-1], p=min(1.0, each[-1] * len(found))) for each in found]


def _logs(evidence: Evidence, ppm: int) -> Any:
    """The logarithm of a percentile in each window; None where one of them has none."""
    column = f"{quantile_name(ppm)}_ns"
    known = {int(row["window"]): row[column] for row in evidence.windows if row[column] is not None}
    return np.log([max(1, known[window]) for window in range(WINDOWS)]) if len(known) == WINDOWS else None


def _told(judged: list[Change]) -> Iterator[str]:
    shown = [change for change in judged if change.is_shown]
    if shown:
        yield f"The last third isn't like the first: {listed([f'{c}, bound {c.bound:g}, p = {c.p:.2g}' for c in shown])}."
    for change in judged:
        if not change.is_shown:
            chance = f", which may be chance (p = {change.p:.2g})" if change.is_large else ""
            yield f"In the last third {change}; the bound is {change.bound:g}{chance}."
    told = {change.percentile for change in judged}
    for name, fewest in _FEWEST.items():
        if told and name not in told:
            yield f"{name} isn't judged: it takes {fewest:,} messages in each of {WINDOWS} windows, nearly all acknowledged."


def _warmup(evidence: Evidence) -> Iterator[str]:
    """What the load driver knew, where it was asked to begin once the system is steady."""
    warmup = evidence.trial.document["observations"].get("warmup")
    if warmup and not warmup["steady"]:
        yield f"The warm-up ended at its bound of {warmup['bound_s']:g} s, before the system was found steady."
