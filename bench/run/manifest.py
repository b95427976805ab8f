"""The manifest: everything needed to say "same" or "not same" of two campaigns. Written before the first trial, never changed."""

from __future__ import annotations

import dataclasses
import hashlib
import platform
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from bench.campaign.available import untried
from bench.campaign.blocks import host_orders
from bench.campaign.contestant_differences import contestant_differences
from bench.campaign.cross_check import cross_check_document
from bench.campaign.order import empty_cells
from bench.campaign.prepared import has_faults
from bench.campaign.system_settings import (
    changed_promises,
    differences,
    durability_table,
    makers_words,
    own_values,
    profile_caveats,
    profile_of,
)
from bench.load.floor import Floor
from bench.results.folder import MANIFEST_SCHEMA
from bench.run.equipped import Equipped
from bench.run.vetted import Vetted
from provisioning.hosts.inventory import Inventory
from provisioning.testbeds.aws.prices import host_prices, load_prices
from systems.registry import SYSTEMS

# what a campaign's figures depend on in a checkout; a campaign file of one's own is no change to the kit
CODE = (
    "analysis",
    "bench",
    "contract",
    "disk-checks",
    "provisioning",
    "systems",
    "pyproject.toml",
    "requirements.lock",
)


@dataclass(frozen=True)
class Origin:
    """Which samebox a campaign was begun with: its version, the checkout's git state, and its locked libraries."""

    samebox_version: str
    git: Mapping[str, Any]
    lock_sha256: str


def origin_of(checkout: Path) -> Origin:
    """The origin that is this checkout."""
    return Origin(metadata.version("samebox"), _git_state(checkout), _sha256(checkout / "requirements.lock"))


def manifest_of(
    equipped: Equipped,
    inventory: Inventory,
    vetting: Vetted,
    floor: Sequence[Floor],
    *,
    origin: Origin,
    repeat: Sequence[str],
) -> dict[str, Any]:
    """The document of docs/records.md."""
    prepared, campaign = equipped.prepared, equipped.campaign
    promises, caveats = _promises(equipped)
    testbed = dataclasses.asdict(inventory)
    del testbed["identity_file"]  # the path of the operator's private key stays private
    orders = host_orders(campaign.all_blocks, inventory.hosts, campaign.seed)
    return {
        "schema": MANIFEST_SCHEMA,
        "campaign": campaign.name,
        "question": campaign.question,
        "seed": campaign.seed,
        "created_ns": time.time_ns(),
        "samebox_version": origin.samebox_version,
        "git": dict(origin.git),
        "lock_sha256": origin.lock_sha256,
        "campaign_file": prepared.campaign_file.name,
        "campaign_sha256": _sha256(prepared.campaign_file),
        **prepared.choice.to_json(campaign),
        "definition": dataclasses.asdict(campaign),
        "order": [trial.to_json() for trial in prepared.trials],
        "order_kind": campaign.order,
        "host_orders": {str(block): list(names) for block, names in orders.items()},
        "testbed": testbed,
        "prices": host_prices(inventory, load_prices()),
        "operator": {"python": platform.python_version(), "kernel": platform.release()},
        "facts": {
            name: {**dataclasses.asdict(each), "programs": dict(equipped.programs[name])}
            for name, each in equipped.facts.items()
        },
        "software": {name: dict(entry) for name, entry in equipped.software.items()},
        **promises,
        "contestant_differences": contestant_differences(campaign, prepared.intended),
        "empty_cells": [dataclasses.asdict(cell) for cell in empty_cells(campaign)],
        "vetting": dict(vetting.summary),
        "floor": [each.to_json() for each in floor],
        "checks": [check.to_json() for check in prepared.checks],
        "caveats": list(dict.fromkeys([*prepared.profile.caveats, *vetting.caveats, *caveats])),
        "repeat": list(repeat),
        "cross_check": cross_check_document(prepared.trials, equipped.store_of) if campaign.cross_check else None,
    }


def _promises(equipped: Equipped) -> tuple[dict[str, Any], list[str]]:
    """What durability levels and system profile mean on these hosts, as keys of the manifest, and the caveats that follow."""
    prepared, campaign, copies = equipped.prepared, equipped.campaign, equipped.campaign.replication_factor
    compared, memory_bytes = campaign.compared, prepared.profile.broker_memory_bytes
    cells = [(spec.contestant, spec.durability) for spec in prepared.trials]
    overrides = {spec.contestant.name: equipped.plans[spec.trial].overrides for spec in prepared.trials}
    named = {each.name: campaign.profile_name(each) for each in compared}
    profiles = {each.name: profile_of(each.system, named[each.name], memory_bytes).to_json() for each in compared}
    asked = {each.name: campaign.settings_of(each) for each in compared}
    promises = {
        "colours": {system: SYSTEMS[system].colour for system in campaign.all_systems if SYSTEMS[system].colour},
        "durability_table": durability_table(cells, overrides, copies),
        "durability_differences": differences((spec.system, spec.durability) for spec in prepared.trials),
        "system_profile": {"name": campaign.system_profile, "systems": profiles},
        **_survival(equipped),
        "own_values": own_values({each.name: each.system for each in compared}, equipped.intended, asked),
    }
    caveats = profile_caveats(((each.system, named[each.name]) for each in compared), memory_bytes)
    caveats += [f"{system} was never run by samebox's makers. {what}" for system, what in untried(campaign).items()]
    return promises, [*caveats, *changed_promises(cells, overrides, copies)]


def _survival(equipped: Equipped) -> dict[str, Any]:
    """What the makers of its systems say of faults: a key of the manifest of a campaign that has some."""
    trials = equipped.prepared.trials
    if not has_faults(trials):
        return {}
    return {"survival": makers_words((spec.system, spec.durability) for spec in trials)}


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _git_state(checkout: Path) -> dict[str, Any]:
    """Commit, whether the checkout differs from it, and a digest of what differs in the code (null: nothing does); nulls where
    this isn't a git checkout or git isn't installed."""

    def ask(*arguments: str) -> str:
        command = ["git", "-C", str(checkout), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=20).stdout.strip()

    try:
        if Path(ask("rev-parse", "--show-toplevel")).resolve() != checkout.resolve():
            return {"commit": None, "dirty": None}  # an unpacked archive inside of another project's checkout
        changed = ask("diff", "HEAD", "--binary", "--", *CODE)
        added = ask("ls-files", "--others", "--exclude-standard", "--", *CODE).splitlines()
        digest = hashlib.sha256(
            "\n".join([changed, *(f"{name} {_sha256(checkout / name)}" for name in added)]).encode()
        )
        return {
            "commit": ask("rev-parse", "HEAD"),
            "dirty": bool(ask("status", "--porcelain")),
            "changes_sha256": digest.hexdigest() if changed or added else None,
        }
    except (OSError, subprocess.SubprocessError, UnicodeError):
        return {"commit": None, "dirty": None}
