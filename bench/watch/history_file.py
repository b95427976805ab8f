"""The file in which a watch is remembered, in the user's project, to be committed with it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.campaign.campaign import slug_of
from bench.checkout import HOME
from bench.results.folder import write_json
from contract.watch_history import WATCH_SCHEMA, History
from contract.workload import Workload, table_of
from provisioning.document import parse_document
from provisioning.errors import InvalidInput

_LONGEST_NAME = 48  # of a campaign's 64


@dataclass(frozen=True)
class HistoryFile:
    """`path`: whatever the user calls it; its campaigns are called by it."""

    path: Path

    @property
    def name(self) -> str:
        return slug_of(self.path.stem)[:_LONGEST_NAME].strip("-") or "watch"

    def read(self, asked: History) -> History:
        """What it remembers, or `asked`, which has no rounds, where there is no such file yet.

        Raises InvalidInput where it can't be read, and where it isn't of what is asked for, naming the keys that differ.
        """
        if not self.path.exists():
            return asked
        found = parse_document(History, self.path, schema=WATCH_SCHEMA)
        if unlike := list(_unlike(found, asked)):
            raise InvalidInput(
                f"{self.path} is another watch: {'; '.join(unlike)}.",
                next_step="--history FILE keeps a series of its own; or ask for what that one watches.",
            )
        return found

    def write(self, history: History) -> None:
        """Aside, then renamed."""
        write_json(self.path, asdict(history))


def new_history(system: str, anchor: str, durability: str, workload: Workload) -> History:
    """Without any round. Its workload is as a file would have it."""
    return History(WATCH_SCHEMA, system, anchor, durability, json.loads(json.dumps(table_of(workload))))


def default_file(history: History, home: Path = HOME) -> Path:
    """Where a history is kept if the user says nothing else: called by what makes it one series."""
    words = (history.system, history.anchor, history.workload["name"], f"l{history.durability}")
    return home / "watches" / f"{slug_of('-'.join(words))}.json"


def _unlike(found: History, asked: History) -> Iterator[str]:
    ours, theirs = _facts(found), _facts(asked)
    for key in {**ours, **theirs}:
        if ours.get(key) != theirs.get(key):
            yield f"{key} is {_shown(ours.get(key))} there and {_shown(theirs.get(key))} here"


def _facts(history: History) -> Mapping[str, Any]:
    of_workload = {f"workload.{key}": value for key, value in history.workload.items()}
    return {"system": history.system, "anchor": history.anchor, "durability": history.durability, **of_workload}


def _shown(value: Any) -> str:
    return "not set" if value is None else str(value)
