"""How a backlog was read, on seconds written by hand."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.campaign import Trial
from analysis.catch_up import catch_ups

S = 1_000_000_000


def trial(drain_from_s: float, rate_per_s: int = 1000, drained_share: float = 1.0) -> Trial:
    """A trial that began to drain at so many seconds."""
    drain_ns = round(drain_from_s * S)
    phases = [
        {"name": "build", "start_ns": 0, "end_ns": drain_ns},
        {"name": "drain", "start_ns": drain_ns, "end_ns": drain_ns + 60 * S},
    ]
    backlog = {"subscriptions": 1, "size_bytes": 10_000, "drained_share": drained_share}
    return Trial(
        "t", {"phases": phases, "workload": {"rate_per_s": rate_per_s, "message_bytes": 1, "backlog": backlog}}
    )


def rows(of_second: dict[int, int], subscription: str = "") -> list[dict[str, Any]]:
    """Messages of each second."""
    return [{"second": s, "messages": messages, "subscription": subscription} for s, messages in of_second.items()]


ACKED = rows(dict.fromkeys(range(20), 1000))


def test_it_has_caught_up_when_half_a_second_is_left() -> None:
    """Ten seconds of 1,000 are left behind; read at 6,000 a second while 1,000 come in, they are gone in the second second."""
    (found,) = catch_ups(
        trial(10), ACKED, rows({10: 6000, 11: 5600, **dict.fromkeys(range(12, 20), 1000)}, "catch-up-0")
    )
    assert (found.backlog_messages, found.caught_up_s, found.peak_per_s) == (10_000, 2.0, 6000)
    assert found.mean_per_s == 5800


def test_a_workload_may_let_some_of_it_stay_unread() -> None:
    """A drain of 60 % is over with 4,000 of 10,000 left."""
    received = rows({10: 6000, 11: 2000, **dict.fromkeys(range(12, 20), 1000)}, "catch-up-0")
    (found,) = catch_ups(trial(10, drained_share=0.6), ACKED, received)
    assert found.caught_up_s == 2.0


def test_the_drain_may_begin_within_a_second() -> None:
    """The time counts from the drain's own start, not from a whole second."""
    (found,) = catch_ups(trial(10.4), ACKED, rows({10: 10_700, **dict.fromkeys(range(11, 20), 1000)}, "catch-up-0"))
    assert found.caught_up_s == pytest.approx(0.6)


def test_a_reader_that_is_always_behind_has_not_caught_up() -> None:
    """No time is made up for it; its mean is of all it had."""
    (found,) = catch_ups(trial(10), ACKED, rows(dict.fromkeys(range(10, 20), 1200), "catch-up-0"))
    assert (found.caught_up_s, found.mean_per_s, found.peak_per_s) == (None, 1200, 1200)


def test_only_readers_of_the_backlog_are_looked_at() -> None:
    """Who read from the start has no backlog to catch up with; several readers are told apart."""
    received = [*rows({0: 1000}, "subscription-0"), *rows({10: 1}, "catch-up-1"), *rows({10: 1}, "catch-up-0")]
    assert [found.subscription for found in catch_ups(trial(10), ACKED, received)] == ["catch-up-0", "catch-up-1"]


def test_without_a_drain_there_is_nothing_to_catch_up_with() -> None:
    """A steady trial, and one that was aborted before."""
    steady = Trial("t", {"phases": [{"name": "measure", "start_ns": 0, "end_ns": S}], "workload": {"rate_per_s": 1}})
    assert catch_ups(steady, ACKED, []) == []
    assert catch_ups(Trial("t", {"phases": [], "workload": {"rate_per_s": 1}}), ACKED, []) == []
