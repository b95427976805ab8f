"""What a stack costs: per hour, for a campaign of so many hours, and afterwards what a run did cost.

Before: every host is paid from its launch to its end, so the hours are those of the campaign and of everything around it.
After: the time of a system's trials is its own; all other paid time (standing up, vetting, software, waiting) is shared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from provisioning.hosts.inventory import HostRecord, Role
from provisioning.testbeds.aws.prices import PriceTable
from provisioning.testbeds.aws.shape import Hosts, Shape

HOURS_PER_MONTH = 730.0  # what AWS divides a month's price by
GIB = 2.0**30

# What surrounds a campaign on AWS beside its vetting (vetting_time.py), in seconds: launch, boot and mount; `pulumi destroy`.
# Estimates on the safe side, shown in the output.
STAND_UP_S = 600.0
TEAR_DOWN_S = 300.0
# A transient EMR cluster: about ten minutes to start, then the job. The hosts are there until the report is.
EMR_S = 1800.0
# gp3 volumes of an EMR instance: its root, and at most what EMR gives an m5.4xlarge unasked
EMR_VOLUME_GIB = 15 + 256
INCLUDED_MIB_PER_S = 125
# manifest, report and logs reach the operator; the records stay in the bucket
OPERATOR_GIB = 1.0
PUT_BYTES = 64 * 2**20


@dataclass(frozen=True)
class RoleCost:
    """What the hosts of one role cost an hour, in US dollars: instances, their root volumes, their public addresses.

    `surplus` is what burstable instances may cost more, at most; it is in no sum.
    """

    role: Role
    count: int
    instance_type: str
    instances: float
    volumes: float
    addresses: float
    surplus: float

    @property
    def per_hour(self) -> float:
        """All of it together."""
        return self.instances + self.volumes + self.addresses


@dataclass(frozen=True)
class CampaignCost:
    """What a whole campaign is estimated to cost, in US dollars. `hours` is the time hosts are paid for, `vetting_s` a part of it."""

    hours: float
    vetting_s: float
    hosts: float
    emr: float
    storage_month: float
    transfer: float

    @property
    def total(self) -> float:
        """All of it; storage for one month."""
        return self.hosts + self.emr + self.storage_month + self.transfer

    def to_json(self) -> dict[str, float]:
        """The parts and their sum."""
        return {**asdict(self), "total": self.total}


@dataclass(frozen=True)
class TrialRun:
    """One finished trial as far as it costs: whose it was, when, and the payload that was acknowledged."""

    system: str
    started_s: float
    ended_s: float
    acknowledged_bytes: int


@dataclass(frozen=True)
class SystemCost:
    """What one system's trials cost, in US dollars. `per_gib` is None where nothing was acknowledged."""

    system: str
    trials: int
    hours: float
    cost: float
    acknowledged_gib: float
    per_gib: float | None


@dataclass(frozen=True)
class SpentCost:
    """What a run's hosts, `hour` dollars an hour, have cost in `hours`: each system's trials, and what they share."""

    hour: float
    hours: float
    systems: tuple[SystemCost, ...]

    @property
    def shared_hours(self) -> float:
        """The hours that belong to no trial."""
        return self.hours - sum(system.hours for system in self.systems)

    @property
    def shared(self) -> float:
        """What those hours cost."""
        return self.shared_hours * self.hour

    @property
    def total(self) -> float:
        """All of it."""
        return self.hours * self.hour

    def to_json(self) -> dict[str, Any]:
        """System by system, what is shared, and the sum."""
        return {
            "hours": self.hours,
            "systems": [asdict(system) for system in self.systems],
            "shared": {"hours": self.shared_hours, "cost": self.shared},
            "total": self.total,
        }


def hosts_per_hour(shape: Shape, prices: PriceTable) -> tuple[RoleCost, ...]:
    """What a stack's hosts cost an hour, by role. Raises InvalidInput for a type or region without a price."""
    return tuple(
        _role_cost(role, hosts.count, hosts.instance_type, hosts, shape.region, prices)
        for role, hosts in shape.by_role().items()
    )


def inventory_per_hour(records: Sequence[HostRecord], shape: Shape, prices: PriceTable) -> tuple[RoleCost, ...]:
    """The same for the hosts that a run really had; region and root volumes are the stack's."""
    counts = Counter((record.role, record.instance_type) for record in records)
    return tuple(
        _role_cost(role, count, instance_type, shape.by_role().get(role), shape.region, prices)
        for (role, instance_type), count in sorted(counts.items())
    )


def _role_cost(
    role: Role, count: int, instance_type: str, hosts: Hosts | None, region: str, prices: PriceTable
) -> RoleCost:
    volume = 0.0
    if hosts is not None:
        volume = _volume_hour(hosts.root_volume_gib, hosts.root_throughput_mib_per_s, region, prices)
    return RoleCost(
        role,
        count,
        instance_type,
        instances=count * prices.price("instance_hour", instance_type, region),
        volumes=count * volume,
        addresses=count * prices.price("service", "public_ipv4_hour", region),
        surplus=count * prices.surplus(instance_type, region),
    )


def _volume_hour(gib: float, mib_per_s: float, region: str, prices: PriceTable) -> float:
    month = gib * prices.price("service", "gp3_gib_month", region)
    month += max(0.0, mib_per_s - INCLUDED_MIB_PER_S) * prices.price("service", "gp3_mib_per_s_month", region)
    return month / HOURS_PER_MONTH


def per_hour(roles: Iterable[RoleCost]) -> float:
    """What all hosts together cost an hour."""
    return sum(role.per_hour for role in roles)


def reserved_per_hour(shape: Shape, roles: Iterable[RoleCost]) -> float:
    """What the places that are reserved cost an hour while they all stand empty; one in which its host runs costs nothing beside it.

    It is in no sum: hosts are reckoned from before their launch to their end. Metadata hosts and burstable types are never reserved.
    """
    placed = [role for role in roles if role.role != "metadata" and not role.surplus]
    return sum(role.instances for role in placed) if shape.reserve_capacity else 0.0


def emr_step(shape: Shape, prices: PriceTable, hours: float = EMR_S / 3600) -> float:
    """What the report's transient cluster costs: instances, EMR's surcharge, volumes. Its subnet is private: no addresses."""
    kind, region = shape.report_instance_type, shape.region
    instance_hour = (
        prices.price("instance_hour", kind, region)
        + prices.price("emr_hour", kind, region)
        + _volume_hour(EMR_VOLUME_GIB, INCLUDED_MIB_PER_S, region, prices)
    )
    return shape.report_instances * instance_hour * hours


def campaign_cost(
    shape: Shape, prices: PriceTable, *, campaign_s: float, vetting_s: float, record_bytes: float
) -> CampaignCost:
    """A whole campaign, from the first launch to the last host's end, with its report and a month of its records."""
    hours = (STAND_UP_S + vetting_s + campaign_s + EMR_S + TEAR_DOWN_S) / 3600
    gib = record_bytes / GIB
    puts = max(1.0, record_bytes / PUT_BYTES)
    return CampaignCost(
        hours=hours,
        vetting_s=vetting_s,
        hosts=hours * per_hour(hosts_per_hour(shape, prices)),
        emr=emr_step(shape, prices),
        storage_month=gib * prices.price("service", "s3_gib_month", shape.region)
        + puts / 1000 * prices.price("service", "s3_thousand_puts", shape.region),
        transfer=OPERATOR_GIB * prices.price("service", "transfer_out_gib", shape.region),
    )


def spent_cost(hour: float, trials: Sequence[TrialRun], *, began_s: float, ended_s: float) -> SpentCost:
    """What hosts at `hour` dollars an hour cost between two times, shared out among the systems by the time of their trials."""
    by_system: dict[str, list[TrialRun]] = {}
    for trial in trials:
        by_system.setdefault(trial.system, []).append(trial)
    systems = tuple(_system_cost(system, runs, hour) for system, runs in by_system.items())
    return SpentCost(hour, (ended_s - began_s) / 3600, systems)


def _system_cost(system: str, runs: Sequence[TrialRun], hour: float) -> SystemCost:
    hours = sum(run.ended_s - run.started_s for run in runs) / 3600
    gib = sum(run.acknowledged_bytes for run in runs) / GIB
    cost = hours * hour
    return SystemCost(system, len(runs), hours, cost, gib, cost / gib if gib else None)


def roles_to_json(roles: Iterable[RoleCost]) -> list[dict[str, Any]]:
    """Role by role, each with its sum."""
    return [{**asdict(role), "per_hour": role.per_hour} for role in roles]
