"""A campaign as its file says it: blocks of trials, one seed, one question."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

from bench.campaign.blocks import Block, Order, blocks_of
from bench.campaign.contestant import Contestant, plain
from bench.campaign.scale import Scale
from contract.durability import DEFAULT_REPLICATION_FACTOR
from contract.workload import Workload
from provisioning.document import printable
from systems.registry import SYSTEMS, release_of
from systems.settings import Settings, merged

NAME_LENGTH = 64
LARGEST_SEED = 2**63 - 1  # what an integer of TOML holds
Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=NAME_LENGTH)]
ExperimentId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9-]*$", max_length=NAME_LENGTH)]
# told at the terminal and in the report
Sentence = Annotated[str, AfterValidator(printable)]
# looked for beside the campaign, and copied beside its results, where it must be no other file's name
SourceName = Annotated[str, StringConstraints(pattern=r"^omb-[a-z0-9-]+\.yaml$")]
# a level without a variant is written as a number: durability = [1, 2, "2-bypass"]
DurabilityName = Annotated[str, BeforeValidator(lambda value: str(value) if isinstance(value, int) else value)]


def slug_of(text: str) -> str:
    """A text as a campaign or a workload may be called; empty if nothing of it can be."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:NAME_LENGTH].strip("-")


@dataclass(frozen=True)
class Representative:
    """What stands for an experiment where time is short: one workload, at one promise (in all its variants, where it says so)."""

    durability: tuple[DurabilityName, ...]
    workload: str


@dataclass(frozen=True)
class Experiment:
    """Workloads at durability levels that answer one question of a campaign; `id` is that of the published experiment.

    `systems` (`contestants` in a campaign that has such): those of the campaign, unless named here. `durability_of`: the levels of
    one that wasn't run at all of `durability`. `absent`: systems that the published experiment had and samebox hasn't, each with
    the reason. `differs`: what is done in another way than published, one sentence each.
    """

    id: ExperimentId
    title: Sentence
    durability: tuple[DurabilityName, ...]
    workloads: tuple[Workload, ...]
    systems: tuple[str, ...] = ()
    contestants: tuple[str, ...] = ()
    durability_of: Mapping[str, tuple[DurabilityName, ...]] = field(default_factory=dict)
    absent: Mapping[str, Sentence] = field(default_factory=dict)
    differs: tuple[Sentence, ...] = ()
    representative: Representative | None = None

    def asks(self, contestant: Contestant, durability: str) -> bool:
        """Whether a contestant is to be run at one of the durabilities."""
        return durability in self.durability_of.get(contestant.name, self.durability)

    def runs(self, contestant: Contestant, durability: str) -> bool:
        """Whether it is: one that can't give a durability, or can't take any of the workloads at it, leaves its cell empty."""
        return self.asks(contestant, durability) and self.why_empty(contestant, durability) is None

    def why_empty(self, contestant: Contestant, durability: str) -> str | None:
        """Why a contestant can't be run at one of the durabilities; None = it can."""
        name, release = contestant.durability(durability), release_of(contestant.system, contestant.version)
        return SYSTEMS[contestant.system].why_empty(name, self.workloads) or release.why_not(name)


@dataclass(frozen=True)
class Campaign:
    """Blocks of trials, one seed, one question: about `workloads` at levels of `durability`, or about several `experiments`.

    `systems`: what is compared, each as it is; or `contestants`, where one differs from another by more than its system.
    `aa_blocks`: blocks in which one of them is run against itself, beside `blocks`, in which all are compared.
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
    blocks: Annotated[int, Field(ge=1, le=1000)]
    systems: tuple[str, ...] = ()
    contestants: tuple[Contestant, ...] = ()
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

    @property
    def compared(self) -> tuple[Contestant, ...]:
        """Who is compared: the contestants, of `systems` one each."""
        return self.contestants or tuple(plain(name) for name in self.systems)

    @property
    def all_systems(self) -> tuple[str, ...]:
        """The systems of all contestants, each once."""
        return tuple(dict.fromkeys(each.system for each in self.compared))

    def settings_of(self, contestant: Contestant) -> Settings:
        """The single settings that a contestant gets: the campaign's of its system, and its own over them."""
        return merged(self.settings.get(contestant.system, {}), contestant.own_settings)

    def profile_name(self, contestant: Contestant) -> str:
        """Whose settings a contestant gets."""
        return contestant.profile or self.system_profile

    def compared_in(self, experiment: Experiment) -> tuple[Contestant, ...]:
        """Who takes part in an experiment, in its order."""
        named, by_name = experiment.contestants or experiment.systems, {each.name: each for each in self.compared}
        # one whose software isn't here is named, and not compared
        return tuple(by_name[name] for name in named if name in by_name) if named else self.compared
