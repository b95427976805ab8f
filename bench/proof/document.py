"""Durability proofs on disk: one folder a proof, and which of them speak for a campaign's software. It proves nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.campaign import EmptyCell
from provisioning.document import read_document
from provisioning.errors import InvalidInput
from provisioning.inventory import Inventory
from provisioning.settings import Settings

PROOF_SCHEMA = 1
PROOF_FILE = "proof.json"


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
        "cells": [dict(cell) for cell in cells],
        "empty": [{"system": cell.system, "durability": cell.durability, "reason": cell.reason} for cell in empty],
    }


def proof_for(
    proofs: Path, levels: Mapping[str, Mapping[str, Settings]], software: Mapping[str, Mapping[str, str]]
) -> dict[str, Any] | None:
    """What proofs say of a campaign's levels (its manifest's durability table: system -> name -> component -> key -> value).

    For each the newest of the same software in which the level came to the same settings. None if there is nothing. A proof
    that can't be read, or of another version, says nothing.
    """
    found = []
    newest_first = [
        document for file in sorted(proofs.glob(f"*/{PROOF_FILE}"), reverse=True) if (document := _read(file))
    ]
    for system, level in [(system, level) for system, own in levels.items() for level in own]:
        cells = (
            {**cell, "created_ns": document["created_ns"], "testbed": document["testbed"]}
            for document in newest_first
            for cell in document["cells"]
            if (cell["system"], cell["durability"]["name"]) == (system, level)
            and document["software"].get(system) == software.get(system)
            and cell["settings"] == levels[system][level]
        )
        found += [cell for cell in [next(cells, None)] if cell is not None]
    return {"schema": PROOF_SCHEMA, "cells": found} if found else None


def _read(file: Path) -> dict[str, Any] | None:
    try:
        document = read_document(file)
    except InvalidInput:
        return None
    return document if document.get("schema") == PROOF_SCHEMA else None
