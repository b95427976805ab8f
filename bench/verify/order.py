"""Do the planned trials, hosts and rules of a manifest follow from its campaign file and seed, with nothing left out or added?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.campaign.available import of_what_is_there
from bench.campaign.blocks import host_order
from bench.campaign.campaign import Campaign
from bench.campaign.campaign_file import CAMPAIGN_SCHEMA, load_campaign
from bench.campaign.choice import choice_of
from bench.campaign.cross_check import with_native_trials
from bench.campaign.definition import completed_definition, definition_of
from bench.campaign.ladder import names_of
from bench.campaign.order import TrialSpec, order_of
from bench.campaign.testbed_profile import checks_for, load_profile
from bench.results.folder import Results
from bench.verify.difference import Difference, Found, Unchecked
from contract import results_folder as layout
from provisioning.cache import sha256_of
from provisioning.document import parse_document
from provisioning.errors import SameboxError
from systems.registry import lacking

MOST_TRIALS = 1_000_000  # more than anybody runs, and little enough to be told in order


@dataclass(frozen=True)
class Planned:
    """What follows from the campaign file: the campaign as it is run, and its trials by name. Empty where that couldn't be told."""

    campaign: Campaign | None = None
    trials: Mapping[str, TrialSpec] = field(default_factory=dict)


def planned_of(results: Results, manifest: Mapping[str, Any]) -> Planned | Unchecked:
    """The campaign file with the manifest's choice of scale and experiments, and the trials of it in their order."""
    file = results.campaign_file
    try:
        if (most := _most_trials(file)) > MOST_TRIALS:
            return Unchecked(f"the trials that follow from {layout.CAMPAIGN}: there would be up to {most:,}")
        chosen = choice_of(manifest).of(load_campaign(file), where=layout.CAMPAIGN)
        campaign = of_what_is_there(chosen, set(lacking(())) & set(_systems(manifest)))
        trials: Sequence[TrialSpec] = order_of(campaign)
        trials = with_native_trials(trials, where=layout.CAMPAIGN) if campaign.cross_check else trials
    except SameboxError as error:
        said = str(error).replace(f"{file}: ", "").splitlines()[0].rstrip(".")
        return Unchecked(f"the trials that follow from {layout.CAMPAIGN}: this samebox can't run it ({said})")
    return Planned(campaign, {spec.trial: spec for spec in trials})


def _most_trials(file: Path) -> int:
    """How many trials a campaign file may have, before any of them is made. Raises InvalidInput."""
    campaign = parse_document(Campaign, file, schema=CAMPAIGN_SCHEMA)
    return sum(
        len(campaign.all_blocks) * len(campaign.compared) * len(each.durability) * len(names_of(each.workloads)) * 2
        for each in campaign.questions
    )


def order_differences(results: Results, manifest: Mapping[str, Any], planned: Planned) -> Iterator[Found]:
    """Campaign file, definition, order of the trials, order of the hosts; then rules."""
    if sha256_of(results.campaign_file) != manifest.get("campaign_sha256"):
        yield Difference("order", layout.CAMPAIGN, "its SHA-256 isn't the manifest's campaign_sha256")
    listed = [str(entry["trial"]) for entry in manifest["order"]]
    for name, times in Counter(listed).items():
        if times > 1:
            yield Difference("order", layout.MANIFEST, f"{name} is planned {times} times")
    if planned.campaign is None:
        return
    if definition_of(planned.campaign) != completed_definition(manifest["definition"]):
        yield Difference("order", layout.MANIFEST, f"its definition isn't the one of {layout.CAMPAIGN}")
    for key in ("seed", "name"):
        said = manifest.get("campaign" if key == "name" else key)
        if said != getattr(planned.campaign, key):
            yield Difference(
                "order",
                layout.MANIFEST,
                f"its {key} is {said!r}, that of {layout.CAMPAIGN} {getattr(planned.campaign, key)!r}",
            )
    yield from _trial_order(manifest, planned)
    yield from _host_orders(manifest, planned.campaign)
    yield from _rules(manifest, planned.campaign)


def _trial_order(manifest: Mapping[str, Any], planned: Planned) -> Iterator[Difference]:
    listed = [str(entry["trial"]) for entry in manifest["order"]]
    following = list(planned.trials)
    for name in sorted(set(following) - set(listed)):
        yield Difference(
            "order", layout.MANIFEST, f"{name} follows from campaign and seed, and its order doesn't have it"
        )
    for name in sorted(set(listed) - set(following)):
        yield Difference("order", layout.MANIFEST, f"its order has {name}, which doesn't follow from campaign and seed")
    if sorted(listed) == sorted(following) and listed != following:
        at = next(at for at, (one, other) in enumerate(zip(listed, following, strict=True)) if one != other)
        yield Difference(
            "order",
            layout.MANIFEST,
            f"trial {at + 1} of its order is {listed[at]}; by campaign and seed it is {following[at]}",
        )
    for entry in manifest["order"]:
        spec = planned.trials.get(str(entry["trial"]))
        if spec is not None and (
            wrong := _differing({"block_kind": "A/B", "generator": "samebox", **entry}, spec.to_json())
        ):
            yield Difference(
                "order",
                layout.MANIFEST,
                f"its entry of {spec.trial} has another {wrong} than follows from the campaign",
            )


def _host_orders(manifest: Mapping[str, Any], campaign: Campaign) -> Iterator[Difference]:
    names_by_role: dict[str, list[str]] = {}
    for host in manifest["testbed"]["hosts"]:
        names_by_role.setdefault(str(host["role"]), []).append(str(host["name"]))
    said = manifest.get("host_orders")
    if said is None or not names_by_role:  # of an earlier version
        return
    for block in campaign.all_blocks:
        following = list(host_order(block, names_by_role, campaign.seed))
        if said.get(str(block.number)) != following:
            yield Difference(
                "order", layout.MANIFEST, f"its order of the hosts in block {block.number} doesn't follow from the seed"
            )


def _rules(manifest: Mapping[str, Any], campaign: Campaign) -> Iterator[Found]:
    """The rules by which trials are judged are declared before the run: the testbed's, with the campaign's own bounds."""
    kind = str(manifest["testbed"]["testbed"]["kind"])
    try:
        checks = checks_for(load_profile(kind), campaign.checks, where=layout.CAMPAIGN)
    except SameboxError as error:
        yield Unchecked(f"the rules of the testbed ({str(error).splitlines()[0].rstrip('.')})")
        return
    declared = {str(rule["check"]): _rule(rule) for rule in manifest["checks"]}
    following = {check.check: _rule(check.to_json()) for check in checks}
    for name in sorted(declared.keys() | following.keys()):
        if name not in declared:
            yield Difference(
                "rules", layout.MANIFEST, f"it doesn't declare the check {name}, which testbeds of kind {kind} have"
            )
        elif name not in following:
            yield Difference(
                "rules", layout.MANIFEST, f"it declares a check {name} that testbeds of kind {kind} don't have"
            )
        elif wrong := _differing(declared[name], following[name]):
            said, due = declared[name][wrong], following[name][wrong]
            yield Difference(
                "rules", layout.MANIFEST, f"the check {name} has {wrong} {said}; by testbed and campaign it is {due}"
            )


def _rule(rule: Mapping[str, Any]) -> dict[str, Any]:
    return {"axis": rule["axis"], "on_failure": rule.get("on_failure"), "bounds": dict(rule.get("bounds") or {})}


def _differing(said: Mapping[str, Any], following: Mapping[str, Any]) -> str | None:
    """The first key in which they differ."""
    return next((key for key in sorted(said.keys() | following.keys()) if said.get(key) != following.get(key)), None)


def _systems(manifest: Mapping[str, Any]) -> Iterator[str]:
    return (str(entry["system"]) for entry in manifest["order"])
