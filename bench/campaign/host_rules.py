"""What the checks make of single hosts, by what is known of their instance types. It judges nothing and asks no host."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from bench.campaign.testbed_profile import Check, HostRule
from provisioning.hosts.inventory import HostRecord
from provisioning.testbeds.aws.instance_limits import Limits, load_limits

Rule = Callable[[HostRecord, Limits], HostRule | None]


def checks_on(checks: Sequence[Check], hosts: Sequence[HostRecord]) -> tuple[Check, ...]:
    """The checks with what is peculiar to these hosts; of a type that nobody has described nothing is."""
    limits = load_limits()
    known = [(host, limits[host.instance_type]) for host in hosts if host.instance_type in limits]
    return tuple(
        dataclasses.replace(check, hosts={host.name: found for host, its in known if (found := rule(host, its))})
        if (rule := RULES.get(check.check))
        else check
        for check in checks
    )


def _steal(host: HostRecord, limits: Limits) -> HostRule | None:
    # a burstable broker or client is judged: what is taken from it delays messages
    if not limits.burstable or host.role != "metadata":
        return None
    return HostRule(False, f"{host.instance_type} is burstable, and a metadata host carries neither messages nor load")


def _network_allowance(host: HostRecord, limits: Limits) -> HostRule | None:
    return HostRule(True, f"{host.instance_type} has {limits.network}")


RULES: Mapping[str, Rule] = {"steal": _steal, "network-allowance": _network_allowance}
