"""The documents of an unpacked bundle, read as what anybody may have written: every key that verifying looks at has its type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field

from bench.results.folder import Results
from bench.results.recorded import TRIAL_SCHEMA, ChosenScale, TrialName, documented, require_documents
from bench.worker.schedule import Phase
from provisioning.document import build

LARGEST_NS = 2**62  # the year 2116; two of them can be added
Ns = Annotated[int, Field(ge=0, le=LARGEST_NS)]
Count = Annotated[int, Field(ge=0, le=2**48)]


@dataclass(frozen=True)
class PlannedKeys:
    """An entry of the manifest's order."""

    trial: TrialName
    block: Count
    position: Count
    system: str
    durability: str
    workload: str
    contestant: str | None = None


@dataclass(frozen=True)
class HostKeys:
    """A host of the testbed, or of a trial."""

    name: str
    instance_id: str
    role: str


@dataclass(frozen=True)
class KindKeys:
    """Which kind of testbed it was."""

    kind: str


@dataclass(frozen=True)
class TestbedKeys:
    """The manifest's testbed."""

    testbed: KindKeys
    hosts: tuple[HostKeys, ...]


@dataclass(frozen=True)
class SoftwareKeys:
    """What of a contestant's software the manifest says."""

    version: str
    sha256: str


@dataclass(frozen=True)
class RuleKeys:
    """A declared check."""

    check: str
    axis: str
    on_failure: str | None = None
    bounds: Mapping[str, float] | None = None


@dataclass(frozen=True)
class WorkloadsKeys:
    """A part of a definition that has workloads."""

    workloads: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class DefinitionKeys(WorkloadsKeys):
    """The campaign as the manifest says it."""

    experiments: tuple[WorkloadsKeys, ...]


@dataclass(frozen=True)
class VerifiedManifest:
    """What verifying looks at."""

    campaign: str
    seed: Annotated[int, Field(ge=0, lt=2**63)]
    created_ns: Ns
    lock_sha256: str
    campaign_sha256: str
    definition: DefinitionKeys
    order: tuple[PlannedKeys, ...]
    testbed: TestbedKeys
    software: Mapping[str, SoftwareKeys]
    checks: tuple[RuleKeys, ...]
    host_orders: Mapping[str, tuple[str, ...]] | None = None
    scale: ChosenScale | None = None
    representative: bool = False


@dataclass(frozen=True)
class StepKeys:
    """A step of a trial."""

    name: str
    started_ns: Ns
    ended_ns: Ns


@dataclass(frozen=True)
class WorkerKeys:
    """A worker's own counters; null: it told none."""

    worker: str
    host: str
    rows: Count | None = None
    bytes: Count | None = None


@dataclass(frozen=True)
class DaemonKeys:
    """Where a daemon ran."""

    host: str


@dataclass(frozen=True)
class RunKeys:
    """A run of a search."""

    rate_per_s: Annotated[int, Field(ge=1, le=10**9)]


@dataclass(frozen=True)
class SearchKeys:
    """The runs of a search; the records are those of the last."""

    attempts: Annotated[tuple[RunKeys, ...], Field(min_length=1)]


@dataclass(frozen=True)
class WatchedKeys:
    """Until when both sides took notice of what came."""

    producers: Ns
    consumers: Ns


@dataclass(frozen=True)
class ObservationsKeys:
    """What was seen beside the records."""

    workers: tuple[WorkerKeys, ...] = ()
    daemons: tuple[DaemonKeys, ...] = ()
    search: SearchKeys | None = None
    watched_until_ns: WatchedKeys | None = None


@dataclass(frozen=True)
class WorkloadKeys:
    """What a schedule follows from."""

    name: str
    arrivals: str
    producers: Annotated[int, Field(ge=1, le=10**6)]
    consumers: Count
    rate_per_s: Annotated[int, Field(ge=1, le=10**9)]
    pacing: str = "open-loop"


@dataclass(frozen=True)
class VerifiedTrial:
    """What verifying looks at."""

    trial: str
    block: Count
    position: Count
    durability: Mapping[str, Any]
    workload: WorkloadKeys
    hosts: tuple[HostKeys, ...]
    steps: tuple[StepKeys, ...]
    phases: tuple[Phase, ...]
    rows: Mapping[str, Count]
    observations: ObservationsKeys
    abort: Mapping[str, Any] | None = None
    records: Mapping[str, Count] | None = None
    host_order: tuple[str, ...] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


def read_manifest(results: Results) -> dict[str, Any]:
    """Raises InvalidInput naming file and key."""
    manifest = results.manifest()
    build(VerifiedManifest, manifest, where=str(results.manifest_file), strict=True, more_keys=True)
    return manifest


def read_trials(results: Results) -> dict[str, dict[str, Any]]:
    """The trial.json of every trial that has one, once the other documents can be read too. Raises InvalidInput naming file and key."""
    require_documents(results.root, results.finished())
    return {
        name: documented(VerifiedTrial, results.trial_dir(name) / "trial.json", schema=TRIAL_SCHEMA)
        for name in results.finished()
    }
