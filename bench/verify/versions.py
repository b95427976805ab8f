"""Are the lock files in a bundle those of the software that the manifest says ran?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bench.bundle.contents import versions_of
from bench.bundle.layout import KIT_LOCK, VERSIONS
from bench.verify.difference import Difference, Found, Unchecked
from provisioning.cache import sha256_of
from provisioning.errors import SameboxError
from systems.registry import SYSTEMS


def version_differences(folder: Path, manifest: Mapping[str, Any]) -> Iterator[Found]:
    """`folder`: an unpacked bundle."""
    lock = folder / KIT_LOCK
    if not lock.is_file():
        yield _unchecked("the kit's own libraries: the bundle holds no lock file of them")
    elif sha256_of(lock) != manifest["lock_sha256"]:
        yield Difference("versions", KIT_LOCK, "its SHA-256 isn't the manifest's lock_sha256")
    ran = {f"{system}-{version}": (system, digest) for (system, version), digest in versions_of(manifest).items()}
    there = {path.name for path in (folder / VERSIONS).glob("*") if path.is_dir()}
    for name in sorted(there - ran.keys()):
        yield Difference("versions", f"{VERSIONS}/{name}", "it pins software that the manifest doesn't name")
    for name, (system, digest) in sorted(ran.items()):
        if name not in there:
            yield _unchecked(f"what pinned {name}: the bundle holds no lock file of it")
            continue
        found = _digest(system, folder / VERSIONS / name)
        if found is None:
            yield _unchecked(f"what pinned {name}: this samebox can't read lock files of {system}")
        elif found != digest:
            yield Difference(
                "versions",
                f"{VERSIONS}/{name}",
                "it pins other software than the manifest names: its digest is another",
            )


def _unchecked(what: str) -> Unchecked:
    """A system whose archive is given by hand has no lock file, and later versions of the kit have others: no figure suffers."""
    return Unchecked(what, matters=False)


def _digest(system: str, folder: Path) -> str | None:
    """The digest of the software that a folder pins; "" if it pins none; None if that can't be told."""
    its = SYSTEMS.get(system)
    if its is None or its.releases is None:
        return None
    try:
        return its.releases.pinning.read(folder).digest
    except (SameboxError, OSError, ValueError):
        return ""
