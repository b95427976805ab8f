"""A campaign's documents: manifest, trials, vetting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from analysis.documents import require_known_schema
from analysis.schema import DRAIN, MEASURE
from analysis.storage import Storage
from analysis.words import AA, OPEN_LOOP, SEARCH
from contract import results_folder as layout
from contract.durability import contestant_of

NANOSECONDS = 1_000_000_000


Side = Literal["producers", "consumers"]


@dataclass(frozen=True)
class Trial:
    """One trial as bench recorded it; `document` is its trial.json."""

    name: str
    document: Mapping[str, Any]

    @property
    def system(self) -> str:
        return str(self.document["system"])

    @property
    def experiment(self) -> str:
        return str(self.document["experiment"])

    @property
    def durability(self) -> Mapping[str, Any]:
        durability: Mapping[str, Any] = self.document["durability"]
        return durability

    @property
    def level(self) -> int:
        """The promise's number; durabilities of one level promise the same."""
        return int(self.durability["level"])

    @property
    def called(self) -> str:
        """What the campaign calls what was run: a contestant by its own name, else the system."""
        return str(self.document.get("contestant") or self.system)

    @property
    def contestant(self) -> str:
        """What is compared inside a cell: what the campaign calls so, else a system, or a system in one of its variants."""
        return str(self.document.get("contestant") or contestant_of(self.system, self.durability))

    @property
    def workload(self) -> Mapping[str, Any]:
        workload: Mapping[str, Any] = self.document["workload"]
        return workload

    @property
    def ladder(self) -> str | None:
        """The ladder of which its workload is a rung."""
        return self.workload.get("ladder")

    @property
    def block(self) -> int:
        return int(self.document["block"])

    @property
    def position(self) -> int:
        return int(self.document["position"])

    @property
    def is_aa(self) -> bool:
        """Whether it is of a block in which one system took both places: noise is measured by it, and nothing compared."""
        return bool(self.document.get("block_kind") == AA)

    @property
    def is_native(self) -> bool:
        """Whether the system's own tools made its load, to check another trial."""
        return bool(self.document.get("generator") == "native")

    @property
    def has_offered_rate(self) -> bool:
        """Whether its load was fixed beforehand, the same for every system; a search and a closed loop find one for each."""
        return bool(self.workload["pacing"] == OPEN_LOOP)

    @property
    def is_search(self) -> bool:
        """Whether its load is the highest rate that was found to be sustained."""
        return bool(self.workload["pacing"] == SEARCH)

    @property
    def completed(self) -> bool:
        return bool(self.document["ended"] == "completed")

    @property
    def cell(self) -> tuple[str, int]:
        """What is held equal when systems are compared: workload and durability level."""
        return str(self.workload["name"]), self.level

    @property
    def start_ns(self) -> int | None:
        """When the schedule began, or None if the trial never got so far."""
        starts = [int(phase["start_ns"]) for phase in self.document["phases"]]
        return min(starts, default=None)

    @property
    def measured_phase(self) -> str:
        """The phase that the trial's figures are of: of one with a backlog, the drain."""
        return DRAIN if self.workload["backlog"] else MEASURE

    @property
    def subscriptions(self) -> int:
        """How many subscriptions were to receive every message."""
        backlog = self.workload["backlog"]
        own = int(self.workload["subscriptions"]) if self.workload["consumers"] else 0
        return own + (int(backlog["subscriptions"]) if backlog else 0)

    def hosts_beside(self, name: str) -> set[str]:
        """The hosts on the same machine as a host (told by its boot id), that one included."""
        boots = {host["name"]: host["boot_id"] for host in self.document["hosts"]}
        return {host for host, boot_id in boots.items() if boot_id == boots.get(name)}

    def measured_ns(self) -> tuple[int, int] | None:
        """Start and end of the measured phase, or None if the trial never reached it."""
        return self.phase_ns(self.measured_phase)

    def phase_ns(self, name: str) -> tuple[int, int] | None:
        """Start and end of a phase, or None if the trial never reached it."""
        phase = next((each for each in self.document["phases"] if each["name"] == name), None)
        return None if phase is None else (int(phase["start_ns"]), int(phase["end_ns"]))

    def watched_until_ns(self, who: Side) -> int:
        """Until when producers (consumers) took notice of what came; if not recorded, the end of the schedule or the load."""
        recorded = self.document["observations"].get("watched_until_ns")
        if recorded:
            return int(recorded[who])
        ends_ns = [int(step["ended_ns"]) for step in self.document["steps"] if step["name"] == "load"]
        return min([max(int(phase["end_ns"]) for phase in self.document["phases"]), *ends_ns])


@dataclass(frozen=True)
class CutOff:
    """An attempt at a trial that came to no end; `repeated` if the trial is recorded. `step`: which of the trial's steps it had come
    to (None: not to the first), `after_s`: how long after its beginning that began; `loaded`: whether its load had begun. `abort`: the
    rule by which the trial itself had ended early; `reason` None: nothing was left to say it, or it is still under way.
    """

    trial: str
    began_ns: int
    step: str | None
    after_s: float | None
    loaded: bool
    abort: str | None
    reason: str | None
    repeated: bool


@dataclass(frozen=True)
class Campaign:
    """Everything in a results folder but the rows. `not_recorded`: planned trials that have no trial.json. `cut_off`: attempts at
    trials. All in the planned order, which is the order they ran in.

    `durability_proof`: what proofs say of the systems' levels, an entry each; empty where there were none. `probes`: what was
    measured of the disks in the middle of the campaign, the first one first.
    """

    results: str
    manifest: Mapping[str, Any]
    trials: tuple[Trial, ...]
    vetting: Mapping[str, Mapping[str, Any]]
    not_recorded: tuple[str, ...]
    durability_proof: tuple[Mapping[str, Any], ...] = ()
    cut_off: tuple[CutOff, ...] = ()
    probes: tuple[Mapping[str, Any], ...] = ()

    def block(self, number: int) -> tuple[Trial, ...]:
        """The trials of one block, in the order they ran."""
        return tuple(trial for trial in self.trials if trial.block == number)

    def beside(self, trial: str) -> tuple[Mapping[str, Any], ...]:
        """The probes of disks next to a trial: the last one before it and the first one after it, if they were taken."""
        return tuple(probe for probe in self.probes if trial in (*probe["before"], *probe["after"]))


def read_campaign(storage: Storage, results: str) -> Campaign:
    """Reads the documents of a results folder. Refuses an unknown schema version, naming the file."""
    results = results.rstrip("/")
    manifest = _known(storage, f"{results}/{layout.MANIFEST}")
    folders = [entry.name for entry in storage.entries(f"{results}/{layout.TRIALS}") if entry.is_folder]
    whole = {name for name in folders if storage.exists(f"{results}/{layout.trial_folder(name)}/{layout.TRIAL}")}
    vetted = [entry.name for entry in storage.entries(f"{results}/{layout.VETTING}") if entry.name.endswith(".json")]
    again = f"{results}/{layout.PROBES}"
    probed = [entry.name for entry in storage.entries(again) if entry.name.endswith(".json")]
    proof = f"{results}/{layout.DURABILITY_PROOF}"
    planned = [str(entry["trial"]) for entry in manifest["order"]]
    trials = tuple(
        Trial(name, _known(storage, f"{results}/{layout.trial_folder(name)}/{layout.TRIAL}"))
        for name in planned
        if name in whole
    )
    not_recorded = tuple(name for name in planned if name not in whole)
    attempts = {trial.name: trial.document.get("cut_off_attempts", []) for trial in trials}
    attempts |= {name: _noted_attempts(storage, results, name) for name in not_recorded}
    return Campaign(
        results=results,
        manifest=manifest,
        trials=trials,
        vetting={name.removesuffix(".json"): _known(storage, f"{results}/{layout.VETTING}/{name}") for name in vetted},
        not_recorded=not_recorded,
        durability_proof=tuple(_known(storage, proof)["cells"]) if storage.exists(proof) else (),
        probes=tuple(_known(storage, f"{again}/{name}") for name in probed),
        cut_off=tuple(
            _cut_off(name, attempt, repeated=name in whole) for name in planned for attempt in attempts[name]
        ),
    )


def _noted_attempts(storage: Storage, results: str, trial: str) -> list[dict[str, Any]]:
    """The attempts at a trial that never became whole."""
    note = f"{results}/{layout.attempts_file(trial)}"
    return list(_known(storage, note)["attempts"]) if storage.exists(note) else []


def _cut_off(trial: str, attempt: Mapping[str, Any], *, repeated: bool) -> CutOff:
    began_ns, step_began_ns = int(attempt["began_ns"]), attempt["step_began_ns"]
    after_s = None if step_began_ns is None else (int(step_began_ns) - began_ns) / NANOSECONDS
    return CutOff(
        trial=trial,
        began_ns=began_ns,
        step=attempt["step"],
        after_s=after_s,
        loaded=attempt["load_began_ns"] is not None,
        abort=attempt["abort"] and attempt["abort"]["rule"],
        reason=attempt["reason"],
        repeated=repeated,
    )


def _known(storage: Storage, uri: str) -> dict[str, Any]:
    document = storage.read_json(uri)
    require_known_schema(document, uri, next_step="Analyse it with the samebox version that wrote it.")
    return document
