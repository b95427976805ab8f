"""A load second by second, as the workers' progress tells it: enough to see whether a rate is sustained, not what it costs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from bench.load.fleet import Fleet


@dataclass(frozen=True)
class Sample:
    """Totals at `at_s` after the start instant. `received`: of the subscription that is furthest behind; `lag_ns`: of the
    producer whose next message is latest."""

    at_s: float
    sent: int
    acked: int
    errors: int
    received: int
    lag_ns: int

    def to_json(self) -> dict[str, Any]:
        """As an observation."""
        return asdict(self)


class Sampling:
    """Takes a sample a second."""

    def __init__(self) -> None:
        self.samples: list[Sample] = []

    def take(self, fleet: Fleet, at_s: float) -> None:
        """To be called often; `at_s` is the time since the start instant."""
        if at_s < (self.samples[-1].at_s + 1.0 if self.samples else 0.0):
            return
        producers = fleet.of_role("producer")
        sent, acked, errors = (sum(worker.count(name) for worker in producers) for name in ("sent", "acked", "errors"))
        received = min(received_by_subscription(fleet).values(), default=acked)
        lag_ns = max((worker.count("lag_ns") for worker in producers), default=0)
        self.samples.append(Sample(round(at_s, 3), sent, acked, errors, received, lag_ns))


def received_by_subscription(fleet: Fleet) -> dict[str, int]:
    """What each subscription has received so far, over all its consumers."""
    received: dict[str, int] = {}
    for worker in fleet.of_role("consumer"):
        name = worker.job.subscription or ""
        received[name] = received.get(name, 0) + worker.count("received")
    return received
