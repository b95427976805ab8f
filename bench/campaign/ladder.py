"""A ladder as the trials that it is run as: an open loop per rung, each on a freshly wiped cluster.

Rungs aren't climbed within a trial: what one leaves behind (a backlog, a full page cache, files to compact, compiled code) would be
measured on the next, and by which system's habits, nobody could tell. In a block all contestants run a rung back to back, since
that is what is compared; the rungs' order is drawn for each block, so that no rate always comes late.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from bench.campaign.blocks import Block
from contract.workload import Workload

BEGINS_AT = 1 / 4  # of the lowest rate that was sustained: the knee is above it
_ABOVE = 1.1  # the highest rate that was sustained, where none above it failed


@dataclass(frozen=True)
class Span:
    """The lowest and the highest rung of a ladder."""

    lowest_per_s: int
    highest_per_s: int


def rungs_of(workload: Workload) -> tuple[Workload, ...]:
    """A ladder's rungs, the lowest rate first; any other workload is itself."""
    if workload.pacing != "ladder":
        return (workload,)
    return tuple(
        replace(
            workload,
            name=f"{workload.name}-{rate_per_s}",
            rate_per_s=rate_per_s,
            pacing="open-loop",
            lowest_rate_per_s=None,
            rungs=None,
            rates_per_s=(),
            ladder=workload.name,
        )
        for rate_per_s in workload.rung_rates_per_s
    )


def names_of(workloads: Iterable[Workload]) -> list[str]:
    """What trials are named by, over all experiments: the workloads, and the rungs of ladders among them."""
    return [name for each in workloads for name in dict.fromkeys([each.name, *(rung.name for rung in rungs_of(each))])]


def workloads_in(block: Block, workloads: Iterable[Workload], seed: int) -> list[Workload]:
    """What a block runs, in the order of the file; the rungs of each ladder in an order drawn for this block from the seed."""
    found: list[Workload] = []
    for workload in workloads:
        rungs = rungs_of(workload)
        found += random.Random(f"rungs {seed} {block.number} {workload.name}").sample(rungs, len(rungs))
    return found


def span_of(searches: Sequence[tuple[int, int | None]]) -> Span:
    """A ladder for what searches found, each the rate that was sustained and the one above it that failed (None = none did).

    From where the slowest is at rest to where the fastest isn't kept, in three figures.
    """
    lowest = min(rate_per_s for rate_per_s, _ in searches) * BEGINS_AT
    highest = max(failed_per_s or rate_per_s * _ABOVE for rate_per_s, failed_per_s in searches)
    return Span(*(max(1, round(float(f"{rate_per_s:.3g}"))) for rate_per_s in (lowest, highest)))
