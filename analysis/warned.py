"""What counts although a check only warned of it, in sentences for the first screen. It judges nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from analysis.checks import VALIDITY, WARN, Check


def warned_sentences(checks: Iterable[Check], trials: Collection[str]) -> list[str]:
    """One per check that warned of any of these trials: of how many, and what it said of the first."""
    found: dict[str, list[Check]] = {}
    for check in checks:
        if check.axis == VALIDITY and check.verdict == WARN and check.trial in trials:
            found.setdefault(check.check, []).append(check)
    return [
        f"{name} warns of {len(warned)} of {len(trials)} trials, which count all the same; of {warned[0].trial}: {warned[0].sentence}"
        for name, warned in found.items()
    ]
