"""A campaign without the systems whose software isn't there: their cells stay empty, with what would fill them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from bench.campaign.campaign import Campaign, Experiment
from bench.campaign.contestant import Contestant
from bench.campaign.order import order_of
from provisioning.errors import MissingRequirement
from systems.registry import SYSTEMS, lacking


def of_what_is_there(campaign: Campaign, given: Collection[str]) -> Campaign:
    """The campaign as it can be run. `given`: systems of which the operator has given an archive.

    Raises MissingRequirement where nothing is left of it.
    """
    absent = {name: command for name, command in lacking(given).items() if name in campaign.all_systems}
    if not absent:
        return campaign
    found = replace(
        campaign,
        systems=tuple(name for name in campaign.systems if name not in absent),
        contestants=tuple(each for each in campaign.contestants if each.system not in absent),
        experiments=tuple(_without(each, campaign.compared_in(each), absent) for each in campaign.questions),
        durability=(),
        workloads=(),
    )
    if not order_of(found):
        raise MissingRequirement(
            f"none of its trials can run: {'; '.join(f'{name}: {reason(name)}' for name in absent)}.",
            next_step="; ".join(absent.values()),
        )
    return found


def reason(system: str, command: str = "") -> str:
    """Why a system's cells are empty, and the command that would change it."""
    said = f"the archive of {system} isn't here, and it can't be fetched"
    return f"{said}: {command}" if command else said


def untried(campaign: Campaign) -> dict[str, str]:
    """Systems of a campaign, absent ones among them, that samebox's makers never ran -> what of them."""
    named = {*campaign.all_systems, *(name for each in campaign.questions for name in each.absent)}
    return {name: system.untried for name, system in SYSTEMS.items() if name in named and system.untried}


def _without(experiment: Experiment, compared: Collection[Contestant], absent: dict[str, str]) -> Experiment:
    concerned = {each.name: each.system for each in compared if each.system in absent}
    reasons = {name: reason(system, absent[system]) for name, system in concerned.items()}
    return replace(
        experiment,
        absent={**experiment.absent, **reasons},
        # where an experiment names those who take part, they stay named: none at all would mean all of the campaign's
        durability_of={**experiment.durability_of, **dict.fromkeys(concerned, ())},
    )
