"""A campaign's hosts found fit for it, and given what they lack: software, and a Python for the workers."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.campaign import Campaign
from bench.host_rules import checks_on
from bench.prepared import Prepared
from bench.progress import Reporter, Step
from bench.space import check_space
from bench.systems import SYSTEMS
from bench.trial import plan_of
from provisioning import facts
from provisioning.aws.by_bucket import ByBucket
from provisioning.errors import MissingRequirement
from provisioning.host import Host
from provisioning.inventory import Inventory
from provisioning.settings import Settings
from provisioning.software.client_environment import deploy_client
from provisioning.software.maven import user_cache
from provisioning.software.store import Store
from provisioning.software.way import DIRECT

OLDEST_JAVA = 17
SOFTWARE_STEP = Step("software onto the hosts", 20.0)


@dataclasses.dataclass(frozen=True)
class Equipped:
    """A campaign whose hosts were found fit and have all they need: profile and checks are of these hosts, `pythons` run workers.

    `intended`: each system's settings as its first trial has them.
    """

    prepared: Prepared
    facts: Mapping[str, facts.Facts]
    pythons: Mapping[str, str]
    intended: Mapping[str, Settings]


def equip(prepared: Prepared, hosts: Sequence[Host], store: Store, reporter: Reporter) -> Equipped:
    """Reads the hosts' facts, refuses too little disk, too old a Java and settings that a system can't have, and brings the
    software and the client's Python to where they are missing."""
    found = facts.read_facts(hosts)
    require_java([host for host in hosts if host.record.role != "client"], found, why="brokers need it")
    clients = [host for host in hosts if host.record.role == "client"]
    native_systems = dict.fromkeys(spec.system for spec in prepared.trials if spec.generator == "native")
    if native_systems:
        require_java(clients, found, why="the load tools of cross_check = true need it")
    brokers = [host for host in hosts if host.record.role == "broker"]
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
    for name in native_systems:
        for bundle in SYSTEMS[name].native_tool.bundles:
            store.deploy(bundle, clients)
    return Equipped(prepared, found, pythons, intended)


def store_for(inventory: Inventory, tarballs: Mapping[str, Path], reporter: Reporter) -> Store:
    """The store whose software goes to these hosts: by their bucket where they have one, else to each of them."""
    bucket = inventory.records_bucket
    way = ByBucket(bucket.name, bucket.region, reporter.detail) if bucket is not None else DIRECT
    return Store(user_cache(), tarballs=tarballs, notice=reporter.detail, way=way)


def software_of(campaign: Campaign, store: Store) -> dict[str, dict[str, str]]:
    """Which software the campaign's systems are."""
    return {name: {"version": store.version(name), "sha256": store.digest(name)} for name in campaign.systems}


def memory_per_broker(brokers: Sequence[Host], found: Mapping[str, facts.Facts]) -> int | None:
    """The memory of the smallest broker host; hosts on one machine share its memory. None = one doesn't tell."""
    on_machine = Counter(found[host.name].boot_id for host in brokers)
    sizes = [(found[host.name].memory_bytes or 0) // on_machine[found[host.name].boot_id] for host in brokers]
    return min(sizes, default=0) or None


def require_java(hosts: Sequence[Host], found: Mapping[str, facts.Facts], *, why: str) -> None:
    """Raises MissingRequirement naming every host whose Java is too old or missing."""
    unfit = [
        f"{host.name} has {found[host.name].java or 'none'}"
        for host in hosts
        if _major(found[host.name].java) < OLDEST_JAVA
    ]
    if unfit:
        raise MissingRequirement(
            f"Java {OLDEST_JAVA} or newer must be on the PATH of these hosts ({why}): {', '.join(unfit)}.",
            next_step="Install one there, e.g. Debian's openjdk-17-jdk-headless.",
        )


def _major(version: str | None) -> int:
    return int(version.split(".")[0]) if version and version.split(".")[0].isdigit() else 0
