"""In what a campaign's contestants of one system are to differ, as the manifest says it before anything has run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from typing import Any

from bench.campaign.campaign import Campaign
from bench.campaign.contestant import Contestant
from contract.settings import Differing, by_kind, differing
from systems.deployment import CLIENT
from systems.registry import release_of
from systems.release import Release, changed_defaults
from systems.settings import Settings

_NAMED = 5  # defaults in a sentence


def contestant_differences(campaign: Campaign, intended: Mapping[str, Settings]) -> list[dict[str, Any]]:
    """Of every two contestants that have the same system: each key that isn't the same, and both values (null: not set); and the
    defaults that are recorded to differ between their versions, which nobody sets.

    `intended`: contestant -> what its deployment renders. Empty where systems as such are compared.
    """
    ran = [each for each in campaign.contestants if each.name in intended]
    meant = {each.name: by_kind({**intended[each.name], **_beside(each, campaign)}) for each in ran}
    return [
        {
            "system": first.system,
            "first": first.name,
            "second": second.name,
            "keys": [asdict(each) for each in differing(meant[first.name], meant[second.name])],
            "defaults": [asdict(each) for each in changed_defaults(_release(first), _release(second))],
        }
        for first, second in combinations(ran, 2)
        if first.system == second.system
    ]


def told(differences: Sequence[Mapping[str, Any]]) -> list[str]:
    """The same as sentences, for a plan."""
    found = []
    for each in differences:
        keys = ", ".join(f"{key['component']} {key['key']} {Differing(**key).values}" for key in each["keys"])
        sentence = (
            f"{each['second']} differs from {each['first']} in {keys}"
            if keys
            else f"{each['second']} is as {each['first']}"
        )
        if count := len(each["defaults"]):
            some = ", ".join(f"{one['component']} {one['key']}" for one in each["defaults"][:_NAMED])
            more = f" and {count - _NAMED} more" if count > _NAMED else ""
            sentence += (
                f"; {count} recorded default{'s' if count > 1 else ''} differ{'' if count > 1 else 's'}: {some}{more}"
            )
        found.append(f"{sentence}.")
    return found


def _release(contestant: Contestant) -> Release:
    return release_of(contestant.system, contestant.version)


def _beside(contestant: Contestant, campaign: Campaign) -> Settings:
    """What isn't a setting of its processes: its version, its client, and how that sends the workloads."""
    client = campaign.settings_of(contestant).get(CLIENT, {})
    version = {"version": _release(contestant).version}
    return {"software": version, CLIENT: client, "workload": _sends(contestant, campaign)}


def _sends(contestant: Contestant, campaign: Campaign) -> dict[str, str]:
    """How its client sends the workloads, in those of their keys that some contestant has its own values of."""
    keys = dict.fromkeys(key for each in campaign.contestants for key in each.client_keys)
    sent = [contestant.workload(each) for question in campaign.questions for each in question.workloads]
    return {key: " or ".join(dict.fromkeys(str(getattr(each, key)) for each in sent)) for key in keys}
