"""A judged history as plain data, and in words."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from analysis.certainty.interval import interval_document
from analysis.formatting import bounded, interval, listed, ratio, words
from analysis.watch.judge import REGRESSION, Finding, Judged
from analysis.watch.series import Place, Series


def judged_document(judged: Judged) -> dict[str, Any]:
    """What `samebox watch --json` prints."""
    history = judged.history
    return {
        "system": history.system,
        "anchor": history.anchor,
        "durability": history.durability,
        "workload": history.workload["name"],
        "series": [_series(each) for each in judged.series],
        "suspected": [asdict(each) for each in judged.open],
        "findings": [{**_finding(each), "sentence": sentence_of(each)} for each in judged.findings],
        "sentences": list(sentences(judged)),
    }


def _series(found: Series) -> dict[str, Any]:
    return {
        "metric": found.metric,
        "versions": [_place(each) for each in found.places],
        "changes": [
            {
                "before": found.places[each.at - 1].version,
                "version": found.places[each.at].version,
                "ratio": math.exp(each.shift),
                "p": each.p,
                "worse": found.is_worse(each.shift),
            }
            for each in found.changes
        ],
    }


def _place(found: Place) -> dict[str, Any]:
    return {
        "version": found.version,
        "blocks": len(found.ratios),
        "ratio": found.median.to_json(),
        "interval": interval_document(found.interval),
        "ratios": [each.to_json() for each in found.ratios],
    }


def _finding(found: Finding) -> dict[str, Any]:
    return {
        "campaign": found.campaign,
        "before": found.before,
        "version": found.version,
        "metric": found.metric,
        "verdict": found.verdict,
        "ratio": found.ratio.to_json() if found.ratio else None,
        "interval": interval_document(found.certainty.interval),
        "p": found.certainty.p,
        "corrected_p": found.certainty.corrected_p,
        "why": found.certainty.why,
        "blocks": found.blocks,
    }


def sentences(judged: Judged) -> Iterator[str]:
    """What there is to say of the levels, and of what each version didn't do."""
    for each in judged.findings:
        yield sentence_of(each)
    for one in judged.open:
        named = listed([words(metric) for metric in one.metrics])
        yield f"{one.version} looks worse than {one.before} in {named}, which nothing has confirmed yet."
    for series in judged.series:
        for change in series.changes:
            if not series.is_worse(change.shift):
                before, version = (series.places[at].version for at in (change.at - 1, change.at))
                yield (
                    f"{version} looks better than {before} in {words(series.metric)}: from it on the level is "
                    f"{ratio(math.exp(change.shift))} the one before. Better ones aren't confirmed."
                )
    if not judged.findings and not any(each.changes for each in judged.series):
        yield "No level changes from one version to the next, as far as these blocks can tell."
    yield from _failures(judged)


def sentence_of(found: Finding) -> str:
    """What a round says of a suspicion."""
    if found.ratio is None:
        return f"{found.version} looked worse than {found.before} in {words(found.metric)}; no block has sound trials of both."
    limits = found.certainty.interval
    blocks = f"{found.blocks} new block{'s' if found.blocks > 1 else ''}"
    said = f"its {words(found.metric)} was {bounded(found.ratio.to_json())} that of {found.before} in {blocks}"
    if limits is not None:
        said += f" ({interval(limits.low, limits.high, limits.attained)})"
    if found.verdict == REGRESSION:
        return f"A regression is shown in {found.version}: {said}."
    return f"{found.version} looked worse than {found.before}, and that isn't confirmed: {said}; {found.certainty.why}."


def _failures(judged: Judged) -> Iterator[str]:
    """Outcomes that weren't met: no ratio of latencies says so."""
    for each in judged.history.rounds:
        for version, failed in each.not_met.items():
            counted = ", ".join(f"{check} in {trials} trials" for check, trials in failed.items())
            yield f"{version} didn't do all that was asked in {each.campaign}: {counted}."
