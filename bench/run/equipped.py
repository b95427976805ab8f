"""A campaign's hosts found fit for it, and given what they lack: software, and a Python for the workers."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from bench.campaign.campaign import Campaign
from bench.campaign.contestant import Contestant
from bench.campaign.estimate import check_space
from bench.campaign.message_memory import check_message_memory
from bench.campaign.prepared import Prepared, plan_of
from bench.campaign.testbed_profile import checks_on
from bench.faults.possible import require_possible
from bench.load.client_hosts import deploy_client
from bench.load.collect import Upload
from bench.progress import Reporter, Step
from provisioning.cache import user_cache
from provisioning.errors import InvalidInput
from provisioning.hosts.facts import Facts, read_facts
from provisioning.hosts.host import Host
from provisioning.hosts.inventory import Inventory
from provisioning.hosts.requirement import Requirement, distinct, require, versions
from provisioning.reset.reset import DropCaches, drop_page_caches
from provisioning.software.delivery import DIRECT
from provisioning.software.store import Store
from provisioning.testbeds.aws.by_bucket import ByBucket
from systems.deployment import Deployment, Plan
from systems.registry import SYSTEMS, release_of, software
from systems.settings import Settings

SOFTWARE_STEP = Step("software onto the hosts", 20.0)


@dataclasses.dataclass(frozen=True)
class Equipped:
    """A campaign on connected hosts that were found fit and have all they need; its profile and checks are of these hosts.

    `programs`: host -> what its systems need there -> which version it has. `pythons` run workers, on client hosts.
    `software`: contestant -> its version and digest. `plans`: trial -> what it asks of its deployment. `intended`: each contestant's
    settings as its first trial has them. `upload`: how records go to a bucket; None = they are fetched.
    """

    prepared: Prepared
    hosts: tuple[Host, ...]
    store: Store
    facts: Mapping[str, Facts]
    programs: Mapping[str, Mapping[str, str]]
    pythons: Mapping[str, str]
    software: Mapping[str, Mapping[str, str]]
    plans: Mapping[str, Plan]
    intended: Mapping[str, Settings]
    upload: Upload | None = None
    drop_caches: DropCaches = drop_page_caches

    @property
    def campaign(self) -> Campaign:
        return self.prepared.campaign

    @property
    def clients(self) -> tuple[Host, ...]:
        return of_role(self.hosts, "client")

    def deployment(self, contestant: Contestant) -> Deployment:
        """A contestant's system on these hosts."""
        return SYSTEMS[contestant.system].deployment(self.hosts, self.store_of(contestant))

    def store_of(self, contestant: Contestant) -> Store:
        """Where its version of the software is."""
        return store_of(contestant, self.store)

    def in_order(self, names: Sequence[str]) -> Equipped:
        """The same hosts in another order."""
        return dataclasses.replace(self, hosts=tuple(sorted(self.hosts, key=lambda host: names.index(host.name))))


def of_role(hosts: Sequence[Host], role: str) -> tuple[Host, ...]:
    """Those with this role."""
    return tuple(host for host in hosts if host.record.role == role)


def equip(prepared: Prepared, hosts: Sequence[Host], store: Store, reporter: Reporter) -> Equipped:
    """Reads the hosts' facts, checks that they have the space and the programs that the campaign needs, renders each trial's
    settings to see that they can be, and deploys software and the workers' Python where they are missing.

    Raises InvalidInput, MissingRequirement, UnsupportedDurability, HostsFailed.
    """
    facts = read_facts(hosts)
    campaign, clients, brokers = prepared.campaign, of_role(hosts, "client"), of_role(hosts, "broker")
    cross_checked = dict.fromkeys(spec.contestant for spec in prepared.trials if spec.generator == "native")
    tools = [(each, tool) for each in cross_checked if (tool := SYSTEMS[each.system].native_tool) is not None]
    needed = distinct([*requirements_of(campaign.compared), *(one for _, tool in tools for one in tool.requirements)])
    for role in dict.fromkeys(host.record.role for host in hosts):
        require(of_role(hosts, role), [one for one in needed if role in one.roles])
    _require_brokers(campaign, len(brokers))
    check_space(prepared.trials, brokers)
    shared = share_a_machine(facts[host.name].boot_id for host in hosts)
    require_possible((spec.workload for spec in prepared.trials), hosts, shared=shared)
    prepared = dataclasses.replace(
        prepared,
        profile=prepared.profile.for_hosts(memory_per_broker(brokers, facts)),
        checks=checks_on(prepared.checks, [host.record for host in hosts]),
    )
    stores = {each.name: store_of(each, store) for each in campaign.compared}
    deployments = {each.name: SYSTEMS[each.system].deployment(hosts, stores[each.name]) for each in campaign.compared}
    plans = {spec.trial: plan_of(spec, campaign, prepared.profile) for spec in prepared.trials}
    check_message_memory(prepared.trials, plans)
    intended: dict[str, Settings] = {}
    for spec in prepared.trials:
        if spec.contestant.name not in intended:
            intended[spec.contestant.name] = deployments[spec.contestant.name].intended_settings(plans[spec.trial])
    reporter.step(SOFTWARE_STEP.title)
    pythons = deploy_client(clients, user_cache(), reporter.detail, store.way)
    for deployment in deployments.values():
        deployment.install()
    for contestant, tool in tools:
        for name in tool.software:
            stores[contestant.name].deploy(name, clients)
    return Equipped(
        prepared,
        tuple(hosts),
        store,
        facts,
        versions(hosts, needed),
        pythons,
        {
            each.name: {
                "version": stores[each.name].version(each.system),
                "sha256": stores[each.name].digest(each.system),
            }
            for each in campaign.compared
        },
        plans,
        intended,
    )


def share_a_machine(boot_ids: Iterable[str]) -> bool:
    """Whether two hosts are one machine, by the boot ids of all."""
    found = list(boot_ids)
    return len(set(found)) < len(found)


def store_of(contestant: Contestant, store: Store) -> Store:
    """A store in which the contestant's version is meant; the system's own, or the operator's archive, where it names none."""
    if contestant.version is None:
        return store
    return store.at(release_of(contestant.system, contestant.version).software)


def requirements_of(contestants: Sequence[Contestant]) -> tuple[Requirement, ...]:
    """What hosts need for these, each once."""
    return distinct(one for each in contestants for one in release_of(each.system, each.version).requirements)


def _require_brokers(campaign: Campaign, found: int) -> None:
    """Raises InvalidInput where the testbed isn't of the size that the campaign needs."""
    if campaign.brokers not in (None, found):
        raise InvalidInput(
            f"the campaign needs brokers = {campaign.brokers}, but the testbed has {found}.",
            next_step=f"samebox up --brokers {campaign.brokers} makes a local testbed of that size.",
        )


def store_for(inventory: Inventory, tarballs: Mapping[str, Path], reporter: Reporter) -> Store:
    """The store whose software goes to these hosts: by their bucket where they have one, else to each of them."""
    bucket = inventory.records_bucket
    way = ByBucket(bucket.name, bucket.region, reporter.detail) if bucket is not None else DIRECT
    return Store(user_cache(), software(tarballs), notice=reporter.detail, way=way)


def memory_per_broker(brokers: Sequence[Host], facts: Mapping[str, Facts]) -> int | None:
    """The memory of the smallest broker host; hosts on one machine share its memory. None = one doesn't tell."""
    on_machine = Counter(facts[host.name].boot_id for host in brokers)
    sizes = [(facts[host.name].memory_bytes or 0) // on_machine[facts[host.name].boot_id] for host in brokers]
    return min(sizes, default=0) or None
