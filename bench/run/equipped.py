"""A campaign's hosts found fit for it, and given what they lack: software, and a Python for the workers."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.campaign.campaign import Campaign, TrialSpec
from bench.campaign.host_rules import checks_on
from bench.campaign.prepared import Prepared
from bench.campaign.space import check_space
from bench.load.client_hosts import deploy_client
from bench.progress import Reporter, Step
from bench.run.trial import plan_of
from provisioning.cache import user_cache
from provisioning.errors import InvalidInput
from provisioning.hosts import facts
from provisioning.hosts.host import Host
from provisioning.hosts.inventory import Inventory
from provisioning.hosts.requirement import distinct, require, versions
from provisioning.software.delivery import DIRECT
from provisioning.software.store import Store
from provisioning.testbeds.aws.by_bucket import ByBucket
from systems.load_tool import NativeTool
from systems.registry import SYSTEMS, requirements, software
from systems.settings import Settings

SOFTWARE_STEP = Step("software onto the hosts", 20.0)


@dataclasses.dataclass(frozen=True)
class Equipped:
    """A campaign whose hosts were found fit and have all they need: profile and checks are of these hosts, `pythons` run workers.

    `programs`: host -> what its systems need there -> which version it has.
    `intended`: each system's settings as its first trial has them.
    """

    prepared: Prepared
    facts: Mapping[str, facts.Facts]
    programs: Mapping[str, Mapping[str, str]]
    pythons: Mapping[str, str]
    intended: Mapping[str, Settings]


def equip(prepared: Prepared, hosts: Sequence[Host], store: Store, reporter: Reporter) -> Equipped:
    """Reads the hosts' facts, refuses too little disk, what a system needs and a host lacks, and settings that it can't have, and
    brings the software and the client's Python to where they are missing."""
    found = facts.read_facts(hosts)
    clients = [host for host in hosts if host.record.role == "client"]
    tools = native_tools(prepared.trials)
    needed = distinct([*requirements(prepared.campaign.systems), *(one for tool in tools for one in tool.requirements)])
    for role in dict.fromkeys(host.record.role for host in hosts):
        of_role = [host for host in hosts if host.record.role == role]
        require(of_role, [one for one in needed if role in one.roles])
    brokers = [host for host in hosts if host.record.role == "broker"]
    _require_brokers(prepared.campaign, len(brokers))
    check_space(prepared.trials, brokers)
    prepared = dataclasses.replace(
        prepared,
        profile=prepared.profile.for_hosts(memory_per_broker(brokers, found)),
        checks=checks_on(prepared.checks, [host.record for host in hosts]),
    )
    intended: dict[str, Settings] = {}
    for spec in prepared.trials:
        deployment = SYSTEMS[spec.system].deployment(hosts, store)
        settings = deployment.intended_settings(plan_of(spec, prepared.campaign, prepared.profile))
        intended.setdefault(spec.system, settings)
    reporter.step(SOFTWARE_STEP.title)
    pythons = deploy_client(clients, user_cache(), reporter.detail, store.way)
    for name in prepared.campaign.systems:
        SYSTEMS[name].deployment(hosts, store).install()
    for tool in tools:
        for name in tool.software:
            store.deploy(name, clients)
    return Equipped(prepared, found, versions(hosts, needed), pythons, intended)


def _require_brokers(campaign: Campaign, found: int) -> None:
    """Raises InvalidInput where the testbed isn't of the size that the campaign is for."""
    if campaign.brokers not in (None, found):
        raise InvalidInput(
            f"the campaign is for brokers = {campaign.brokers}, and the testbed has {found}.",
            next_step=f"samebox up --brokers {campaign.brokers} makes a local one of that size.",
        )


def native_tools(trials: Sequence[TrialSpec]) -> tuple[NativeTool, ...]:
    """The load tools that some trials are made by."""
    systems = dict.fromkeys(spec.system for spec in trials if spec.generator == "native")
    tools = (SYSTEMS[name].native_tool for name in systems)
    return tuple(tool for tool in tools if tool is not None)


def store_for(inventory: Inventory, tarballs: Mapping[str, Path], reporter: Reporter) -> Store:
    """The store whose software goes to these hosts: by their bucket where they have one, else to each of them."""
    bucket = inventory.records_bucket
    way = ByBucket(bucket.name, bucket.region, reporter.detail) if bucket is not None else DIRECT
    return Store(user_cache(), software(tarballs), notice=reporter.detail, way=way)


def software_of(campaign: Campaign, store: Store) -> dict[str, dict[str, str]]:
    """Which software the campaign's systems are."""
    return {name: {"version": store.version(name), "sha256": store.digest(name)} for name in campaign.systems}


def memory_per_broker(brokers: Sequence[Host], found: Mapping[str, facts.Facts]) -> int | None:
    """The memory of the smallest broker host; hosts on one machine share its memory. None = one doesn't tell."""
    on_machine = Counter(found[host.name].boot_id for host in brokers)
    sizes = [(found[host.name].memory_bytes or 0) // on_machine[found[host.name].boot_id] for host in brokers]
    return min(sizes, default=0) or None
