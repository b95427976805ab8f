"""How versions of one system are pinned, each in a folder of its own: what a kind of software has to be able to do for that."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from provisioning.cache import Notice
from provisioning.errors import InvalidInput
from provisioning.software.software import Software

NEAR = 4


class Pinning(Protocol):
    """One kind of pinned software, for one system."""

    def read(self, folder: Path) -> Software:
        """What a folder pins. Raises InvalidInput."""

    def pin(self, version: str, like: Path, folder: Path, cache_dir: Path, *, notice: Notice) -> None:
        """Pins another version in an empty folder, in the way in which `like` pins its own: downloads it and records every hash.

        Raises InvalidInput where there is no such version (with those that are near it), MissingRequirement for everything else.
        """


def no_such_version(name: str, version: str, there: Iterable[str], where: str) -> InvalidInput:
    """The error, with the versions on either side of it. `where`: what was asked, "the Maven repository"."""
    near = ", ".join(near_to(version, there)) or "none"
    return InvalidInput(f"{name} {version} isn't in {where}.", next_step=f"Versions there that are near it: {near}.")


def near_to(version: str, there: Iterable[str]) -> list[str]:
    """Those that come just before and just after it, in their order."""
    in_order = sorted(there, key=order)
    at = bisect.bisect(in_order, order(version), key=order)
    return in_order[max(at - NEAR, 0) : at + NEAR]


def order(version: str) -> tuple[int, ...]:
    """What versions are sorted by: their numbers."""
    return tuple(int(number) for number in re.findall(r"\d+", version))
