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

from bench.campaign.campaign import Campaign, TrialSpec, empty_cells
from bench.campaign.choice import WHOLE, Choice
from bench.campaign.host_order import host_orders
from bench.campaign.testbed_profile import Check
from bench.results.folder import MANIFEST_SCHEMA
from provisioning.hosts.inventory import Inventory

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
    campaign: Campaign,
    trials: Sequence[TrialSpec],
    *,
    choice: Choice = WHOLE,
    campaign_file: Path,
    origin: Origin,
    inventory: Inventory,
    facts: Mapping[str, Any],
    software: Mapping[str, Mapping[str, str]],
    promises: Mapping[str, Any],
    vetting: Mapping[str, Any],
    floor: Sequence[Mapping[str, Any]],
    checks: Sequence[Check],
    caveats: Sequence[str],
    repeat: Sequence[str],
    cross_check: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The document of docs/records.md. `facts`, `vetting`, `floor` and `cross_check` are taken as they are.

    `promises`: its keys durability_table, durability_differences, system_profile and own_values.
    """
    testbed = dataclasses.asdict(inventory)
    del testbed["identity_file"]  # the path of the operator's private key stays private
    return {
        "schema": MANIFEST_SCHEMA,
        "campaign": campaign.name,
        "question": campaign.question,
        "seed": campaign.seed,
        "created_ns": time.time_ns(),
        "samebox_version": origin.samebox_version,
        "git": dict(origin.git),
        "lock_sha256": origin.lock_sha256,
        "campaign_file": campaign_file.name,
        "campaign_sha256": _sha256(campaign_file),
        **choice.to_json(campaign),
        "definition": dataclasses.asdict(campaign),
        "order": [trial.to_json() for trial in trials],
        "order_kind": campaign.order,
        "host_orders": {str(block): list(names) for block, names in host_orders(campaign, inventory).items()},
        "testbed": testbed,
        "operator": {"python": platform.python_version(), "kernel": platform.release()},
        "facts": dict(facts),
        "software": {name: dict(entry) for name, entry in software.items()},
        **promises,
        "empty_cells": [dataclasses.asdict(cell) for cell in empty_cells(campaign)],
        "vetting": dict(vetting),
        "floor": [dict(entry) for entry in floor],
        "checks": [check.to_json() for check in checks],
        "caveats": list(caveats),
        "repeat": list(repeat),
        "cross_check": None if cross_check is None else dict(cross_check),
    }


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
