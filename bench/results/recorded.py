"""What a results folder must hold to be read: the keys of its documents with their types, and whole record files.

Checked before a report's job, which would take half a minute to start and then fail on one of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field, StringConstraints

from bench.worker.schedule import Phase
from contract import results_folder as layout
from provisioning.document import build, read_document, require_schema
from provisioning.errors import InvalidInput
from provisioning.hosts.inventory import RecordsBucket

TRIAL_SCHEMA = 1
ATTEMPTS_SCHEMA = 1
PROOF_SCHEMA = 1
RECORDS = ("produced", "consumed", "hosts")
# a trial's name is that of its folder
TrialName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=255)]
T = TypeVar("T")


@dataclass(frozen=True)
class Planned:
    """An entry of the manifest's `order`."""

    trial: TrialName


@dataclass(frozen=True)
class RecordedHost:
    """A host of the manifest's `testbed`."""

    name: str
    instance_id: str


@dataclass(frozen=True)
class RecordedTestbed:
    """The manifest's `testbed`."""

    hosts: tuple[RecordedHost, ...] = ()
    records_bucket: RecordsBucket | None = None


@dataclass(frozen=True)
class ChosenScale:
    """The manifest's `scale`."""

    name: str


@dataclass(frozen=True)
class Declared:
    """A check of the manifest."""

    check: str
    axis: str


@dataclass(frozen=True)
class ManifestKeys:
    """What is read of a manifest. Which of it must be there is for its reader to say."""

    schema: int
    campaign: str = ""
    question: str = ""
    created_ns: Annotated[int, Field(ge=0, le=2**63 - 1)] = 0
    order: tuple[Planned, ...] = ()
    testbed: RecordedTestbed | None = None
    definition: Mapping[str, Any] | None = None
    software: Mapping[str, Mapping[str, str]] | None = None
    checks: tuple[Declared, ...] = ()
    repeat: tuple[str, ...] = ()
    scale: ChosenScale | None = None


@dataclass(frozen=True)
class TrialKeys:
    """What every reader of a trial.json needs."""

    schema: int
    system: str
    block: int
    position: int
    durability: Mapping[str, Any]
    workload: Mapping[str, Any]
    phases: tuple[Phase, ...]
    rows: Mapping[str, int]
    observations: Mapping[str, Any]


@dataclass(frozen=True)
class SentKeys:
    """What a trial.json says of its records, file -> bytes, and whether it ended early."""

    abort: Mapping[str, Any] | None
    records: Mapping[str, int]


@dataclass(frozen=True)
class AttemptsKeys:
    """The attempts at a trial that isn't finished."""

    schema: int
    attempts: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class ProofKeys:
    """What proofs said of a campaign's levels."""

    schema: int
    cells: tuple[Mapping[str, Any], ...]


def documented(cls: type[T], path: Path, *, schema: int) -> dict[str, Any]:
    """A JSON document that has the keys of `cls`, whole. Raises InvalidInput naming file and key."""
    document = read_document(path)
    require_schema(document, path, schema)
    build(cls, document, where=str(path), strict=True, more_keys=True)
    return document


def require_whole(root: Path, trials: tuple[str, ...]) -> None:
    """Raises InvalidInput naming the first file of a results folder, or of its finished `trials`, that can't be read."""
    require_documents(root, trials)
    for trial in trials:
        folder = root / layout.trial_folder(trial)
        for kind in RECORDS:
            for file in sorted((folder / kind).glob("[!._]*.parquet")):
                _require_parquet(root, folder, file)


def require_documents(root: Path, trials: tuple[str, ...]) -> None:
    """The same of its documents alone."""
    for file in sorted(root.glob(layout.NOTED[0])):
        documented(AttemptsKeys, file, schema=ATTEMPTS_SCHEMA)
    proof = root / "durability_proof.json"
    if proof.exists():
        documented(ProofKeys, proof, schema=PROOF_SCHEMA)
    for file in sorted((root / layout.VETTING).glob("*.json")):
        read_document(file)
    for trial in trials:
        documented(TrialKeys, root / layout.trial_folder(trial) / layout.TRIAL, schema=TRIAL_SCHEMA)


def _require_parquet(root: Path, trial: Path, file: Path) -> None:
    try:
        pq.read_metadata(file)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise InvalidInput(
            f"{file}: not a whole Parquet file: {reason}.",
            next_step=f"Delete {trial}, and `samebox resume {root}` runs that trial again.",
        ) from None
