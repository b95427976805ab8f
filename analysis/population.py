"""What a latency is to be ranked over: all messages that were scheduled, not only those that were answered.

A message that was never acknowledged (received) counts as later than everything; else a system that gives messages up, or stops
answering, would look faster for it. All that is known of such a message is for how long it was waited for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Key = tuple[str, str, str]  # trial, metric, subscription


@dataclass(frozen=True)
class Population:
    """The messages that a metric's percentiles are of, answered or not.

    `waits`: (nanoseconds, messages), ascending: so many messages were waited for at least so long. Which of them were never answered
    isn't known, so the ones with the shortest waits are taken to be.
    """

    messages: int
    waits: tuple[tuple[int, int], ...] = ()

    def waited_ns(self, position: int) -> int:
        """For how long at least the unanswered message in that place was waited for; from 1, in the order of the waits."""
        counted = 0
        for waited_ns, messages in self.waits:
            counted += messages
            if counted >= position:
                return waited_ns
        return 0


Populations = Mapping[Key, Population]
NO_POPULATIONS: Populations = {}


def population_of(populations: Populations, key: Any, answered: int) -> Population:
    """The population of a metric, or just its samples where it has no other."""
    found = populations.get(key)
    return found if found is not None and found.messages >= answered else Population(answered)
