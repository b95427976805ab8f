"""Starts the task of claims, and knows which claims there are, from their files. It never imports analysis."""

from __future__ import annotations

import json
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from bench.report.here import require_report, run_plain_job
from bench.results.folder import Results
from contract import results_folder as layout
from provisioning.errors import InvalidInput

IMPORT_FILE = "import.json"


def known_claims(checkout: Path) -> dict[str, tuple[str, ...]]:
    """The ids of all claims, by document."""
    files = sorted((checkout / "analysis" / "claims").glob("*.toml"))
    return {file.stem: tuple(claim["id"] for claim in tomllib.loads(file.read_text())["claims"]) for file in files}


def require_known(given: Iterable[str], known: Iterable[str], *, what: str) -> None:
    """Raises InvalidInput with the nearest names for one that isn't known."""
    known = list(known)
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, n=5, cutoff=0.5)
            choices = f"Did you mean {', '.join(near)}?" if near else f"Valid choices: {_shortened(known)}."
            raise InvalidInput(f"no {what} {name!r}. {choices}", next_step="`samebox claims` lists them all.")


def require_evidence(folder: Path) -> tuple[str, ...]:
    """How to name a folder to the job: a campaign's results with a report, or an import. Raises InvalidInput for another one."""
    if (folder / IMPORT_FILE).is_file():
        return ("--imported", str(folder.resolve()))
    if not (folder / layout.MANIFEST).is_file():
        raise InvalidInput(
            f"{folder}: neither a campaign's results folder (it has no manifest.json) nor imported results (no {IMPORT_FILE}).",
            next_step="Name the folder of a campaign, such as results/demo, or one that `samebox import-omb` wrote.",
        )
    results = Results(folder)
    results.manifest()
    require_report(results)
    return ("--results", str(results.root.resolve()))


def judge_claims(
    evidence: Sequence[str], checkout: Path, *, scratch: Path, on_line: Callable[[str], None]
) -> Mapping[str, Any]:
    """The document of verdicts: by what is printed, or by `evidence` (of require_evidence). Raises SameboxError if the job failed."""
    scratch.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="claims-", dir=scratch) as folder:
        verdicts = Path(folder) / "verdicts.json"
        run_plain_job(["claims", str(verdicts), *evidence], checkout, on_line=on_line, what="claims")
        document: Mapping[str, Any] = json.loads(verdicts.read_text())
    return document


def _shortened(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= 8 else f"{', '.join(names[:4])} ... {', '.join(names[-2:])}"
