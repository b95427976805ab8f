"""Where a campaign's files live and how they are written: once, aside, then renamed. The only code that writes below results/."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.results.recorded import ATTEMPTS_SCHEMA, AttemptsKeys, ManifestKeys, documented
from contract import results_folder as layout
from provisioning.document import build, read_document
from provisioning.errors import InvalidInput

MANIFEST_SCHEMA = 1


@dataclass(frozen=True)
class Results:
    """The folder of one campaign; the layout is docs/records.md."""

    root: Path

    @property
    def manifest_file(self) -> Path:
        return self.root / layout.MANIFEST

    @property
    def campaign_file(self) -> Path:
        """The campaign file as it was when the campaign began; `resume` reads this one."""
        return self.root / layout.CAMPAIGN

    @property
    def durability_proof_file(self) -> Path:
        """What durability proofs say of the campaign's systems and levels; there only if there were any when it began."""
        return self.root / layout.DURABILITY_PROOF

    @property
    def report_dir(self) -> Path:
        return self.root / layout.REPORT

    @property
    def checks_file(self) -> Path:
        return self.root / layout.CHECKS

    @property
    def report_file(self) -> Path:
        return self.report_dir / "index.html"

    def trial_dir(self, trial: str) -> Path:
        """A finished trial's folder."""
        return self.root / layout.trial_folder(trial)

    def partial_dir(self, trial: str) -> Path:
        """Where a trial is written until it is whole."""
        return self.root / layout.TRIALS / f".partial-{trial}"

    def attempts_file(self, trial: str) -> Path:
        """What is noted of the attempts at a trial until it is whole."""
        return self.root / layout.attempts_file(trial)

    def noted_attempts(self, trial: str) -> list[dict[str, Any]]:
        """The attempts at an unfinished trial, the first one first."""
        file = self.attempts_file(trial)
        return list(documented(AttemptsKeys, file, schema=ATTEMPTS_SCHEMA)["attempts"]) if file.exists() else []

    def note_attempts(self, trial: str, attempts: Sequence[Mapping[str, Any]]) -> None:
        """Notes the attempts at a trial that isn't finished."""
        write_json(self.attempts_file(trial), {"schema": ATTEMPTS_SCHEMA, "attempts": list(attempts)})

    def probe_file(self, name: str) -> Path:
        """What a probe in the middle of the campaign has found."""
        return self.root / layout.PROBES / f"{name}.json"

    def probed(self) -> tuple[str, ...]:
        """The probes in the middle of the campaign that were taken, by name."""
        return tuple(sorted(file.stem for file in self.root.glob(f"{layout.PROBES}/[!.]*.json")))

    def finished(self) -> tuple[str, ...]:
        """The trials that are whole, by name."""
        return tuple(sorted(file.parent.name for file in self.root.glob(layout.WHOLE_TRIALS)))

    def manifest(self, *needed: str) -> dict[str, Any]:
        """The manifest, with the keys `needed`. Raises InvalidInput if this isn't a results folder of this version."""
        if not self.root.exists():
            raise InvalidInput(
                f"{self.root} doesn't exist: no campaign named {self.root.name} has reached its first trial.",
                next_step="One that was killed before that has recorded nothing: run the command that began it again, "
                f"such as `samebox run campaigns/{self.root.name}.toml`.",
            )
        if not os.path.lexists(self.manifest_file):
            raise InvalidInput(
                f"{self.root} is not a results folder: it has no {layout.MANIFEST}.",
                next_step="Name the folder of a campaign, such as results/demo; `samebox status` lists them.",
            )
        manifest = read_document(self.manifest_file)
        if manifest.get("schema") != MANIFEST_SCHEMA:
            raise InvalidInput(f"{self.manifest_file}: schema {manifest.get('schema')!r} is not {MANIFEST_SCHEMA}.")
        build(ManifestKeys, manifest, where=str(self.manifest_file), strict=True, more_keys=True)
        for key in needed:
            if key not in manifest:
                raise InvalidInput(
                    f"{self.manifest_file}: key {key!r} is missing.",
                    next_step="If it was edited by hand, restore the file as samebox wrote it.",
                )
        return manifest

    def name_in_bucket(self) -> str:
        """What the results are called in a bucket: campaign and start, since a bucket outlives a campaign that is run again."""
        manifest = self.manifest("campaign", "created_ns")
        began = datetime.fromtimestamp(int(manifest["created_ns"]) / 1e9, UTC)
        return f"{manifest['campaign']}-{began:%Y%m%dT%H%M%SZ}"

    def records_bucket(self) -> str | None:
        """The bucket that holds the records, sent there by the client hosts; None: they are here."""
        bucket = self.manifest("testbed")["testbed"].get("records_bucket")
        return str(bucket["name"]) if bucket else None

    def records_region(self) -> str:
        """The region of `records_bucket`."""
        return str(self.manifest("testbed")["testbed"]["records_bucket"]["region"])

    def require_new(self) -> None:
        """Raises InvalidInput if the folder exists."""
        if self.root.exists():
            raise InvalidInput(
                f"{self.root} exists already, and results are written once.",
                next_step=f"--again keeps it under its date and starts anew; `samebox resume {self.root}` continues it "
                "if its testbed is still up.",
            )

    def begin(
        self,
        manifest: Mapping[str, Any],
        vetting: Mapping[str, Mapping[str, Any]],
        campaign_file: Path,
        *,
        sources: Iterable[str] = (),
        durability_proof: Mapping[str, Any] | None = None,
    ) -> None:
        """Makes the folder before the first trial: campaign file, `sources` from beside it, vetting, what proofs say of the
        levels, manifest.

        Raises InvalidInput if it exists.
        """
        self.require_new()
        aside = Results(self.root.with_name(f".{self.root.name}.partial"))
        shutil.rmtree(aside.root, ignore_errors=True)
        (aside.root / layout.TRIALS).mkdir(parents=True)
        shutil.copyfile(campaign_file, aside.campaign_file)
        for name in sources:
            shutil.copyfile(campaign_file.with_name(name), aside.root / name)
        for host, document in vetting.items():
            write_json(aside.root / layout.VETTING / f"{host}.json", document)
        if durability_proof is not None:
            write_json(aside.durability_proof_file, durability_proof)
        write_json(aside.manifest_file, manifest)
        aside.root.rename(self.root)

    def begin_trial(self, trial: str) -> Path:
        """An empty folder for a trial's files; what an interrupted attempt left there is removed."""
        partial = self.partial_dir(trial)
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        return partial

    def finish_trial(self, trial: str, document: Mapping[str, Any]) -> None:
        """Writes trial.json and makes the folder whole by one rename; attempts are no longer noted beside it."""
        partial = self.partial_dir(trial)
        write_json(partial / layout.TRIAL, document)
        partial.rename(self.trial_dir(trial))
        self.attempts_file(trial).unlink(missing_ok=True)

    def set_aside(self) -> Path | None:
        """Renames an earlier campaign of this name to one with its date; None if there is none."""
        if not self.root.exists():
            return None
        stamp = datetime.fromtimestamp(self.root.stat().st_mtime, UTC).strftime("%Y%m%dT%H%M%SZ")
        kept = self.root.with_name(f"{self.root.name}-{stamp}")
        number = 1
        while kept.exists():
            number += 1
            kept = self.root.with_name(f"{self.root.name}-{stamp}-{number}")
        self.root.rename(kept)
        return kept


def write_json(path: Path, document: Any) -> None:
    """Writes JSON aside and renames it into place, so that a crash never leaves half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    aside.write_text(json.dumps(document, indent=1, sort_keys=False) + "\n")
    aside.rename(path)
