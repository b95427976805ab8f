"""What of a campaign's contestants can't be: unknown names and keys, and two that don't differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict

from bench.campaign.contestant import CLIENT_KEYS, Contestant
from bench.campaign.system_settings import all_profiles, wrong_client_settings
from contract.workload import Workload
from provisioning.document import build
from provisioning.errors import InvalidInput
from systems.deployment import CLIENT
from systems.registry import SYSTEMS, release_of


def wrong_contestants(contestants: Sequence[Contestant], workloads: Sequence[Workload]) -> Iterator[str]:
    """What of a campaign's contestants can't be, one sentence each. `workloads`: those that they are to send."""
    by_name = {each.name: each for each in contestants}
    before: list[Contestant] = []
    for at, each in enumerate(contestants):
        problems = list(_wrong(each, f"contestants.{at}", workloads))
        yield from problems
        if not problems:
            yield from _alike(each, at, before, by_name)
            before.append(each)


def _wrong(each: Contestant, where: str, workloads: Sequence[Workload]) -> Iterator[str]:
    if each.system not in SYSTEMS:
        yield f"key '{where}.system': unknown system {each.system!r}. Valid choices: {', '.join(sorted(SYSTEMS))}."
        return
    if each.profile is not None and each.profile not in (known := all_profiles()):
        yield f"key '{where}.profile': unknown profile {each.profile!r}. Valid choices: {', '.join(known)}."
    variants = [variant.name for variant, _ in SYSTEMS[each.system].variants]
    if each.variant is not None and each.variant not in variants:
        valid = ", ".join(variants) or f"none, {each.system} has no variants"
        yield f"key '{where}.variant': unknown variant {each.variant!r}. Valid choices: {valid}."
    try:
        release_of(each.system, each.version)
    except InvalidInput as error:
        yield f"key '{where}.version': {error} {error.next_step}".rstrip()
        return
    yield from _wrong_client(each, where, workloads)


def _wrong_client(each: Contestant, where: str, workloads: Sequence[Workload]) -> Iterator[str]:
    """Keys that no client has, and workloads that can't be sent with the others."""
    known = SYSTEMS[each.system].client.SETTINGS
    unknown = [key for key in each.client if key not in known and key not in CLIENT_KEYS]
    for key in unknown:
        yield f"key '{where}.client.{key}': unknown. Valid choices: {', '.join(sorted([*CLIENT_KEYS, *known]))}."
    yield from (
        problem.replace(f"settings.{each.system}.{CLIENT}", f"{where}.client")
        for problem in wrong_client_settings(
            {each.system: {CLIENT: {key: value for key, value in each.client_settings.items() if key in known}}}
        )
    )
    for workload in () if unknown else workloads:
        try:
            build(Workload, {**asdict(workload), **each.client_keys}, where=f"{where}.client", strict=True)
        except InvalidInput as error:
            yield str(error)
            return


def _alike(each: Contestant, at: int, before: Sequence[Contestant], by_name: Mapping[str, Contestant]) -> Iterator[str]:
    """Two that don't differ are refused, unless one says that this is meant; and then they mustn't differ."""
    twin = each.same_as
    if twin is not None and (twin == each.name or twin not in by_name):
        others = ", ".join(name for name in by_name if name != each.name) or "none"
        yield f"key 'contestants.{at}.same_as': no other contestant is called {twin!r}. Valid choices: {others}."
        return
    for other in before:
        if (other.name == twin or other.same_as == each.name) and other.content != each.content:
            yield f"key 'contestants.{at}': {each.name} isn't the same as {other.name}, as same_as says: give both the same keys."
        if other.system == each.system and other.content == each.content and not {twin, other.same_as} & {*by_name}:
            yield (
                f"contestants {other.name} and {each.name} don't differ in anything. Change a version, setting, client, profile "
                f"or memory of one. To see how far equals differ, use aa_blocks, or say same_as = {other.name!r} in {each.name}."
            )
