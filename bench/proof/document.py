"""Durability proofs on disk: one folder a proof, what each rests on, and which of them speak for a campaign.

A proof rests on the system's software and settings, and on a basis in this checkout: a change of either, and it says nothing.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.campaign.order import EmptyCell
from bench.checkout import CHECKOUT
from bench.load.client_hosts import LOCK_FILE
from provisioning.document import read_document
from provisioning.errors import InvalidInput
from provisioning.hosts.inventory import Inventory
from systems.profile import VENDOR_DEFAULT
from systems.registry import SYSTEMS
from systems.settings import Settings

PROOF_SCHEMA = 1
PROOF_FILE = "proof.json"
DOES_NOT_APPLY = "does not apply"
# what every client is connected by, and what a proof is made with
_CLIENT = (
    "systems/client.py",
    "systems/connection.py",
    "systems/keys.py",
    "contract/workload.py",
    "bench/load/jobs.py",
    "bench/worker/job.py",
    "bench/worker/one_answer.py",
)
_PROOF = (
    "bench/proof",
    "bench/worker/sender.py",
    "provisioning/hosts/async_io.py",
    "provisioning/hosts/strace.py",
    "provisioning/hosts/strace_agent.py",
)
_LOCKED = re.compile(r"^([a-z0-9-]+)==([^\s\\]+)", re.MULTILINE)

Basis = Mapping[str, str]


def new_folder(proofs: Path, at: datetime) -> Path:
    """The folder of a proof begun at that time; its name sorts by time."""
    folder = proofs / at.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    folder.mkdir(parents=True)
    return folder


def proof_document(
    cells: Sequence[Mapping[str, Any]],
    empty: Sequence[EmptyCell],
    *,
    inventory: Inventory,
    software: Mapping[str, Mapping[str, str]],
    bases: Mapping[str, Basis],
    samebox_version: str,
    created_ns: int,
) -> dict[str, Any]:
    """The document of docs/durability.md."""
    return {
        "schema": PROOF_SCHEMA,
        "created_ns": created_ns,
        "samebox_version": samebox_version,
        "testbed": {"kind": inventory.testbed.kind, "name": inventory.testbed.name},
        "software": {name: dict(entry) for name, entry in software.items()},
        "bases": {name: dict(basis) for name, basis in bases.items()},
        "cells": [dict(cell) for cell in cells],
        "empty": [{"system": cell.system, "durability": cell.durability, "reason": cell.reason} for cell in empty],
    }


def proof_for(
    proofs: Path,
    levels: Mapping[str, Mapping[str, Settings]],
    software: Mapping[str, Mapping[str, str]],
    bases: Mapping[str, Basis],
    *,
    systems: Mapping[str, str],
    system_profile: str = VENDOR_DEFAULT,
) -> dict[str, Any] | None:
    """What proofs say of a campaign's levels (its manifest's durability table: contestant -> name -> component -> key -> value).

    `software`: by contestant. `bases`: by system. `systems`: contestant -> its system.

    For each the newest of the same software, the same client and kit (`bases`), in which the level came to the same settings; where
    there are only others the newest of them, with the verdict DOES_NOT_APPLY, why, and what to type. None if there is nothing. A
    proof that can't be read, or of another version, says nothing.
    """
    found = []
    newest_first = [
        document for file in sorted(proofs.glob(f"*/{PROOF_FILE}"), reverse=True) if (document := _read(file))
    ]
    for contestant, level in [(contestant, level) for contestant, own in levels.items() for level in own]:
        system = systems[contestant]
        meant, build = levels[contestant][level], software.get(contestant)
        kept = [
            {**cell, "created_ns": document["created_ns"], "testbed": document["testbed"], "unlike": unlike_here}
            for document in newest_first
            for cell in document["cells"]
            if (cell["system"], cell["durability"]["name"]) == (system, level)
            for unlike_here in [_unlike(document, cell, meant, build, bases[system])]
        ]
        applies = [cell for cell in kept if not cell["unlike"]]
        chosen = next(iter(applies or kept), None)
        if chosen is not None:
            reasons, named = chosen.pop("unlike"), {} if contestant == system else {"contestant": contestant}
            chosen = _does_not_apply(chosen, reasons, system_profile) if reasons else chosen
            found.append({**named, **chosen})
    return {"schema": PROOF_SCHEMA, "cells": found} if found else None


def _unlike(
    document: Mapping[str, Any],
    cell: Mapping[str, Any],
    settings: Settings,
    software: Mapping[str, str] | None,
    basis: Basis,
) -> list[str]:
    """Why a cell says nothing of a level with these settings, software and basis; nothing if it does."""
    reasons = []
    if document["software"].get(cell["system"]) != software:
        reasons.append("another build of the system's software")
    if cell["settings"] != settings:
        reasons.append("other settings of the level")
    kept: Basis | None = (document.get("bases") or {}).get(cell["system"])
    if kept is None:
        return [*reasons, "no record of what it rests on"]
    changed = [part for part in basis if kept.get(part) != basis[part]]
    return [*reasons, *(f"different {part}" if part in kept else f"unknown {part}" for part in changed)]


def _does_not_apply(cell: Mapping[str, Any], reasons: Sequence[str], system_profile: str) -> dict[str, Any]:
    again = f"samebox prove-durability --systems {cell['system']} --durability {cell['durability']['name']}"
    if system_profile != VENDOR_DEFAULT:
        again += f" --system-profile {system_profile}"
    made = f"It was {cell['verdict']} with {' and '.join(reasons)}"
    sentence = f"{made}, so it doesn't apply to this campaign. To prove it again: {again}"
    return {**cell, "verdict": DOES_NOT_APPLY, "sentence": sentence, "evidence": None}


def _read(file: Path) -> dict[str, Any] | None:
    try:
        document = read_document(file)
    except InvalidInput:
        return None
    return document if document.get("schema") == PROOF_SCHEMA else None


def basis_of(system: str, checkout: Path = CHECKOUT) -> Basis:
    """Part -> what identifies it in this checkout: the locked libraries by name and version, everything else by a digest."""
    own = SYSTEMS[system]
    libraries = _LOCKED.findall((checkout / LOCK_FILE.relative_to(CHECKOUT)).read_text())
    return {
        "client libraries": ", ".join(f"{name} {version}" for name, version in libraries),
        "client code": _digest(checkout, (*_CLIENT, *own.client_files)),
        "deployment code": _digest(checkout, _deployment_of(system, checkout)),
        "proof code": _digest(checkout, _PROOF),
    }


def _deployment_of(system: str, checkout: Path) -> list[str]:
    """The system's own folder and all that systems share, but clients and load tools, which put nothing on broker hosts."""
    others = {checkout / "systems" / name for name in SYSTEMS if name != system}
    return [
        str(file.relative_to(checkout))
        for file in (checkout / "systems").rglob("*")
        if file.is_file()
        and not others & set(file.parents)
        and not file.stem.endswith(("client", "connection", "load_tool", "keys"))
    ]


def _digest(checkout: Path, paths: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for path in sorted(paths):
        whole = checkout / path
        files = [whole] if whole.is_file() else sorted(file for file in whole.rglob("*") if file.is_file())
        for file in files:
            if "__pycache__" not in file.parts:
                digest.update(f"{file.relative_to(checkout)}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()
