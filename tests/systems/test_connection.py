"""What our own clients share: how long they wait between attempts to connect, and what may be set of it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from systems.client import ClientError
from systems.connection import PERSISTENCE, Backoff, persistence_of


def test_waits_double_up_to_a_bound_and_begin_anew_after_a_success(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first attempt is made at once; after one that succeeded the next isn't, as a connection may be lost again and again."""
    monkeypatch.setattr("systems.connection.time", SimpleNamespace(monotonic=lambda: 100.0))
    backoff = Backoff(0.125, 1.0)
    waits = [backoff.left_s()]
    for succeeded in (False, False, False, False, False, True, False):
        backoff.attempted(succeeded=succeeded)
        waits.append(backoff.left_s())
    assert waits == [0.0, 0.125, 0.25, 0.5, 1.0, 1.0, 0.125, 0.125]


def test_what_is_not_set_is_as_for_every_system() -> None:
    """A system that has another measure of silence has the rest all the same."""
    assert persistence_of({"resend": "false"}) == persistence_of({**PERSISTENCE, "resend": "false"})


@pytest.mark.parametrize("wrong", [{"reconnect_wait_ms": "0"}, {"reconnect_most_ms": "99"}, {"silent_ms": "0"}])
def test_impossible_waits_are_refused(wrong: dict[str, str]) -> None:
    """With all three of them."""
    with pytest.raises(ClientError, match="impossible setting: reconnect_wait_ms"):
        persistence_of({**PERSISTENCE, **wrong})
