"""What the first screen says of messages that had to survive and weren't received."""

from __future__ import annotations

import pytest

from analysis.faults.findings import own_count_words


@pytest.mark.parametrize(
    ("stored", "others", "words"),
    [
        (None, 0, "the system couldn't say"),
        (997, 0, "The system's own count is 997, and 1,000 were acknowledged: 3 or more are gone."),
        (999, 5, "1 or more are gone"),
        (1000, 0, "by that it has them all, and didn't deliver them"),
        (1004, 5, "up to 5 others stored: it doesn't tell"),
        (1005, 5, "by that it has them all"),
    ],
)
def test_the_systems_own_count_tells_loss_from_a_consumers_fault(stored: int | None, others: int, words: str) -> None:
    """Fewer than acknowledged: gone. As many as were ever stored: there. Between them nothing can be told."""
    assert words in own_count_words(stored, 1_000, others)


def test_a_count_that_may_have_ended_with_a_process_tells_nothing() -> None:
    """Fewer than acknowledged then isn't gone; as many as were ever stored is there all the same."""
    said = own_count_words(997, 1_000, 0, ["broker on broker-3"])
    assert said.endswith(
        "1,000 were acknowledged: a part of it may have ended with broker on broker-3, so that it doesn't tell."
    )
    assert "has them all" in own_count_words(1_000, 1_000, 0, ["broker on broker-3"])
