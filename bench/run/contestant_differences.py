"""In what a campaign's contestants of one system are to differ, as the manifest says it before anything has run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from itertools import combinations
from typing import Any

from bench.campaign.campaign import Campaign
from bench.campaign.contestant import Contestant
from contract.settings import Key, by_kind, differing, places_of
from provisioning.hosts.inventory import HostRecord
from systems.deployment import CLIENT
from systems.settings import Settings


def contestant_differences(
    campaign: Campaign,
    intended: Mapping[str, Settings],
    versions: Mapping[str, str],
    hosts: Iterable[HostRecord],
) -> list[dict[str, Any]]:
    """Of every two contestants that have the same system: each key that isn't the same, and both values (null: not set).

    `intended`: contestant -> what its deployment renders. `versions`: contestant -> that of its software. Empty where systems as such
    are compared.
    """
    places = places_of([asdict(host) for host in hosts])
    ran = [each for each in campaign.contestants if each.name in intended]
    meant = {
        each.name: by_kind({**intended[each.name], **_beside(each, campaign, versions[each.name])}, places)
        for each in ran
    }
    return [
        {"system": first.system, "first": first.name, "second": second.name, "keys": _keys(meant, first, second)}
        for first, second in combinations(ran, 2)
        if first.system == second.system
    ]


def _beside(contestant: Contestant, campaign: Campaign, version: str) -> Settings:
    """What isn't a setting of its processes: its version, its client, and how that sends the workloads."""
    client = campaign.settings_of(contestant).get(CLIENT, {})
    workload = {key: str(value) for key, value in contestant.client_keys.items()}
    return {"software": {"version": version}, CLIENT: client, "workload": workload}


def _keys(meant: Mapping[str, Mapping[Key, str]], first: Contestant, second: Contestant) -> list[dict[str, Any]]:
    return [asdict(each) for each in differing(meant[first.name], meant[second.name])]
