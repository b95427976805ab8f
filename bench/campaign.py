"""A campaign as its file says it, and the trials that follow from it in their order. Runs nothing.

`order_of` is a pure function of the campaign: the same file and seed give the same trials in the same order, anywhere.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StringConstraints

from bench.scale import Scale
from bench.system_settings import all_profiles, wrong_client_settings
from bench.systems import SYSTEMS
from bench.workload import Workload
from provisioning.deployment import DURABILITY
from provisioning.document import parse_document
from provisioning.errors import InvalidInput

CAMPAIGN_SCHEMA = 1
Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")]
ExperimentId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9-]{0,39}$")]
Order = Literal["alternate", "random", "fixed"]
# a level without a variant is written as a number: durability = [1, 2, "2-bypass"]
DurabilityName = Annotated[str, BeforeValidator(lambda value: str(value) if isinstance(value, int) else value)]


@dataclass(frozen=True)
class Representative:
    """The one durability and workload of an experiment that stand for it where time is short."""

    durability: DurabilityName
    workload: str


@dataclass(frozen=True)
class Experiment:
    """Workloads at durability levels that answer one question of a campaign; `id` is that of the published experiment.

    `systems`: those of the campaign, unless named here. `absent`: systems that the published experiment had and samebox
    hasn't, each with the reason. `differs`: what is done in another way than published, one sentence each.
    """

    id: ExperimentId
    title: str
    durability: tuple[DurabilityName, ...]
    workloads: tuple[Workload, ...]
    systems: tuple[str, ...] = ()
    absent: Mapping[str, str] = field(default_factory=dict)
    differs: tuple[str, ...] = ()
    representative: Representative | None = None


@dataclass(frozen=True)
class Campaign:
    """Blocks of trials, one seed, one question: about `workloads` at levels of `durability`, or about several `experiments`.

    `system_profile`: whose settings the systems get. `checks` overrides bounds of the testbed's profile, check name -> bound ->
    value; `settings` single settings, system -> component -> key -> value. `scales`: how to shrink it, by name.
    """

    schema: int
    name: Slug
    question: str
    seed: Annotated[int, Field(ge=0)]
    systems: tuple[str, ...]
    blocks: Annotated[int, Field(ge=1, le=1000)]
    durability: tuple[DurabilityName, ...] = ()
    workloads: tuple[Workload, ...] = ()
    experiments: tuple[Experiment, ...] = ()
    order: Order = "alternate"
    system_profile: str = "vendor-default"
    checks: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    settings: Mapping[str, Mapping[str, Mapping[str, str]]] = field(default_factory=dict)
    scales: Mapping[str, Scale] = field(default_factory=dict)

    @property
    def questions(self) -> tuple[Experiment, ...]:
        """The experiments; a campaign of one question is one, called by the campaign's name."""
        if self.experiments:
            return self.experiments
        return (Experiment(self.name, self.question, self.durability, self.workloads),)

    def systems_of(self, experiment: Experiment) -> tuple[str, ...]:
        """The systems that take part in an experiment."""
        return experiment.systems or self.systems


@dataclass(frozen=True)
class TrialSpec:
    """One system x durability x workload in one block. `position` is its place among the trials compared in it, from 1."""

    trial: str
    block: int
    position: int
    system: str
    durability: str
    workload: Workload
    experiment: str

    def to_json(self) -> dict[str, Any]:
        """As the manifest's `order` lists it."""
        return {
            "trial": self.trial,
            "block": self.block,
            "position": self.position,
            "system": self.system,
            "durability": self.durability,
            "workload": self.workload.name,
            "experiment": self.experiment,
        }


@dataclass(frozen=True)
class EmptyCell:
    """What a system can't do, or samebox can't do with it: a cell of an experiment that stays empty, and why."""

    experiment: str
    system: str
    durability: str | None
    reason: str


def load_campaign(path: Path) -> Campaign:
    """Reads and checks a campaign file. Raises InvalidInput naming file, key and valid choices."""
    campaign = parse_document(Campaign, path, schema=CAMPAIGN_SCHEMA)
    problems = [*_shape(campaign), *_unknown_names(campaign), *_repeats(campaign), *_representatives(campaign)]
    if not problems and not order_of(campaign):
        problems = [f"no system can do what is asked: {cell.system}: {cell.reason}" for cell in empty_cells(campaign)]
    if problems:
        raise InvalidInput("\n".join(f"{path}: {problem}" for problem in problems))
    return campaign


def _shape(campaign: Campaign) -> list[str]:
    if campaign.experiments and (campaign.workloads or campaign.durability):
        return [
            "give either 'experiments' (each with its own durability and workloads) or 'durability' and 'workloads'."
        ]
    return []


def _named(campaign: Campaign) -> list[tuple[str, Experiment]]:
    """Each experiment with what its keys start with in the file."""
    return [(f"experiments.{at}." if campaign.experiments else "", each) for at, each in enumerate(campaign.questions)]


def _unknown_names(campaign: Campaign) -> list[str]:
    known = ", ".join(sorted(SYSTEMS))
    lists = [("systems", campaign.systems)]
    lists += [(f"{prefix}systems", each.systems) for prefix, each in _named(campaign)]
    problems = [
        f"key {key!r}: unknown system {name!r}. Valid choices: {known}."
        for key, names in lists
        for name in names
        if name not in SYSTEMS
    ]
    problems += [
        f"key '{prefix}durability': unknown level {level!r}. Valid choices: {', '.join(DURABILITY)}."
        for prefix, each in _named(campaign)
        for level in each.durability
        if level not in DURABILITY
    ]
    problems += [
        f"key '{prefix}absent.{name}': samebox has {name}: take it out of 'absent'."
        for prefix, each in _named(campaign)
        for name in each.absent
        if name in SYSTEMS
    ]
    problems += [
        f"key 'settings.{name}': unknown system. Valid choices: {known}."
        for name in campaign.settings
        if name not in SYSTEMS
    ]
    if campaign.system_profile not in all_profiles():
        valid = ", ".join(all_profiles())
        problems.append(f"key 'system_profile': unknown profile {campaign.system_profile!r}. Valid choices: {valid}.")
    return [*problems, *wrong_client_settings(campaign.settings)]


def _repeats(campaign: Campaign) -> list[str]:
    lists: dict[str, list[Any]] = {"systems": list(campaign.systems)}
    for prefix, each in _named(campaign):
        lists[f"{prefix}durability"] = list(each.durability)
        lists[f"{prefix}workloads"] = [workload.name for workload in each.workloads]
    problems = [f"key {key!r}: at least one entry is needed." for key, values in lists.items() if not values]
    lists["experiments"] = [each.id for each in campaign.questions]
    names = [workload.name for each in campaign.questions for workload in each.workloads]
    lists["workloads"] = names  # a trial is called by its workload: over all experiments
    for key, values in lists.items():
        problems += [
            f"key {key!r}: {value} is listed twice." for value in sorted({v for v in values if values.count(v) > 1})
        ]
    return list(dict.fromkeys(problems))


def _representatives(campaign: Campaign) -> list[str]:
    problems = []
    for prefix, each in _named(campaign):
        if each.representative is None:
            continue
        workloads = [workload.name for workload in each.workloads]
        if each.representative.workload not in workloads:
            problems.append(f"key '{prefix}representative.workload': valid choices: {', '.join(workloads)}.")
        if each.representative.durability not in each.durability:
            problems.append(f"key '{prefix}representative.durability': valid choices: {', '.join(each.durability)}.")
    return problems


def empty_cells(campaign: Campaign) -> tuple[EmptyCell, ...]:
    """What of the experiments stays empty, and why; a level is never silently replaced by another."""
    found = []
    for each in campaign.questions:
        found += [EmptyCell(each.id, system, None, reason) for system, reason in each.absent.items()]
        found += [
            EmptyCell(each.id, system, level, SYSTEMS[system].cannot[level])
            for level in each.durability
            for system in campaign.systems_of(each)
            if level not in SYSTEMS[system].durability
        ]
    return tuple(found)


def order_of(campaign: Campaign) -> tuple[TrialSpec, ...]:
    """All trials in the order they run: blocks in turn; in a block each experiment, workload and promise; in that, everything
    that makes the same promise back to back: every system, and every variant of the level that it has.

    `alternate` reverses these in every second block, `random` shuffles them by the seed, `fixed` keeps the file's order
    (which confounds the system with disk fill and time of day, and is flagged in the report).
    """
    shuffler = random.Random(campaign.seed)
    trials = []
    for block in range(1, campaign.blocks + 1):
        for each in campaign.questions:
            for compared, workload in product(_promises(each.durability), each.workloads):
                cells = [
                    (system, name)
                    for system in campaign.systems_of(each)
                    for name in compared
                    if name in SYSTEMS[system].durability
                ]
                if campaign.order == "alternate" and block % 2 == 0:
                    cells.reverse()
                elif campaign.order == "random":
                    shuffler.shuffle(cells)
                for position, (system, name) in enumerate(cells, start=1):
                    trial = f"b{block:02d}-{position}-{system}-l{name}-{workload.name}"
                    trials.append(TrialSpec(trial, block, position, system, name, workload, each.id))
    return tuple(trials)


def _promises(names: Sequence[str]) -> list[list[str]]:
    """Durabilities grouped by the level that they promise, in the order of the file."""
    levels = dict.fromkeys(DURABILITY[name].level for name in names)
    return [[name for name in names if DURABILITY[name].level == level] for level in levels]


def representative_of(campaign: Campaign) -> Campaign:
    """The campaign with one durability and one workload of every experiment: the declared ones, else the first."""
    return replace(
        campaign, experiments=tuple(_representative(each) for each in campaign.questions), workloads=(), durability=()
    )


def _representative(experiment: Experiment) -> Experiment:
    chosen = experiment.representative or Representative(experiment.durability[0], experiment.workloads[0].name)
    workloads = tuple(workload for workload in experiment.workloads if workload.name == chosen.workload)
    return replace(experiment, durability=(chosen.durability,), workloads=workloads)
