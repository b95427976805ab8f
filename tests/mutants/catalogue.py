"""The mutants: one wrong change of the code each, and the tests that must fail by it. Data in the TOML files beside this one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from provisioning.document import parse_document
from provisioning.errors import InvalidInput

CATALOGUE = Path(__file__).parent
SCHEMA = 1
# whitespace and escapes are the code's own: a snippet in single quotes stands as it stands in the file


@dataclass(frozen=True)
class Entry:
    """One [[mutant]]: in `file`, `original` becomes `replacement`. `means`: what that is, in one sentence; `killed_by`: pytest's
    node ids, or files."""

    file: str
    means: str
    original: str
    replacement: str
    killed_by: tuple[str, ...]


@dataclass(frozen=True)
class Room:
    """One file: the mutants of a part of the code."""

    schema: int
    mutant: tuple[Entry, ...]


@dataclass(frozen=True)
class Mutant:
    """`name`: its room and its place there, from 1."""

    name: str
    entry: Entry

    def problem(self, tree: Path) -> str | None:
        """Why it can't be tried on the code in `tree` any more; None if it can."""
        file = tree / self.entry.file
        if not file.is_file():
            return f"there is no {self.entry.file}"
        found = file.read_text(encoding="utf-8").count(self.entry.original)
        if found != 1:
            return f"its snippet stands {found} times in {self.entry.file}, not once"
        if self.entry.original == self.entry.replacement:
            return "it changes nothing"
        return next((said for test in self.entry.killed_by if (said := _missing(tree, test))), None)

    def applied(self, code: str) -> str:
        """The file's code with the mutant in it."""
        return code.replace(self.entry.original, self.entry.replacement)


def load_mutants(folder: Path = CATALOGUE) -> tuple[Mutant, ...]:
    """Every mutant of every room. Raises InvalidInput naming file and key."""
    found = []
    for file in sorted(folder.glob("*.toml")):
        for number, entry in enumerate(parse_document(Room, file, schema=SCHEMA).mutant, start=1):
            if not entry.killed_by:
                raise InvalidInput(f"{file}: key 'mutant.{number - 1}.killed_by': no test is named.")
            found.append(Mutant(f"{file.stem}-{number}", entry))
    return tuple(found)


def _missing(tree: Path, test: str) -> str | None:
    """What of a node id isn't there: the file, or the function in it."""
    name, _, rest = test.partition("::")
    file = tree / name
    if not file.is_file():
        return f"there is no {name}"
    function = rest.rpartition("::")[2].partition("[")[0]
    if function and not re.search(
        rf"^\s*(?:async )?def {re.escape(function)}\(", file.read_text("utf-8"), re.MULTILINE
    ):
        return f"{name} has no {function}"
    return None
