"""Durability proofs on disk: one folder a proof, and which of them speak for a campaign's software. It proves nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.campaign import Campaign, EmptyCell, TrialSpec
from bench.systems import SYSTEMS
from provisioning.document import read_document
from provisioning.errors import InvalidInput
from provisioning.inventory import Inventory

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
    proofs: Path, campaign: Campaign, trials: Sequence[TrialSpec], software: Mapping[str, Mapping[str, str]]
) -> dict[str, Any] | None:
    """What proofs say of a campaign's systems and levels: the newest of the same software with the same settings for each.

    None if there is nothing. A proof that can't be read, or of another version, says nothing.
    """
    found = []
    newest_first = [
        document for file in sorted(proofs.glob(f"*/{PROOF_FILE}"), reverse=True) if (document := _read(file))
    ]
    for system, level in dict.fromkeys((trial.system, trial.durability) for trial in trials):
        wanted = {"settings": SYSTEMS[system].durability[level], "overrides": campaign.settings.get(system, {})}
        cells = (
            {**cell, "created_ns": document["created_ns"], "testbed": document["testbed"]}
            for document in newest_first
            for cell in document["cells"]
            if (cell["system"], cell["durability"]["name"]) == (system, level)
            and document["software"].get(system) == software.get(system)
            and all(cell[key] == _as_json(value) for key, value in wanted.items())
        )
        found += [cell for cell in [next(cells, None)] if cell is not None]
    return {"schema": PROOF_SCHEMA, "cells": found} if found else None


def _as_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


def _read(file: Path) -> dict[str, Any] | None:
    try:
        document = read_document(file)
    except InvalidInput:
        return None
    return document if document.get("schema") == PROOF_SCHEMA else None
