"""Which time is a fault's, and which message belongs to which."""

from __future__ import annotations

from typing import Any

from analysis.campaign import Trial
from analysis.faults.occurrence import BAND, Belonging, Window, occurrences, windows_of
from tests.analysis.faults.test_fault_rules import BEGAN_NS, START_NS, evidence, fault
from tests.analysis.synthetic_results import S

END_NS = START_NS + 42 * S  # two seconds of warm-up, forty measured


def second(began_ns: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """A fault beside the first one."""
    asked, seen = fault("freeze", began_ns=began_ns)
    return asked, {**seen, "number": 1}


def trial(*faults: tuple[dict[str, Any], dict[str, Any]], **observed: Any) -> Trial:
    return evidence(*faults, **observed).trial


def test_a_window_ends_where_the_next_fault_begins_or_the_measurement_ends() -> None:
    """Before the first of them is the band: the whole seconds of the measurement."""
    assert windows_of(trial(fault(), second(BEGAN_NS + 10 * S))) == (
        Window(BAND, START_NS + 2 * S, BEGAN_NS, followed=True),
        Window(0, BEGAN_NS, BEGAN_NS + 10 * S, followed=True),
        Window(1, BEGAN_NS + 10 * S, END_NS, followed=False),
    )


def test_a_trial_that_was_ended_early_is_looked_at_no_further() -> None:
    """Nothing was due afterwards, and what isn't due is never late."""
    watched = {"producers": BEGAN_NS + 7 * S, "consumers": BEGAN_NS + 8 * S}
    (_, window) = windows_of(trial(fault(), watched_until_ns=watched))
    assert (window.begin_ns, window.end_ns) == (BEGAN_NS, BEGAN_NS + 7 * S)


def test_a_fault_that_never_took_effect_has_no_window_and_ends_none() -> None:
    """The other one goes on to the end."""
    seen = trial(fault(), (fault()[0], {**fault(began_ns=None, hits=[])[1], "number": 1}))
    assert [each.window_ns for each in occurrences(seen)] == [(BEGAN_NS, END_NS), None]


def test_a_message_belongs_to_the_last_fault_from_a_second_before_it() -> None:
    """What was on its way when it began is its own; before all of them is nobody's."""
    belonging = Belonging((10 * S, 20 * S), (0, 1))  # began at 11 and 21 s
    assert [belonging.of(at) for at in (10 * S - 1, 10 * S, 20 * S - 1, 20 * S)] == [None, 0, 0, 1]
