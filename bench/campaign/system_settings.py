"""What each system of a campaign is set to beside its templates, and how the manifest says it.

Laid over each other: the testbed's memory sizes, the system's profile, the campaign's own settings, and for clients what the
durability level needs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from bench.campaign.contestant import Contestant
from systems.deployment import CLIENT
from systems.own_values import Departure, departures
from systems.profile import VENDOR_DEFAULT, HostsProfile, profile_names, system_profile
from systems.registry import SYSTEMS
from systems.settings import Settings


def all_profiles() -> tuple[str, ...]:
    """Every profile that some system has a file for."""
    return tuple(sorted({name for system in SYSTEMS.values() for name in profile_names(system.profiles)}))


def profile_of(system: str, name: str, broker_memory_bytes: int | None) -> HostsProfile:
    """The system's profile on these hosts; its vendor's defaults if it has no file of that name (`name` tells)."""
    folder = SYSTEMS[system].profiles
    found = name if name in profile_names(folder) else VENDOR_DEFAULT
    return system_profile(folder, found).on_hosts(found, broker_memory_bytes)


def profile_caveats(profiles: Iterable[tuple[str, str]], broker_memory_bytes: int | None) -> list[str]:
    """What a reader must know before calling a system set up as a profile says. `profiles`: system, name of its profile."""
    caveats = []
    for system, name in dict.fromkeys(profiles):
        own = profile_of(system, name, broker_memory_bytes)
        if own.name != name:
            caveats.append(f"{system} has no profile {name}: it runs with {own.source}")
        if own.left_out:
            reason = next(iter(own.left_out.values()))
            caveats.append(
                f"{system}: the sizes that profile {name} publishes are {reason}, so the testbed's own are used"
            )
    return caveats


def wrong_client_settings(settings: Mapping[str, Settings]) -> list[str]:
    """What is wrong with a campaign's settings of clients (system -> component -> key -> value), one sentence each."""
    problems = []
    for system in settings.keys() & SYSTEMS.keys():
        known = SYSTEMS[system].client.SETTINGS
        for key, value in settings[system].get(CLIENT, {}).items():
            where = f"key 'settings.{system}.{CLIENT}.{key}'"
            if key not in known:
                problems.append(f"{where}: unknown client setting. Valid choices: {', '.join(sorted(known))}.")
            elif _kind(value) != _kind(known[key]):
                problems.append(f"{where} = {value!r}: expected {_kind(known[key])}, as in its default {known[key]!r}.")
    return problems


def _kind(value: str) -> str:
    if value in ("true", "false"):
        return "true or false"
    return "a whole number" if value.isdecimal() else "a word"


def durability_table(
    cells: Iterable[tuple[Contestant, str]], overrides: Mapping[str, Settings], replication_factor: int
) -> dict[str, dict[str, Settings]]:
    """What each durability of `cells` (contestant, name) means in settings: contestant -> name -> component -> key -> value.

    As it is run: where `overrides` (contestant -> settings) has a key of the level, its value stands.
    """
    found: dict[str, dict[str, Settings]] = {}
    for contestant, name in dict.fromkeys(cells):
        own = overrides.get(contestant.name, {})
        found.setdefault(contestant.name, {})[name] = {
            component: {key: own.get(component, {}).get(key, value) for key, value in settings.items()}
            for component, settings in SYSTEMS[contestant.system].durability(replication_factor)[name].items()
        }
    return found


def changed_promises(
    cells: Iterable[tuple[Contestant, str]], overrides: Mapping[str, Settings], replication_factor: int
) -> list[str]:
    """Where `overrides` (contestant -> settings) change what a level asks for, of all processes or of one: its name is then more,
    or less, than it says.
    """
    found = []
    for contestant, name in dict.fromkeys(cells):
        level = SYSTEMS[contestant.system].durability(replication_factor)[name]
        for component, settings in overrides.get(contestant.name, {}).items():
            meant = level.get(component.partition("/")[0], {})
            found += [
                f"{contestant.name}: {component} {key} is {value}, where durability {name} means {meant[key]}"
                for key, value in settings.items()
                if value != meant.get(key, value)
            ]
    return found


def own_values(
    systems: Mapping[str, str], intended: Mapping[str, Settings], asked: Mapping[str, Settings]
) -> dict[str, list[dict[str, Any]]]:
    """Contestant -> where its settings aren't its vendor's, but for those of its profile: samebox's own, and those of the campaign.

    `systems`: contestant -> its system. `intended` and `asked` (the campaign's settings): contestant -> component -> key -> value.
    """
    found = {}
    for contestant, settings in intended.items():
        own = departures(SYSTEMS[systems[contestant]].own_values, settings)
        named = {(each.component, each.key) for each in own}
        own += [
            Departure(component, key, value, None, "the campaign asks for it")
            for component, values in asked.get(contestant, {}).items()
            for key, value in values.items()
            if (component, key) not in named
        ]
        found[contestant] = [dataclasses.asdict(each) for each in own]
    return found


def differences(cells: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
    """How the systems of `cells` (system, durability name) keep these promises in their own ways, aspect by aspect."""
    names: dict[str, list[str]] = {}
    for system, name in dict.fromkeys(cells):
        names.setdefault(system, []).append(name)
    found = [
        {"aspect": each.aspect, "system": system, "durability": about, "what": each.what, "favours": each.favours}
        for system, own in names.items()
        for each in SYSTEMS[system].differences
        if (about := [name for name in own if name in each.durability])
    ]
    aspects = list(dict.fromkeys(entry["aspect"] for entry in found))
    return sorted(found, key=lambda entry: aspects.index(entry["aspect"]))


def makers_words(cells: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
    """What the makers of the systems of `cells` (system, durability name) say of these promises under faults."""
    names: dict[str, list[str]] = {}
    for system, name in dict.fromkeys(cells):
        names.setdefault(system, []).append(name)
    return [
        {"system": system, **dataclasses.asdict(each), "durability": about}
        for system, own in names.items()
        for each in SYSTEMS[system].survival
        if (about := [name for name in own if name in each.durability])
    ]
