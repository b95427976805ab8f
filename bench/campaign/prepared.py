"""A campaign checked against its kind of testbed, before anything is started."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from bench.campaign.campaign import Campaign, TrialSpec, order_of
from bench.campaign.choice import WHOLE, Choice
from bench.campaign.cross_check import with_native_trials
from bench.campaign.testbed_profile import Check, Profile, checks_for, load_profile


@dataclasses.dataclass(frozen=True)
class Prepared:
    """A campaign, as much of it as was chosen, checked against its testbed: nothing has been started yet."""

    campaign: Campaign
    choice: Choice
    campaign_file: Path
    profile: Profile
    checks: tuple[Check, ...]
    trials: tuple[TrialSpec, ...]


def prepare(campaign: Campaign, campaign_file: Path, testbed_kind: str, choice: Choice = WHOLE) -> Prepared:
    """Everything that can be refused without a testbed. Raises InvalidInput."""
    profile = load_profile(testbed_kind)
    checks = checks_for(profile, campaign.checks, where=str(campaign_file))
    chosen = choice.of(campaign, where=str(campaign_file))
    trials = order_of(chosen)
    if chosen.cross_check:
        trials = with_native_trials(trials, where=str(campaign_file))
    return Prepared(chosen, choice, campaign_file, profile, checks, trials)
