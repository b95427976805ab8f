"""Every durability level of every system, each with one of its profiles, on real clusters: what is promised is what runs."""

from __future__ import annotations

from itertools import cycle

import pytest

from bench.campaign.campaign import Campaign
from bench.campaign.contestant import plain
from bench.campaign.order import TrialSpec
from bench.campaign.prepared import plan_of
from bench.campaign.testbed_profile import load_profile
from contract.workload import Workload
from provisioning.cache import user_cache
from provisioning.hosts import daemons
from provisioning.hosts.host import on_all
from provisioning.hosts.ssh import SshHost
from provisioning.reset.wiping import wipe
from provisioning.software.store import Store
from systems.profile import profile_names
from systems.registry import SYSTEMS, software
from systems.settings import drift
from tests.given import archives_of

pytestmark = [pytest.mark.integration, pytest.mark.truth]
WORKLOAD = Workload("levels", 100, 1024, 1.0, partitions=2)
CELLS = [
    (system, durability, profile)
    for system, entry in SYSTEMS.items()
    if entry.software  # of others an archive must be given: tests/truth/test_<system>.py
    for durability, profile in zip(entry.levels, cycle(reversed(profile_names(entry.profiles))), strict=False)
]


@pytest.mark.parametrize(("system", "durability", "profile"), CELLS)
def test_what_the_level_and_the_profile_ask_for_is_what_runs(
    system: str, durability: str, profile: str, hosts: dict[str, SshHost]
) -> None:
    """The cluster starts on a small machine, and no process, topic or namespace differs from what was rendered."""
    start_and_compare(system, durability, profile, hosts)


def start_and_compare(system: str, durability: str, profile: str, hosts: dict[str, SshHost]) -> None:
    """Starts a system at a level with a profile, and asks it for what it has."""
    campaign = Campaign(
        schema=1, name="levels", question="Is it so?", seed=1, systems=(system,), blocks=1,
        durability=(durability,), workloads=(WORKLOAD,), system_profile=profile,
    )  # fmt: skip
    trial = f"b01-1-{system}-l{durability}-levels"
    spec = TrialSpec(trial, 1, 1, plain(system), durability, WORKLOAD, "levels")
    everyone = tuple(hosts.values())
    brokers = [host for host in everyone if host.record.role == "broker"]
    daemons.stop_everything(everyone)
    on_all("emptying data directories", brokers, wipe)
    deployment = SYSTEMS[system].deployment(everyone, Store(user_cache(), software(archives_of(system))))
    try:
        deployment.install()
        intended = deployment.configure(plan_of(spec, campaign, load_profile("local")))
        deployment.start()
        deployment.create_topics()
        assert drift(intended, deployment.effective_settings()) == ()
        assert list(deployment.under_replicated()) == []
    finally:
        daemons.stop_everything(everyone)
        on_all("emptying data directories", brokers, wipe)
