"""A campaign as its file says it, and the trials that follow from it in their order.

`order_of` is a pure function of the campaign: the same file and seed give the same trials in the same order, anywhere.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

from bench.campaign.blocks import Block, BlockKind, Order, blocks_of, places_in
from bench.campaign.scale import Scale
from bench.campaign.system_settings import all_profiles, wrong_client_settings
from contract.durability import DEFAULT_REPLICATION_FACTOR
from contract.workload import Workload
from provisioning.document import parse_document, printable
from provisioning.errors import InvalidInput
from systems.registry import DURABILITY, SYSTEMS

CAMPAIGN_SCHEMA = 1
NAME_LENGTH = 64
LARGEST_SEED = 2**63 - 1  # what an integer of TOML holds
Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=NAME_LENGTH)]
ExperimentId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9-]*$", max_length=NAME_LENGTH)]
# told at the terminal and in the report
Sentence = Annotated[str, AfterValidator(printable)]
# looked for beside the campaign, and copied beside its results, where it must be no other file's name
SourceName = Annotated[str, StringConstraints(pattern=r"^omb-[a-z0-9-]+\.yaml$")]
GeneratorName = Literal["samebox", "native"]
# a level without a variant is written as a number: durability = [1, 2, "2-bypass"]
DurabilityName = Annotated[str, BeforeValidator(lambda value: str(value) if isinstance(value, int) else value)]


@dataclass(frozen=True)
class Representative:
    """What stands for an experiment where time is short: one workload, at one promise (in all its variants, where it says so)."""

    durability: tuple[DurabilityName, ...]
    workload: str


@dataclass(frozen=True)
class Experiment:
    """Workloads at durability levels that answer one question of a campaign; `id` is that of the published experiment.

    `systems`: those of the campaign, unless named here. `durability_of`: the levels of a system that wasn't run at all of
    `durability`. `absent`: systems that the published experiment had and samebox hasn't, each with the reason. `differs`:
    what is done in another way than published, one sentence each.
    """

    id: ExperimentId
    title: Sentence
    durability: tuple[DurabilityName, ...]
    workloads: tuple[Workload, ...]
    systems: tuple[str, ...] = ()
    durability_of: Mapping[str, tuple[DurabilityName, ...]] = field(default_factory=dict)
    absent: Mapping[str, Sentence] = field(default_factory=dict)
    differs: tuple[Sentence, ...] = ()
    representative: Representative | None = None

    def asks(self, system: str, durability: str) -> bool:
        """Whether a system is to be run at one of the durabilities."""
        return durability in self.durability_of.get(system, self.durability)

    def runs(self, system: str, durability: str) -> bool:
        """Whether it is: a system that can't give a durability, or can't take any of the workloads at it, leaves its cell empty."""
        return self.asks(system, durability) and SYSTEMS[system].why_empty(durability, self.workloads) is None


@dataclass(frozen=True)
class Campaign:
    """Blocks of trials, one seed, one question: about `workloads` at levels of `durability`, or about several `experiments`.

    `aa_blocks`: blocks in which one system is run against itself, beside `blocks`, in which all are compared.
    `system_profile`: whose settings the systems get. `checks` overrides bounds of the testbed's profile, check name -> bound ->
    value; `settings` single settings, system -> component -> key -> value. `scales`: how to shrink it, by name. `differs`: what
    is done in another way than published in all its experiments. `sources`: the files beside it that it was made from, name ->
    SHA-256. `cross_check`: whether each trial is run once more by the system's own load tools, as far as they can.
    `replication_factor`: in how many copies every topic is kept; `brokers`: how many broker hosts it is for (None = as many as there
    are, on the local testbed three).
    `revet_every_h`: how often disks are probed again in a campaign that takes at least so long (`bench.run.revetting`).
    """

    schema: int
    name: Slug
    question: Sentence
    seed: Annotated[int, Field(ge=0, le=LARGEST_SEED)]
    systems: tuple[str, ...]
    blocks: Annotated[int, Field(ge=1, le=1000)]
    aa_blocks: Annotated[int, Field(ge=0, le=1000)] = 0
    durability: tuple[DurabilityName, ...] = ()
    workloads: tuple[Workload, ...] = ()
    experiments: tuple[Experiment, ...] = ()
    order: Order = "alternate"
    system_profile: str = "vendor-default"
    checks: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    settings: Mapping[str, Mapping[str, Mapping[str, str]]] = field(default_factory=dict)
    scales: Mapping[str, Scale] = field(default_factory=dict)
    sources: Mapping[SourceName, str] = field(default_factory=dict)
    differs: tuple[Sentence, ...] = ()
    cross_check: bool = False
    replication_factor: Annotated[int, Field(ge=1, le=9)] = DEFAULT_REPLICATION_FACTOR
    brokers: Annotated[int | None, Field(ge=1, le=99)] = None
    revet_every_h: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 4.0

    @property
    def questions(self) -> tuple[Experiment, ...]:
        """The experiments; a campaign of one question is one, called by the campaign's name."""
        if self.experiments:
            return self.experiments
        return (Experiment(self.name, self.question, self.durability, self.workloads),)

    @property
    def all_blocks(self) -> tuple[Block, ...]:
        """Both kinds, in the order they run."""
        return blocks_of(self.blocks, self.aa_blocks)

    def systems_of(self, experiment: Experiment) -> tuple[str, ...]:
        """The systems that take part in an experiment."""
        return experiment.systems or self.systems


@dataclass(frozen=True)
class TrialSpec:
    """One system x durability x workload in one block. `position` is its place among the trials compared in it, from 1.

    `generator`: what makes the load. A native trial has the position of the trial that it checks. `seed`: the campaign's, of this
    block.
    """

    trial: str
    block: int
    position: int
    system: str
    durability: str
    workload: Workload
    experiment: str
    generator: GeneratorName = "samebox"
    block_kind: BlockKind = "A/B"
    replication_factor: int = DEFAULT_REPLICATION_FACTOR
    seed: int = 0

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
    problems = [*_wrong(campaign), *_wrong_sources(campaign, path.parent)]
    for at, each in enumerate(campaign.questions):
        problems += _wrong_experiment(campaign, each, f"experiments.{at}." if campaign.experiments else "")
    if not problems and not order_of(campaign):
        cells = [cell for cell in empty_cells(campaign) if cell.durability is not None]
        problems = [
            f"none of its trials can run: {cell.system} at level {cell.durability}: {cell.reason}" for cell in cells
        ]
    if problems:
        raise InvalidInput("\n".join(f"{path}: {problem}" for problem in dict.fromkeys(problems)))
    return campaign


def _wrong(campaign: Campaign) -> Iterator[str]:
    """What of the campaign as a whole can't be."""
    known = ", ".join(sorted(SYSTEMS))
    if campaign.experiments and (campaign.workloads or campaign.durability):
        yield "give either 'experiments' (each with its own durability and workloads) or 'durability' and 'workloads'."
    if not campaign.systems:
        yield "key 'systems': at least one entry is needed."
    lists = {
        "systems": campaign.systems,
        "experiments": [each.id for each in campaign.questions],
        # a trial is named by its workload: over all experiments
        "workloads": [workload.name for each in campaign.questions for workload in each.workloads],
    }
    for key, names in lists.items():
        yield from _listed_twice(key, names)
    for name in campaign.systems:
        if name not in SYSTEMS:
            yield f"key 'systems': unknown system {name!r}. Valid choices: {known}."
    for name in campaign.settings:
        if name not in SYSTEMS:
            yield f"key 'settings.{name}': unknown system. Valid choices: {known}."
    if campaign.system_profile not in all_profiles():
        valid = ", ".join(all_profiles())
        yield f"key 'system_profile': unknown profile {campaign.system_profile!r}. Valid choices: {valid}."
    yield from wrong_client_settings(campaign.settings)


def _wrong_experiment(campaign: Campaign, each: Experiment, prefix: str) -> Iterator[str]:
    """What of an experiment can't be; `prefix`: what its keys start with in the file."""
    systems, levels = campaign.systems_of(each), ", ".join(each.durability)
    workloads = [workload.name for workload in each.workloads]
    for key, names in {"durability": each.durability, "workloads": workloads}.items():
        if not names:
            yield f"key '{prefix}{key}': at least one entry is needed."
        if prefix or key == "durability":
            yield from _listed_twice(f"{prefix}{key}", names)
    for name in each.systems:
        if name not in SYSTEMS:
            yield f"key '{prefix}systems': unknown system {name!r}. Valid choices: {', '.join(sorted(SYSTEMS))}."
        elif name not in campaign.systems:
            yield f"key '{prefix}systems': {name} is not one of the campaign's own: {', '.join(campaign.systems)}."
    for level in each.durability:
        if level not in DURABILITY:
            yield f"key '{prefix}durability': unknown level {level!r}. Valid choices: {', '.join(DURABILITY)}."
    runs = [name for name in systems if name in SYSTEMS and any(each.runs(name, level) for level in each.durability)]
    for (at, workload), name in product(enumerate(each.workloads), runs):
        if workload.compression not in (known := SYSTEMS[name].compressions):
            yield (
                f"key '{prefix}workloads.{at}.compression': the client of {name} doesn't know {workload.compression!r}, only "
                f"{', '.join(known)}. Change it, or leave {name} out of 'systems'."
            )
        for name, level in product(runs, each.durability):
            if each.runs(name, level) and (reason := SYSTEMS[name].cannot_load(level, workload)):
                yield f"key '{prefix}workloads.{at}': {name} can't take it at level {level}, but others here: {reason}."
    for name, own in each.durability_of.items():
        if name not in systems or not set(own) <= set(each.durability):
            yield (
                f"key '{prefix}durability_of.{name}': only systems and levels of the experiment are valid here: "
                f"{', '.join(systems)}; {levels}."
            )
    for name in each.absent:
        if name in SYSTEMS:
            yield f"key '{prefix}absent.{name}': samebox has {name}; remove it from 'absent'."
    chosen = each.representative
    if chosen is not None and chosen.workload not in workloads:
        yield f"key '{prefix}representative.workload': valid choices: {', '.join(workloads)}."
    if chosen is not None and not (chosen.durability and set(chosen.durability) <= set(each.durability)):
        yield f"key '{prefix}representative.durability': valid choices: {levels}."


def _listed_twice(key: str, names: Sequence[str]) -> list[str]:
    return [f"key {key!r}: {name} is listed twice." for name in sorted(set(names)) if names.count(name) > 1]


def _wrong_sources(campaign: Campaign, folder: Path) -> Iterator[str]:
    for name, sha256 in campaign.sources.items():
        source = folder / name
        if not source.is_file():
            yield f"key 'sources.{name}': no such file beside the campaign."
        elif hashlib.sha256(source.read_bytes()).hexdigest() != sha256:
            yield f"key 'sources.{name}': {source} isn't the file that the campaign was made from: its SHA-256 differs."


def empty_cells(campaign: Campaign) -> tuple[EmptyCell, ...]:
    """What of the experiments stays empty, and why; a level is never silently replaced by another."""
    found = []
    for each in campaign.questions:
        found += [EmptyCell(each.id, system, None, reason) for system, reason in each.absent.items()]
        found += [
            EmptyCell(each.id, system, level, reason)
            for level in each.durability
            for system in campaign.systems_of(each)
            if each.asks(system, level) and (reason := SYSTEMS[system].why_empty(level, each.workloads)) is not None
        ]
    return tuple(found)


def order_of(campaign: Campaign) -> tuple[TrialSpec, ...]:
    """All trials in the order they run: blocks in turn; in a block each experiment, workload and promise; in that, everything
    that makes the same promise back to back: every system, and every variant of the level that it has.

    `alternate` reverses these in every second block, `random` shuffles them by the seed, `fixed` keeps the file's order
    (which confounds the system with disk fill and time of day, and is flagged in the report). A/A blocks change none of that.
    """
    shuffler = random.Random(campaign.seed)
    trials = []
    for block in campaign.all_blocks:
        for each in campaign.questions:
            for compared, workload in product(_promises(each.durability), each.workloads):
                contestants = [
                    (system, name)
                    for system in campaign.systems_of(each)
                    for name in compared
                    if each.runs(system, name)
                ]
                places = places_in(block, contestants, campaign.order, shuffler) if contestants else []
                for position, (system, name) in enumerate(places, start=1):
                    trial = f"{block.name}-{position}-{system}-l{name}-{workload.name}"
                    trials.append(
                        TrialSpec(
                            trial,
                            block.number,
                            position,
                            system,
                            name,
                            workload,
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
