"""Wrong input as data: the tables of the TOML files beside this one. It runs nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from provisioning.document import parse_document

TABLES = Path(__file__).parent
SCHEMA = 1


@dataclass(frozen=True)
class Case:
    """What is wrong, what is typed, and what the answer must hold, letter for letter.

    Words that are typed name files of the world (tests/bad_input/world.py). One of them, `file`, is changed: `replace` (text, another
    one), `content` (all of it), `set` and `remove` (keys of a JSON file, with dots), or `make` (an odd file, makers.py).
    """

    wrong: str
    type: tuple[str, ...]
    says: tuple[str, ...]
    file: str = ""
    replace: tuple[str, str] | None = None
    content: str | None = None
    set: Mapping[str, Any] = field(default_factory=dict)
    remove: tuple[str, ...] = ()
    make: str = ""


@dataclass(frozen=True)
class Table:
    """One file."""

    schema: int
    case: tuple[Case, ...]


def load_cases() -> dict[str, Case]:
    """All cases, by table and what is wrong."""
    return {
        f"{file.stem}: {case.wrong}": case
        for file in sorted(TABLES.glob("*.toml"))
        for case in parse_document(Table, file, schema=SCHEMA).case
    }
