"""Starts the task of claims, and knows which claims there are, from their files. It never imports analysis."""

from __future__ import annotations

import json
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from bench.report import job_file, require_report, submit_job
from bench.results import Results
from provisioning.errors import InvalidInput


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


def judge_claims(
    results: Results | None, checkout: Path, *, master: str, scratch: Path, on_line: Callable[[str], None]
) -> Mapping[str, Any]:
    """The document of verdicts: by what is printed, or by the report of `results`. Raises SameboxError if the job failed."""
    if results is not None:
        results.manifest()  # refuses a folder that isn't a campaign's
        require_report(results)
    scratch.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="claims-", dir=scratch) as folder:
        verdicts = Path(folder) / "verdicts.json"
        arguments = ["claims", str(verdicts), *(() if results is None else ("--results", str(results.root.resolve())))]
        submit_job(
            job_file(checkout), arguments, checkout, master=master, scratch=scratch, on_line=on_line, what="claims"
        )
        document: Mapping[str, Any] = json.loads(verdicts.read_text())
    return document


def _shortened(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= 8 else f"{', '.join(names[:4])} ... {', '.join(names[-2:])}"
