"""A campaign as its file says it, and the trials that follow from it in their order. Runs nothing.

`order_of` is a pure function of the campaign: the same file and seed give the same trials in the same order, anywhere.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from bench.systems import SYSTEMS
from bench.workload import Workload
from provisioning.deployment import DURABILITY_LEVELS
from provisioning.document import parse_document
from provisioning.errors import InvalidInput

CAMPAIGN_SCHEMA = 1
Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")]
Order = Literal["alternate", "random", "fixed"]


@dataclass(frozen=True)
class Campaign:
    """Blocks of trials, one seed, one question. `checks` overrides bounds of the testbed's profile, check name -> bound -> value."""

    schema: int
    name: Slug
    question: str
    seed: Annotated[int, Field(ge=0)]
    systems: tuple[str, ...]
    durability: tuple[int, ...]
    blocks: Annotated[int, Field(ge=1, le=1000)]
    workloads: tuple[Workload, ...]
    order: Order = "alternate"
    checks: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    settings: Mapping[str, Mapping[str, Mapping[str, str]]] = field(default_factory=dict)


@dataclass(frozen=True)
class TrialSpec:
    """One system x durability x workload in one block. `position` is its place among the systems of that block, from 1."""

    trial: str
    block: int
    position: int
    system: str
    durability: int
    workload: Workload

    def to_json(self) -> dict[str, Any]:
        """As the manifest's `order` lists it."""
        return {
            "trial": self.trial,
            "block": self.block,
            "position": self.position,
            "system": self.system,
            "durability": self.durability,
            "workload": self.workload.name,
        }


def load_campaign(path: Path) -> Campaign:
    """Reads and checks a campaign file. Raises InvalidInput naming file, key and valid choices."""
    campaign = parse_document(Campaign, path, schema=CAMPAIGN_SCHEMA)
    problems = [*_unknown_names(campaign), *_repeats(campaign), *_impossible_levels(campaign)]
    if problems:
        raise InvalidInput("\n".join(f"{path}: {problem}" for problem in problems))
    return campaign


def _unknown_names(campaign: Campaign) -> list[str]:
    problems = [
        f"key 'systems': unknown system {name!r}. Valid choices: {', '.join(sorted(SYSTEMS))}."
        for name in campaign.systems
        if name not in SYSTEMS
    ]
    problems += [
        f"key 'durability': unknown level {level}. Valid choices: {', '.join(map(str, DURABILITY_LEVELS))}."
        for level in campaign.durability
        if level not in DURABILITY_LEVELS
    ]
    problems += [
        f"key 'settings.{name}': unknown system. Valid choices: {', '.join(sorted(SYSTEMS))}."
        for name in campaign.settings
        if name not in SYSTEMS
    ]
    return problems


def _repeats(campaign: Campaign) -> list[str]:
    lists: dict[str, list[Any]] = {
        "systems": list(campaign.systems),
        "durability": list(campaign.durability),
        "workloads": [workload.name for workload in campaign.workloads],
    }
    problems = [f"key {key!r}: at least one entry is needed." for key, values in lists.items() if not values]
    for key, values in lists.items():
        twice = sorted({str(value) for value in values if values.count(value) > 1})
        problems += [f"key {key!r}: {value} is listed twice." for value in twice]
    problems += [
        f"key 'workloads': the name {workload.name!r} must be of a-z, 0-9 and '-': it becomes part of folder names."
        for workload in campaign.workloads
        if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,39}", workload.name)
    ]
    return problems


def _impossible_levels(campaign: Campaign) -> list[str]:
    problems = []
    for name in campaign.systems:
        if name not in SYSTEMS:
            continue
        possible = SYSTEMS[name].durability
        problems += [
            f"key 'durability': {name} can't give level {level}. It can give: {', '.join(map(str, possible))}. "
            "Remove the level or the system; a level is never silently replaced."
            for level in campaign.durability
            if level in DURABILITY_LEVELS and level not in possible
        ]
    return problems


def order_of(campaign: Campaign) -> tuple[TrialSpec, ...]:
    """All trials in the order they run: blocks in turn; in a block each level and workload; in that, every system back to back.

    `alternate` reverses the systems in every second block, `random` shuffles them by the seed, `fixed` keeps the file's order
    (which confounds the system with disk fill and time of day, and is flagged in the report).
    """
    shuffler = random.Random(campaign.seed)
    trials = []
    for block in range(1, campaign.blocks + 1):
        for level in campaign.durability:
            for workload in campaign.workloads:
                systems = list(campaign.systems)
                if campaign.order == "alternate" and block % 2 == 0:
                    systems.reverse()
                elif campaign.order == "random":
                    shuffler.shuffle(systems)
                for position, system in enumerate(systems, start=1):
                    trial = f"b{block:02d}-{position}-{system}-l{level}-{workload.name}"
                    trials.append(TrialSpec(trial, block, position, system, level, workload))
    return tuple(trials)
