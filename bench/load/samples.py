"""A load as its workers tell it while it runs, each with the time at which it counted: enough to see whether a rate is
sustained. What it costs is worked out from the records alone."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from bench.load.workers import Worker, Workers
from bench.worker.schedule import SECOND_NS


@dataclass(frozen=True)
class Sample:
    """One worker's totals at `at_s` after the start instant; `lag_ns`: how late its next message is. `in_flight`: a producer's."""

    worker: str
    role: str
    subscription: str | None
    at_s: float
    messages: int  # acknowledged by a producer's brokers, received by a consumer
    lag_ns: int
    in_flight: int = 0


class Sampling:
    """Keeps every progress of every worker. For short runs: what it keeps grows with the time."""

    def __init__(self) -> None:
        self.samples: list[Sample] = []
        self._seen_ns: dict[str, int] = defaultdict(int)

    def take(self, worker: Worker | None, start_ns: int) -> None:
        """To be called after each event; `start_ns` is the start instant (epoch, the workers' clock)."""
        at_ns = int(worker.latest.get("at_ns") or 0) if worker is not None else 0
        if worker is None or at_ns <= self._seen_ns[worker.job.worker]:
            return
        self._seen_ns[worker.job.worker] = at_ns
        counted = "acked" if worker.job.role == "producer" else "received"
        self.samples.append(
            Sample(
                worker=worker.job.worker,
                role=worker.job.role,
                subscription=worker.job.subscription,
                at_s=(at_ns - start_ns) / SECOND_NS,
                messages=worker.count(counted),
                lag_ns=worker.count("lag_ns"),
                in_flight=worker.count("in_flight"),
            )
        )


def unread(workers: Workers, *, of: str = "") -> int:
    """Acknowledged and not received, of the subscription that is furthest behind (of those whose name begins with `of`)."""
    acked = sum(worker.count("acked") for worker in workers.of_role("producer"))
    received = [count for name, count in received_by_subscription(workers).items() if name.startswith(of)]
    return max(0, acked - min(received, default=acked))


def received_by_subscription(workers: Workers) -> dict[str, int]:
    """What each subscription has received so far, over all its consumers."""
    received: dict[str, int] = defaultdict(int)
    for worker in workers.of_role("consumer"):
        received[worker.job.subscription or ""] += worker.count("received")
    return received
