"""What is taken out of one Debian package, so that it runs anywhere: programs, their files and shared libraries.

A program finds its interpreter (the C library's loader) under a fixed path, which on another distribution is another one, or an older.
So each program is moved into `elf/` beside it, and what has its name is a script by which the loader out of the package starts it.
"""

from __future__ import annotations

import fnmatch
import io
import re
import tarfile
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

from provisioning.errors import InvalidInput
from systems.software.programs import write_executable

# architecture, as Debian calls it -> as `uname -m` does
MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
ELF_FOLDER = "elf"
_LIBRARY = re.compile(r"usr/lib/[a-z0-9_]+-linux-gnu/((?:lib|ld-)[A-Za-z0-9_+.-]*\.so[0-9.]*)")
_LOADER = "ld-linux"
# The shell becomes the loader, and the loader the program: same process, same pid.
STARTER = """#!/bin/sh
processor=${0%%/usr/*}
for loader in "$processor"/lib/ld-linux*; do :; done
exec "$loader" --library-path "$processor/lib" "${0%/*}/elf/${0##*/}" "$@"
"""
_AR_MAGIC = b"!<arch>\n"
_AR_HEADER_BYTES = 60


def machines_of(packages: Iterable[Path]) -> tuple[str, ...]:
    """The processors that packages have programs for, by their names' last part."""
    return tuple(sorted({MACHINES[each] for each in map(_architecture, packages) if each in MACHINES}))


def unpack(package: Path, keep: Sequence[str], target: Path, everybody: Sequence[str]) -> None:
    """Adds a package's files whose path matches a pattern, and its shared libraries, to `target`/<processor>.

    A package for all processors goes to those of `everybody`. Raises InvalidInput.
    """
    architecture = _architecture(package)
    if architecture not in (*MACHINES, "all"):
        raise InvalidInput(f"{package.name}: for {architecture}, which is none of {', '.join(MACHINES)} and all.")
    machines = everybody if architecture == "all" else (MACHINES[architecture],)
    with tarfile.open(fileobj=io.BytesIO(_data_of(package))) as tar:
        members = {_path(member.name): member for member in tar}
        for path, member in members.items():
            library = _LIBRARY.fullmatch(path)
            if library is None and not (member.isfile() and any(fnmatch.fnmatch(path, each) for each in keep)):
                continue
            content = _content(tar, members, path)
            for machine in machines:
                _place(content, target / machine, library[1] if library else "", path, member.mode)


def _architecture(package: Path) -> str:
    return package.stem.rpartition("_")[2]


def _place(content: bytes, root: Path, library: str, path: str, mode: int) -> None:
    if library:
        file = root / "lib" / library
    elif _is_program(content):
        write_executable(root / path, STARTER.encode())
        file = (root / path).parent / ELF_FOLDER / PurePosixPath(path).name
    else:
        file = root / path
    if library.startswith(_LOADER) or mode & 0o111:
        write_executable(file, content)
    else:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


def _content(tar: tarfile.TarFile, members: dict[str, tarfile.TarInfo], path: str) -> bytes:
    """A file's bytes, through the links of its own package. Raises InvalidInput for a link that leads out of it."""
    member = members[path]
    for _ in range(8):
        if not (member.issym() or member.islnk()):
            break
        to = member.linkname if member.islnk() else str(PurePosixPath(path).parent / member.linkname)
        if _path(to) not in members:
            raise InvalidInput(f"{path}: a link to {to}, which its package doesn't have.")
        member = members[path := _path(to)]
    stream = tar.extractfile(member)
    if stream is None:
        raise InvalidInput(f"{path}: no file.")
    return stream.read()


def _path(name: str) -> str:
    return name.removeprefix("./").rstrip("/")


def _is_program(content: bytes) -> bool:
    """Whether it is an ELF file that names an interpreter: a library names none."""
    if content[:5] != b"\x7fELF\x02":
        return False
    table = int.from_bytes(content[32:40], "little")
    size, count = (int.from_bytes(content[at : at + 2], "little") for at in (54, 56))
    kinds = (int.from_bytes(content[table + at * size :][:4], "little") for at in range(count))
    return 3 in kinds  # PT_INTERP


def _data_of(package: Path) -> bytes:
    """The compressed archive of a package's files. Raises InvalidInput."""
    content = package.read_bytes()
    if content[: len(_AR_MAGIC)] != _AR_MAGIC:
        raise InvalidInput(f"{package.name}: not a Debian package.")
    at = len(_AR_MAGIC)
    while at + _AR_HEADER_BYTES <= len(content):
        name, size = content[at : at + 16].decode().strip(), int(content[at + 48 : at + 58])
        at += _AR_HEADER_BYTES
        if name.rstrip("/") in ("data.tar.xz", "data.tar.gz", "data.tar.bz2", "data.tar"):
            return content[at : at + size]
        at += size + size % 2
    raise InvalidInput(f"{package.name}: has no data.tar that Python can read (xz, gz, bz2, none).")
