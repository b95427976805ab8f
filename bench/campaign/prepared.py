"""A campaign checked against its kind of testbed before anything is started, and what each of its trials deploys."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.campaign.available import of_what_is_there
from bench.campaign.campaign import Campaign
from bench.campaign.choice import WHOLE, Choice
from bench.campaign.cross_check import with_native_trials
from bench.campaign.on_paper import intended_on_paper
from bench.campaign.order import TrialSpec, order_of
from bench.campaign.system_settings import profile_of
from bench.campaign.testbed_profile import Check, Profile, checks_for, load_profile
from systems.deployment import Plan, Topic
from systems.registry import DURABILITY, SYSTEMS
from systems.settings import Settings, merged

TOPIC, PROBE_TOPIC = "samebox", "samebox-probe"
OF_FAULTS = frozenset({"faults-took-effect"})  # checks that judge nothing where no workload has faults


@dataclass(frozen=True)
class Prepared:
    """A campaign, as much of it as was chosen, checked against its testbed: nothing has been started yet.

    `intended`: contestant -> the settings of its first trial, on hosts that aren't there yet.
    """

    campaign: Campaign
    choice: Choice
    campaign_file: Path
    profile: Profile
    checks: tuple[Check, ...]
    trials: tuple[TrialSpec, ...]
    intended: Mapping[str, Settings]


def prepare(
    campaign: Campaign, campaign_file: Path, testbed_kind: str, choice: Choice = WHOLE, given: Collection[str] = ()
) -> Prepared:
    """Everything that can be refused without a testbed. `given`: systems of which the operator has given an archive.

    Raises InvalidInput, MissingRequirement.
    """
    profile = load_profile(testbed_kind)
    checks = checks_for(profile, campaign.checks, where=str(campaign_file))
    chosen = of_what_is_there(choice.of(campaign, where=str(campaign_file)), given)
    trials = order_of(chosen)
    intended = intended_on_paper(
        trials, lambda spec: plan_of(spec, chosen, profile), chosen.brokers, given, where=str(campaign_file)
    )
    if chosen.cross_check:
        trials = with_native_trials(trials, where=str(campaign_file))
    if not has_faults(trials):
        checks = tuple(check for check in checks if check.check not in OF_FAULTS)
    return Prepared(chosen, choice, campaign_file, profile, checks, trials, intended)


def has_faults(trials: Iterable[TrialSpec]) -> bool:
    """Whether something is broken on purpose in any of them."""
    return any(spec.workload.faults for spec in trials)


def plan_of(spec: TrialSpec, campaign: Campaign, profile: Profile) -> Plan:
    """What a trial asks of its deployment, laid over each other: the testbed's profile, the system's, the campaign's settings, and
    what its contestant has of its own.
    """
    workload, contestant = spec.workload, spec.contestant
    names = [TOPIC] if workload.topics == 1 else [f"{TOPIC}-{number}" for number in range(workload.topics)]
    own = profile_of(spec.system, campaign.profile_name(contestant), profile.broker_memory_bytes)
    memory_bytes = profile.system_memory_bytes or profile.broker_memory_bytes
    return Plan(
        durability=DURABILITY[spec.durability],
        topics=tuple(Topic(name, workload.partitions) for name in names),
        probe=Topic(PROBE_TOPIC, 1),
        memory=merged(SYSTEMS[spec.system].memory.for_hosts(memory_bytes), own.memory, contestant.memory),
        overrides=merged(own.settings, campaign.settings_of(contestant)),
        daemon_niceness=profile.daemon_niceness,
        replication_factor=spec.replication_factor,
    )
