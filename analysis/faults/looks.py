"""What is counted in the records of a trial with faults, beside what is counted in every trial's."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.campaign import Trial
from analysis.faults import acknowledgements, latency, losses, sends
from analysis.faults.occurrence import belonging_of, goal_ms_of, windows_of
from analysis.records.counting import Counting
from analysis.records.differences import Stretch

NAMES = (acknowledgements.NAME, latency.NAME, sends.SENDS, sends.STEPS_BACK, losses.NAME)


def first_look(trial: Trial) -> tuple[Counting, ...]:
    """In all of its records; nothing where no fault took effect."""
    windows = windows_of(trial)
    if not windows:
        return ()
    return (
        *acknowledgements.countings(windows),
        *latency.countings(windows, goal_ms_of(trial)),
        *sends.countings(belonging_of(trial)),
    )


def second_look(trial: Trial, stretches: Sequence[Stretch], bits: int) -> tuple[Counting, ...]:
    """In the stretches in which acknowledgements and receipts differ."""
    return tuple(losses.countings(stretches, bits, belonging_of(trial))) if windows_of(trial) else ()
