"""Histories of watches as tests name them: of each version its ratio to the anchor in every block, which is 10 ms in all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from contract.watch_history import WATCH_SCHEMA, History, Known, Round, Suspicion, WatchedBlock

ANCHOR = "1.0"
P99 = "response_latency_p99"
LEVEL_MS = 10.0
NOISE = (1.02, 0.99, 1.0, 1.01, 0.98, 1.0)  # of six blocks


def noisy(ratio: float) -> list[float]:
    """A version's ratios in six blocks."""
    return [ratio * each for each in NOISE]


def round_of_ratios(
    ratios: Mapping[str, Sequence[float]],
    *,
    metric: str = P99,
    confirms: Sequence[Suspicion] = (),
    number: int = 1,
) -> Round:
    """One in which each version has these ratios to the anchor, block by block."""
    blocks = len(next(iter(ratios.values())))
    values = {ANCHOR: [1.0] * blocks, **ratios}
    return Round(
        campaign=f"watch-x-{number}",
        created_ns=number * 10**18,
        testbed="local",
        versions=tuple(ratios),
        metrics={
            metric: tuple(
                WatchedBlock(at + 1, {version: known(LEVEL_MS * own[at]) for version, own in values.items()})
                for at in range(blocks)
            )
        },
        confirms=tuple(confirms),
    )


def known(value: float) -> Known:
    """A value without any doubt."""
    return Known(value, value, value)


def history(*rounds: Round) -> History:
    """Of these rounds."""
    return History(WATCH_SCHEMA, "toy", ANCHOR, "1", {"name": "steady"}, rounds)
