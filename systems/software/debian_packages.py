"""Programs out of pinned Debian packages that run on any Linux of their processor, verified against recorded SHA-256 sums.

A folder has a `packages.sha256` (each package by its path in an archive), a `contents.sha256` (one sum over all that hosts get) and a
`bin/` (shell scripts that start the programs). apt downloads the packages from the Debian archives that it is configured with. Nothing
is installed and nothing of a package is changed: its programs are started by the C library's loader that came with them. To pin anew:

    python -m systems.software.debian_packages --record FOLDER --suite SUITE --packages PACKAGE ...

An archive keeps a version until the next one. Older ones are in Debian's snapshot archive: add it to apt's sources, or give a tar
archive of the packages, from wherever they are.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from provisioning.cache import Notice, sha256_of
from provisioning.errors import InvalidInput, SameboxError
from systems.software import apt, deb
from systems.software.cached import cached
from systems.software.programs import write_executable
from systems.software.sums import read_sums, write_sums

RECORDING = "python -m systems.software.debian_packages --record FOLDER --suite SUITE --packages PACKAGE ..."
CONTENTS = "contents"
_PACKAGE_LINE = re.compile(r"([0-9a-f]{64})  (pool/[A-Za-z0-9/._+%~-]+\.deb)")
_CONTENTS_LINE = re.compile(rf"([0-9a-f]{{64}})  ({CONTENTS})")


class ContentsDiffer(SameboxError):
    """What came out of the packages isn't what was recorded."""


@dataclass(frozen=True)
class DebianPackages:
    """A folder as above; see Software. `keep`: patterns of the paths that hosts get, beside the shared libraries.

    On a host they lie in `<processor>/`, the libraries in `<processor>/lib/`, and `bin/` has what starts them. `current_on`: a day on
    which Debian's archive had all of them (YYYY-MM-DD). `given`: a tar archive that has the packages; None = apt downloads them.
    """

    name: str
    version: str
    folder: Path
    keep: tuple[str, ...]
    current_on: str
    given: Path | None = None

    @property
    def digest(self) -> str:
        """SHA-256 of the recorded sum: the identity of all that hosts get."""
        return hashlib.sha256((self.folder / "contents.sha256").read_bytes()).hexdigest()

    def fetch(self, cache_dir: Path, *, notice: Notice) -> Path:
        """See Software. Raises ContentsDiffer."""
        recorded = read_sums(self.folder / "contents.sha256", _CONTENTS_LINE, what="tree", recording=RECORDING)[
            CONTENTS
        ]

        def is_whole(entry: Path) -> bool:
            if entry.is_dir():
                _verify(entry, recorded, where=str(entry))
            return entry.is_dir()

        def make(entry: Path) -> None:
            folder = entry.with_name("packages")
            folder.mkdir(parents=True)
            files = self._given(folder) if self.given else self._downloaded(folder, notice)
            unpack(files, self.keep, self.folder / "bin", entry)
            _verify(entry, recorded, where=f"{self.name} {self.version} as unpacked")

        return cached(self, cache_dir, is_whole, make)

    def _downloaded(self, folder: Path, notice: Notice) -> list[Path]:
        packages = _packages(self.folder)
        notice(f"{self.name} {self.version}: downloading {len(packages)} packages")
        next_step = (
            f"Archives keep a version of a package until the next one; {self.name} {self.version} is pinned as it was on "
            f"{self.current_on}. Add Debian's snapshot archive of that day to apt's sources (nothing is installed from it), or give a "
            f"tar archive of the files that {self.folder / 'packages.sha256'} names: --software {self.name}=TAR."
        )
        return [apt.download(path, sha256, folder, next_step=next_step) for path, sha256 in packages.items()]

    def _given(self, folder: Path) -> list[Path]:
        packages = _packages(self.folder)
        with tarfile.open(self.given) as tar:
            members = {Path(member.name).name: member for member in tar if member.isfile()}
            for path, sha256 in packages.items():
                file = folder / apt.file_name(path)
                content = tar.extractfile(members[file.name])
                assert content is not None  # it is a file
                file.write_bytes(content.read())
                if sha256_of(file) != sha256:
                    raise ContentsDiffer(f"{self.given}: {file.name} isn't the recorded package: its sum differs.")
        return [folder / apt.file_name(path) for path in packages]


def debian_packages(name: str, folder: Path, *keep: str, current_on: str) -> DebianPackages:
    """What a folder pins; it is called by the version. Raises InvalidInput."""
    _packages(folder)
    return DebianPackages(name, folder.name, folder, keep, current_on)


def read_packages(pinned: DebianPackages, path: Path) -> DebianPackages:
    """The same packages out of a tar archive that the operator gives. Raises InvalidInput where one isn't in it."""
    try:
        with tarfile.open(path) as tar:
            there = {Path(member.name).name for member in tar if member.isfile()}
    except (OSError, tarfile.TarError) as error:
        raise InvalidInput(
            f"{path}: can't be read as a tar archive of the packages of {pinned.name}: {error}"
        ) from None
    if lacking := sorted({apt.file_name(each) for each in _packages(pinned.folder)} - there):
        raise InvalidInput(
            f"{path}: not all packages of {pinned.name} {pinned.version}: it lacks {', '.join(lacking)}."
        )
    return replace(pinned, given=path)


def unpack(packages: Sequence[Path], keep: Sequence[str], scripts: Path, target: Path) -> None:
    """Puts what hosts get of packages into `target`. Raises InvalidInput."""
    machines = deb.machines_of(packages)
    for package in packages:
        deb.unpack(package, keep, target, machines)
    for script in sorted(scripts.iterdir()):
        write_executable(target / "bin" / script.name, script.read_bytes())


def contents_of(folder: Path) -> str:
    """SHA-256 over the path, the sum and the right to run of every file."""
    digest = hashlib.sha256()
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        runs = path.stat().st_mode & 0o111 != 0
        digest.update(f"{path.relative_to(folder)}\0{sha256_of(path)}\0{runs}\n".encode())
    return digest.hexdigest()


def _verify(folder: Path, recorded: str, *, where: str) -> None:
    if (found := contents_of(folder)) != recorded:
        raise ContentsDiffer(
            f"{where}: the files aren't the recorded ones: their sum is {found}, recorded {recorded}.",
            next_step=f"Nothing was installed. If they are damaged, remove {folder} and repeat; if other packages are wanted, "
            f"record them: {RECORDING}",
        )


def _packages(folder: Path) -> dict[str, str]:
    """Path in an archive -> SHA-256. Raises InvalidInput."""
    return read_sums(folder / "packages.sha256", _PACKAGE_LINE, what="package", recording=RECORDING)


def record(folder: Path, suite: str, packages: Sequence[str], keep: Sequence[str], *, notice: Notice) -> int:
    """Pins the suite's versions of packages in a folder that has its `bin/`; returns how many there are."""
    if not (folder / "bin").is_dir():
        raise InvalidInput(f"{folder} has no bin/ with scripts that start the programs.")
    with tempfile.TemporaryDirectory(prefix="samebox-record-") as scratch:
        notice(f"asking apt for {suite}")
        found: Mapping[str, str] = apt.candidates(suite, packages, Path(scratch))
        downloaded, target = Path(scratch) / "packages", Path(scratch) / "entry"
        downloaded.mkdir()
        notice(f"downloading {len(found)} packages")
        files = [apt.download(path, sha256, downloaded, next_step="Repeat it.") for path, sha256 in found.items()]
        unpack(files, keep, folder / "bin", target)
        write_sums(folder / "packages.sha256", found)
        write_sums(folder / "contents.sha256", {CONTENTS: contents_of(target)})
    return len(found)


def main(arguments: list[str] | None = None) -> int:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(prog="python -m systems.software.debian_packages", description=record.__doc__)
    parser.add_argument("--record", metavar="FOLDER", type=Path, required=True, help="has bin/; gets the two files")
    parser.add_argument("--suite", required=True, help="a suite of Debian, such as trixie")
    parser.add_argument("--packages", metavar="PACKAGE", nargs="+", required=True, help="all of them: none is added")
    parser.add_argument("--keep", metavar="PATTERN", nargs="+", required=True, help="as the system's own file says it")
    given = parser.parse_args(arguments)
    try:
        count = record(
            given.record, given.suite, given.packages, given.keep, notice=lambda line: print(line, file=sys.stderr)
        )
    except SameboxError as error:
        print(f"{error}\n{error.next_step}".rstrip(), file=sys.stderr)
        return 1
    print(f"{given.record}: {count} packages recorded")
    return 0


if __name__ == "__main__":
    sys.exit(main())
