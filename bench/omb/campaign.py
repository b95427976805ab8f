"""Workload files of OpenMessaging Benchmark as one campaign: its TOML file, with the originals beside it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from bench.campaign.campaign import NAME_LENGTH, slug_of
from bench.campaign.campaign_file import CAMPAIGN_SCHEMA
from bench.omb.fields import read_workload
from bench.omb.mapping import ALWAYS, differences, workload_of
from contract.workload import table_of
from provisioning.errors import InvalidInput

_HEADER = """\
# Workload files of OpenMessaging Benchmark as samebox understands them, every default filled in. It was written by
# `samebox run --omb` or `samebox plan --omb`; the files themselves lie beside it, their SHA-256 below 'sources'.
"""

# how such files, written for large machines, are shrunk to this one (--scale local)
_SCALES = {
    "local": {
        "rate": 0.01,
        "bound": 0.1,
        "backlog": 0.00025,
        "duration": 0.1,
        "topics": 0.1,
        "partitions": 0.1,
        "producers": 0.2,
    }
}


@dataclass(frozen=True)
class Choices:
    """What a campaign needs and workload files don't say."""

    systems: tuple[str, ...]
    durability: tuple[str, ...]
    blocks: int
    seed: int


def write_campaign(files: Sequence[Path], choices: Choices, below: Path) -> Path:
    """Writes the campaign that the files make into a folder of its own `below`, called by its content; returns the campaign file.

    Raises InvalidInput with all problems of all files.
    """
    document = campaign_document(files, choices)
    text = _HEADER + tomli_w.dumps(document)
    folder = below / f"{document['name']}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        _put(folder / _source_name(file), file.read_bytes())
    _put(folder / "campaign.toml", text.encode())
    return folder / "campaign.toml"


def campaign_document(files: Sequence[Path], choices: Choices) -> dict[str, Any]:
    """The campaign as its file says it: an experiment for each workload file. Raises InvalidInput with all problems of all files."""
    _require_distinct(files)
    experiments: list[dict[str, Any]] = []
    problems: list[str] = []
    steps: list[str] = []
    for file in files:
        try:
            experiments.append(_experiment(file, choices))
        except InvalidInput as error:
            problems.append(str(error))
            steps += [error.next_step] if error.next_step not in ("", *steps) else []
    if problems:
        raise InvalidInput("\n".join(problems), next_step="\n".join(steps))
    return {
        "schema": CAMPAIGN_SCHEMA,
        "name": _campaign_name(files),
        "question": "OpenMessaging Benchmark: "
        + (experiments[0]["title"] if len(files) == 1 else f"{len(files)} workloads"),
        "seed": choices.seed,
        "systems": choices.systems,
        "blocks": choices.blocks,
        "differs": [ALWAYS],
        "scales": _SCALES,
        "sources": {_source_name(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files},
        "experiments": experiments,
    }


def _experiment(file: Path, choices: Choices) -> dict[str, Any]:
    omb = read_workload(file)
    name = _slug(file)
    return {
        "id": name,
        "title": omb.name or file.stem,
        "durability": choices.durability,
        "differs": differences(omb),
        "workloads": [table_of(workload_of(omb, name, where=str(file)))],
    }


def _slug(file: Path) -> str:
    """A file's name as a workload's; the longest in OpenMessaging Benchmark and its forks fit."""
    return slug_of(file.stem) or "workload"


def _source_name(file: Path) -> str:
    return f"omb-{_slug(file)}.yaml"


def _campaign_name(files: Sequence[Path]) -> str:
    if len(files) == 1:
        return _slug(files[0])
    more = f"-and-{len(files) - 1}-more"
    return _slug(files[0])[: NAME_LENGTH - len(more)] + more


def _require_distinct(files: Sequence[Path]) -> None:
    """Trials are called by their workload, so that two files must not have one name."""
    named: dict[str, Path] = {}
    for file in files:
        name = _slug(file)
        if name in named:
            raise InvalidInput(
                f"{named[name]} and {file} would both be called {name!r}.",
                next_step="Rename one of them, or run them one after the other.",
            )
        named[name] = file


def _put(path: Path, content: bytes) -> None:
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    aside.write_bytes(content)
    aside.rename(path)
