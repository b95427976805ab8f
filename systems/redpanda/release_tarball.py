"""Redpanda out of the archive that its makers publish. Of its programs only the broker is kept, with its loader and its libraries.

The vendor's own archives are redpanda-<version>-<amd64|arm64>.tar.gz and have bin/, lib/ and libexec/ at their top (its installer for
tests unpacks them so: tests/rptest/services/redpanda_installer.py). Packages that were repacked have the same tree in opt/redpanda/.
What lies in bin/ starts /opt/redpanda/libexec, whatever lies there, and is left out.
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from provisioning.cache import Notice, sha256_of
from provisioning.errors import InvalidInput
from systems.redpanda.layout import LOADER, PROGRAM
from systems.software.cached import cached
from systems.software.deb import MACHINES

ARCHIVE_NAME = "redpanda-*.tar.gz"
_NAME = re.compile(
    r"redpanda[-_]v?(?P<version>\d+\.\d+\.\d+(?:-rc\d+)?)(?:[-_.](?P<machine>amd64|x86_64|arm64|aarch64))?\.(?:tar\.gz|tgz)"
)
_ELF = b"\x7fELF"
_MACHINE_AT = 18  # e_machine of an ELF header, little-endian
_MACHINES_OF_ELF = {62: "x86_64", 183: "aarch64"}
_LIBRARIES = "lib/"


@dataclass(frozen=True)
class ReleaseTarball:
    """A release; see Software. On a host it is started as `lib/ld.so --library-path lib libexec/redpanda`.

    `top`: what stands before each path in the archive; `sizes`: of the files that are kept, by their path below it.
    """

    name: str
    version: str
    machine: str
    path: Path
    digest: str
    top: str
    sizes: Mapping[str, int]

    def fetch(self, cache_dir: Path, *, notice: Notice) -> Path:
        """See Software."""
        notice(f"{self.name} {self.version}: from {self.path.name}")

        def is_whole(entry: Path) -> bool:
            files = [path for path in entry.rglob("*") if path.is_file() and not path.is_symlink()]
            return {str(path.relative_to(entry)): path.stat().st_size for path in files} == self.sizes

        def make(entry: Path) -> None:
            self._extract(entry)

        return cached(self, cache_dir, is_whole, make)

    def _extract(self, entry: Path) -> None:
        entry.mkdir(parents=True)
        try:
            with tarfile.open(self.path) as tar:
                for member in tar:
                    if (below := _kept(member, self.top)) is not None:
                        tar.extract(member.replace(name=below, deep=False), entry, filter="data")
        except (tarfile.TarError, EOFError) as error:
            raise InvalidInput(f"{self.path}: can't be unpacked: {error}") from None


def read_release(path: Path) -> ReleaseTarball:
    """Looks through an archive. Raises InvalidInput where it isn't a release of Redpanda for Linux.

    Version and processor are those of its name; the program must be for that processor, and what it says of its version is compared
    when it runs.
    """
    named = _NAME.fullmatch(path.name)
    if named is None:
        raise InvalidInput(
            f"{path}: not an archive of Redpanda, by its name.",
            next_step="Its makers call them redpanda-<version>-<amd64|arm64>.tar.gz; keep that name.",
        )
    try:
        with tarfile.open(path) as tar:
            top, machine, sizes = _looked_through(tar, path)
    except (OSError, tarfile.TarError, EOFError) as error:
        raise InvalidInput(f"{path}: can't be read as an archive of Redpanda: {error}") from None
    said = named["machine"]
    if said is not None and MACHINES.get(said, said) != machine:
        raise InvalidInput(f"{path}: named for {said}, but its program is for {machine}.")
    return ReleaseTarball("redpanda", named["version"], machine, path, sha256_of(path), top, sizes)


def _looked_through(tar: tarfile.TarFile, path: Path) -> tuple[str, str, dict[str, int]]:
    """What stands before the paths, the program's processor, and the sizes of what is kept."""
    members = tar.getmembers()
    programs = [each for each in members if each.isfile() and f"/{_plain(each.name)}".endswith(f"/{PROGRAM}")]
    if len(programs) != 1:
        raise InvalidInput(f"{path}: not an archive of Redpanda: it has {len(programs)} programs {PROGRAM}, not one.")
    top = _plain(programs[0].name).removesuffix(PROGRAM)
    kept = {below: each for each in members if (below := _kept(each, top)) is not None}
    if LOADER not in kept:
        raise InvalidInput(
            f"{path}: it has no {LOADER}: without the loader that its makers ship, its program doesn't run where it lies."
        )
    program = tar.extractfile(programs[0])
    header = program.read(_MACHINE_AT + 2) if program is not None else b""
    machine = _MACHINES_OF_ELF.get(int.from_bytes(header[_MACHINE_AT:], "little"))
    if not header.startswith(_ELF) or machine is None:
        raise InvalidInput(f"{path}: its {PROGRAM} is no program for {' or '.join(_MACHINES_OF_ELF.values())}.")
    return top, machine, {below: each.size for below, each in kept.items() if each.isfile()}


def _kept(member: tarfile.TarInfo, top: str) -> str | None:
    """A member's path on hosts, if it is to be there."""
    name = _plain(member.name)
    below = name.removeprefix(top) if name.startswith(top) else ""
    wanted = below == PROGRAM or below.startswith(_LIBRARIES)
    return below if wanted and (member.isfile() or member.issym()) else None


def _plain(name: str) -> str:
    """Without a leading "./"."""
    return str(PurePosixPath(name))
