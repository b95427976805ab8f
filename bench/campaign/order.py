"""The trials that follow from a campaign, in their order.

`order_of` is a pure function of the campaign: the same file and seed give the same trials in the same order, anywhere.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

from bench.campaign.blocks import BlockKind, places_in
from bench.campaign.campaign import Campaign
from bench.campaign.contestant import Contestant
from bench.campaign.ladder import workloads_in
from contract.durability import DEFAULT_REPLICATION_FACTOR
from contract.workload import Workload
from systems.registry import DURABILITY

GeneratorName = Literal["samebox", "native"]


@dataclass(frozen=True)
class TrialSpec:
    """One contestant x durability x workload in one block. `position` is its place among the trials compared in it, from 1.

    `generator`: what makes the load. A native trial has the position of the trial that it checks. `seed`: the campaign's, of this
    block.
    """

    trial: str
    block: int
    position: int
    contestant: Contestant
    durability: str
    workload: Workload
    experiment: str
    generator: GeneratorName = "samebox"
    block_kind: BlockKind = "A/B"
    replication_factor: int = DEFAULT_REPLICATION_FACTOR
    seed: int = 0

    @property
    def system(self) -> str:
        return self.contestant.system

    def to_json(self) -> dict[str, Any]:
        """As the manifest's `order` lists it."""
        return {
            "trial": self.trial,
            "block": self.block,
            "block_kind": self.block_kind,
            "position": self.position,
            "system": self.system,
            "durability": self.durability,
            "workload": self.workload.name,
            "experiment": self.experiment,
            "generator": self.generator,
            **self.named,
        }

    @property
    def named(self) -> dict[str, str]:
        """Its contestant, where that isn't its system as such: as documents have it."""
        return {} if self.contestant.is_plain else {"contestant": self.contestant.name}


@dataclass(frozen=True)
class EmptyCell:
    """What a contestant can't do, or samebox can't do with it: a cell of an experiment that stays empty, and why.

    `system`: the contestant's name.
    """

    experiment: str
    system: str
    durability: str | None
    reason: str


def empty_cells(campaign: Campaign) -> tuple[EmptyCell, ...]:
    """What of the experiments stays empty, and why; a level is never silently replaced by another."""
    found = []
    for each in campaign.questions:
        found += [EmptyCell(each.id, system, None, reason) for system, reason in each.absent.items()]
        found += [
            EmptyCell(each.id, contestant.name, level, reason)
            for level in each.durability
            for contestant in campaign.compared_in(each)
            if each.asks(contestant, level) and (reason := each.why_empty(contestant, level)) is not None
        ]
    return tuple(found)


def order_of(campaign: Campaign) -> tuple[TrialSpec, ...]:
    """All trials in the order they run: blocks in turn; in a block each experiment, workload (or rung of one) and promise; in that,
    everything that makes the same promise back to back: every contestant, and every variant of the level that it has.

    `alternate` reverses these in every second block, `random` shuffles them by the seed, `fixed` keeps the file's order
    (which confounds the contestant with disk fill and time of day, and is flagged in the report). A/A blocks change none of that.
    """
    shuffler = random.Random(campaign.seed)
    trials = []
    for block in campaign.all_blocks:
        for each in campaign.questions:
            inside = workloads_in(block, each.workloads, campaign.seed)
            for compared, workload in product(_promises(each.durability), inside):
                contestants = [
                    (contestant, contestant.durability(name))
                    for contestant in campaign.compared_in(each)
                    for name in compared
                    if each.runs(contestant, name)
                ]
                places = places_in(block, contestants, campaign.order, shuffler) if contestants else []
                for position, (contestant, name) in enumerate(places, start=1):
                    trial = f"{block.name}-{position}-{contestant.name}-l{name}-{workload.name}"
                    trials.append(
                        TrialSpec(
                            trial,
                            block.number,
                            position,
                            contestant,
                            name,
                            contestant.workload(workload),
                            each.id,
                            block_kind=block.kind,
                            replication_factor=campaign.replication_factor,
                            seed=campaign.seed + block.number,
                        )
                    )
    return tuple(trials)


def _promises(names: Sequence[str]) -> list[list[str]]:
    """Durabilities grouped by the level that they promise, in the order of the file."""
    levels = dict.fromkeys(DURABILITY[name].level for name in names)
    return [[name for name in names if DURABILITY[name].level == level] for level in levels]
