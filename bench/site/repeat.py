"""The lines that repeat a campaign and check its bundle, made so that whoever pastes them runs samebox and nothing else.

A bundle may be anybody's, and so may be the command that it says it was made with.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bench.bundle.layout import ENDING
from contract import results_folder as layout

_OF_THE_KIT = re.compile(r"campaigns/[a-z0-9][a-z0-9-]*\.toml")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_PROGRAM = "samebox"
MOST_LINES, MOST_CHARACTERS = 20, 2_000
FOREIGN = "# the bundle names another command than samebox here, which this page doesn't repeat"


@dataclass(frozen=True)
class Lines:
    """What to type in a clone of samebox. `verify`: is a file that one has the bundle that is shown? `repeat`: the campaign again."""

    verify: str
    repeat: tuple[str, ...]


def lines_of(campaign: str, root: str, manifest: Mapping[str, Any]) -> Lines:
    """Of a bundle; `campaign` is a slug. A bundle's file is called after its campaign here, whatever it is called."""
    bundle = f"{campaign}{ENDING}"
    git = manifest.get("git")
    commit = git.get("commit") if isinstance(git, Mapping) else None
    begin = [f"git checkout {commit}"] if isinstance(commit, str) and _COMMIT.fullmatch(commit) else []
    given = manifest.get("repeat")
    own = list(_commands(given if isinstance(given, list) else [], campaign, bundle))
    return Lines(f".venv/bin/{_PROGRAM} verify --root {root} {bundle}", (*begin, "make setup", *own))


def _commands(given: Iterable[Any], campaign: str, bundle: str) -> Iterator[str]:
    """Each quoted anew, word for word. A campaign file that isn't the kit's own is taken out of the bundle."""
    found = [_words(line) for line in list(given)[:MOST_LINES]]
    if any(words and _own_file(words) for words in found):
        yield f"unzip -p {bundle} {layout.CAMPAIGN} > {campaign}.toml"
    for words in found:
        if not words:
            yield FOREIGN
            continue
        own = _own_file(words)
        yield shlex.join(
            [f".venv/bin/{_PROGRAM}", *(f"{campaign}.toml" if each == own else each for each in words[1:])]
        )


def _words(line: Any) -> list[str]:
    """A command of samebox as its words; empty for anything else."""
    if not isinstance(line, str) or len(line) > MOST_CHARACTERS or not line.isprintable():
        return []
    try:
        words = shlex.split(line)
    except ValueError:  # a quotation without an end
        return []
    return words if words[:1] == [_PROGRAM] else []


def _own_file(words: Iterable[str]) -> str | None:
    """The campaign file that a command names, if it isn't one of the kit's."""
    return next((each for each in words if each.endswith(".toml") and not _OF_THE_KIT.fullmatch(each)), None)
