"""Reads a campaign file and refuses what can't be, before anything is started."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

from bench.campaign.campaign import Campaign, Experiment
from bench.campaign.contestant import Contestant
from bench.campaign.ladder import names_of
from bench.campaign.order import empty_cells, order_of
from bench.campaign.system_settings import all_profiles, wrong_client_settings
from bench.campaign.wrong_contestants import wrong_contestants
from provisioning.document import parse_document
from provisioning.errors import InvalidInput
from systems.registry import DURABILITY, SYSTEMS

CAMPAIGN_SCHEMA = 1


def load_campaign(path: Path) -> Campaign:
    """Reads and checks a campaign file. Raises InvalidInput naming file, key and valid choices."""
    campaign = parse_document(Campaign, path, schema=CAMPAIGN_SCHEMA)
    sent = [workload for each in campaign.questions for workload in each.workloads]
    of_contestants = list(wrong_contestants(campaign.contestants, sent))
    problems = [*_wrong(campaign), *of_contestants, *_wrong_sources(campaign, path.parent)]
    # what a contestant can run isn't known where it isn't known what it is
    for at, each in enumerate(() if of_contestants else campaign.questions):
        problems += _wrong_experiment(campaign, each, f"experiments.{at}." if campaign.experiments else "")
    if not problems and not order_of(campaign):
        cells = [cell for cell in empty_cells(campaign) if cell.durability is not None]
        problems = [
            f"none of its trials can run: {cell.system} at level {cell.durability}: {cell.reason}" for cell in cells
        ]
    if problems:
        raise InvalidInput("\n".join(f"{path}: {problem}" for problem in dict.fromkeys(problems)))
    return campaign


def _wrong(campaign: Campaign) -> Iterator[str]:
    """What of the campaign as a whole can't be."""
    known = ", ".join(sorted(SYSTEMS))
    if campaign.experiments and (campaign.workloads or campaign.durability):
        yield "give either 'experiments' (each with its own durability and workloads) or 'durability' and 'workloads'."
    if campaign.contestants and campaign.systems:
        yield "give either 'systems' or 'contestants' (each with its own system)."
    if not campaign.compared:
        yield "key 'systems': at least one entry is needed."
    lists = {
        "systems": campaign.systems,
        "contestants": [each.name for each in campaign.contestants],
        "experiments": [each.id for each in campaign.questions],
        "workloads": [name for each in campaign.questions for name in names_of(each.workloads)],
    }
    for key, names in lists.items():
        yield from _listed_twice(key, names)
    for name in campaign.systems:
        if name not in SYSTEMS:
            yield f"key 'systems': unknown system {name!r}. Valid choices: {known}."
    for name in campaign.settings:
        if name not in SYSTEMS:
            yield f"key 'settings.{name}': unknown system. Valid choices: {known}."
    if campaign.system_profile not in all_profiles():
        valid = ", ".join(all_profiles())
        yield f"key 'system_profile': unknown profile {campaign.system_profile!r}. Valid choices: {valid}."
    yield from wrong_client_settings(campaign.settings)


def _wrong_experiment(campaign: Campaign, each: Experiment, prefix: str) -> Iterator[str]:
    """What of an experiment can't be; `prefix`: what its keys start with in the file."""
    levels, workloads = ", ".join(each.durability), [workload.name for workload in each.workloads]
    for key, names in {"durability": each.durability, "workloads": workloads}.items():
        if not names:
            yield f"key '{prefix}{key}': at least one entry is needed."
        if prefix or key == "durability":
            yield from _listed_twice(f"{prefix}{key}", names)
    for level in each.durability:
        if level not in DURABILITY:
            yield f"key '{prefix}durability': unknown level {level!r}. Valid choices: {', '.join(DURABILITY)}."
        elif campaign.contestants and DURABILITY[level].variant is not None:
            yield f"key '{prefix}durability': {level!r} is a variant; among contestants, say variant = ... in those that have it."
    unknown = list(_wrong_names(campaign, each, prefix))
    yield from unknown
    if unknown or not all(one.system in SYSTEMS for one in campaign.compared):
        return
    compared, kind = campaign.compared_in(each), "contestants" if campaign.contestants else "systems"
    yield from _cannot_load(each, compared, prefix, kind)
    for name, own in each.durability_of.items():
        if name not in (names := [one.name for one in compared]) or not set(own) <= set(each.durability):
            yield (
                f"key '{prefix}durability_of.{name}': only {kind} and levels of the experiment are valid here: "
                f"{', '.join(names)}; {levels}."
            )
    for name in each.absent:
        if name in SYSTEMS:
            yield f"key '{prefix}absent.{name}': samebox has {name}; remove it from 'absent'."
    chosen = each.representative
    if chosen is not None and chosen.workload not in workloads:
        yield f"key '{prefix}representative.workload': valid choices: {', '.join(workloads)}."
    if chosen is not None and not (chosen.durability and set(chosen.durability) <= set(each.durability)):
        yield f"key '{prefix}representative.durability': valid choices: {levels}."


def _wrong_names(campaign: Campaign, each: Experiment, prefix: str) -> Iterator[str]:
    """Whom an experiment names, but the campaign hasn't."""
    key, other = ("contestants", "systems") if campaign.contestants else ("systems", "contestants")
    if prefix and getattr(each, other):
        yield f"key '{prefix}{other}': this campaign has {key}: name those that take part in '{prefix}{key}'."
    own = [one.name for one in campaign.compared]
    for name in getattr(each, key):
        if key == "systems" and name not in SYSTEMS:
            yield f"key '{prefix}systems': unknown system {name!r}. Valid choices: {', '.join(sorted(SYSTEMS))}."
        elif name not in own:
            yield f"key '{prefix}{key}': {name} is not one of the campaign's own: {', '.join(own)}."


def _cannot_load(each: Experiment, compared: Sequence[Contestant], prefix: str, kind: str) -> Iterator[str]:
    """Workloads that one of those who run here can't take."""
    runs = [one for one in compared if any(each.runs(one, level) for level in each.durability)]
    for (at, workload), one in product(enumerate(each.workloads), runs):
        system, sent = SYSTEMS[one.system], one.workload(workload)
        if sent.compression not in system.compressions:
            yield (
                f"key '{prefix}workloads.{at}.compression': the client of {one.system} doesn't know {sent.compression!r}, only "
                f"{', '.join(system.compressions)}. Change it, or leave {one.name} out of '{kind}'."
            )
        for level in each.durability:
            if each.runs(one, level) and (reason := system.cannot_load(one.durability(level), sent)):
                yield f"key '{prefix}workloads.{at}': {one.name} can't take it at level {level}, but others here: {reason}."
        for number, fault in enumerate(sent.faults):
            if reason := system.why_no_fault(fault.do, fault.role):
                yield (
                    f"key '{prefix}workloads.{at}.faults.{number}': {fault.do} {fault.role} can't be done to {one.system}: {reason} "
                    f"Change it, or leave {one.name} out of '{kind}'."
                )


def _listed_twice(key: str, names: Sequence[str]) -> list[str]:
    return [f"key {key!r}: {name} is listed twice." for name in sorted(set(names)) if names.count(name) > 1]


def _wrong_sources(campaign: Campaign, folder: Path) -> Iterator[str]:
    for name, sha256 in campaign.sources.items():
        source = folder / name
        if not source.is_file():
            yield f"key 'sources.{name}': no such file beside the campaign."
        elif hashlib.sha256(source.read_bytes()).hexdigest() != sha256:
            yield f"key 'sources.{name}': {source} isn't the file that the campaign was made from: its SHA-256 differs."
