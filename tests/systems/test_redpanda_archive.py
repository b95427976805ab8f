"""Redpanda's archive: what is taken for one, what of it hosts get, and what is refused.

The archives here have the layout of real ones, and in place of Redpanda a header of a program: none of them is run.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from provisioning.cache import sha256_of
from provisioning.errors import InvalidInput
from systems.redpanda.layout import LOADER, PROGRAM
from systems.redpanda.release_tarball import read_release

X86_64, AARCH64, RISCV = 62, 183, 243
LINK = "libz.so.1"


def program_of(machine: int) -> bytes:
    """What a program for a processor begins with."""
    return b"\x7fELF\x02\x01\x01" + bytes(11) + machine.to_bytes(2, "little") + b"and so on"


def files_of(top: str = "", machine: int = X86_64) -> dict[str, bytes]:
    """A release's files as the vendor packs them; LINK stands for a symbolic link to what it has."""
    return {
        f"{top}bin/redpanda": b"#!/usr/bin/env bash\nexec /opt/redpanda/libexec/redpanda\n",
        f"{top}{PROGRAM}": program_of(machine),
        f"{top}libexec/rpk": b"another program",
        f"{top}{LOADER}": b"the loader",
        f"{top}lib/libz.so.1.3": b"a library",
        f"{top}lib/{LINK}": b"libz.so.1.3",
        f"{top}conf/redpanda.yaml": b"redpanda:\n",
    }


def write(path: Path, files: Mapping[str, bytes]) -> Path:
    """A gzipped tar of these files."""
    path.parent.mkdir(exist_ok=True)
    with tarfile.open(path, "w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            if name.endswith(LINK):
                member.type, member.linkname = tarfile.SYMTYPE, content.decode()
                tar.addfile(member)
                continue
            member.size, member.mode = len(content), 0o755
            tar.addfile(member, io.BytesIO(content))
    return path


@pytest.mark.parametrize(
    ("name", "top"),
    [
        ("redpanda-25.3.14-amd64.tar.gz", ""),  # the vendor's own
        ("redpanda-25.3.14-amd64.tar.gz", "./"),
        ("redpanda-25.3.14.tar.gz", "redpanda-25.3.14/opt/redpanda/"),  # packages repacked
        ("redpanda_v25.3.14_x86_64.tgz", "opt/redpanda/"),
    ],
)
def test_a_release_is_read_wherever_its_tree_begins(name: str, top: str, tmp_path: Path) -> None:
    """Version of its name, processor of its program, SHA-256 of the file."""
    path = write(tmp_path / name, files_of(top))
    found = read_release(path)
    assert (found.version, found.machine, found.digest) == ("25.3.14", "x86_64", sha256_of(path))
    folder = found.fetch(tmp_path / "cache", notice=lambda _: None)
    listed = {str(each.relative_to(folder)) for each in folder.rglob("*") if not each.is_dir()}
    assert listed == {PROGRAM, LOADER, "lib/libz.so.1.3", f"lib/{LINK}"}
    assert (folder / "lib" / LINK).read_bytes() == b"a library"
    assert (folder / PROGRAM).stat().st_mode & 0o111


def test_a_release_candidate_for_the_other_processor(tmp_path: Path) -> None:
    """Its version is whole."""
    found = read_release(write(tmp_path / "redpanda-24.3.2-rc5-arm64.tar.gz", files_of(machine=AARCH64)))
    assert (found.version, found.machine) == ("24.3.2-rc5", "aarch64")


def test_what_was_cut_short_in_the_cache_is_unpacked_anew(tmp_path: Path) -> None:
    """By the sizes of all files."""
    found = read_release(write(tmp_path / "redpanda-25.3.14-amd64.tar.gz", files_of()))
    folder = found.fetch(tmp_path / "cache", notice=lambda _: None)
    (folder / LOADER).write_bytes(b"the")
    assert (found.fetch(tmp_path / "cache", notice=lambda _: None) / LOADER).read_bytes() == b"the loader"


@pytest.mark.parametrize(
    ("name", "files", "reason"),
    [
        ("rpk-linux-amd64.tar.gz", files_of(), "not an archive of Redpanda, by its name"),
        ("redpanda-25.3-amd64.tar.gz", files_of(), "not an archive of Redpanda, by its name"),
        ("redpanda-25.3.14-amd64.tar.gz", {"README": b""}, "has 0 programs libexec/redpanda, not one"),
        ("redpanda-25.3.14.tar.gz", files_of("a/") | files_of("b/"), "has 2 programs libexec/redpanda, not one"),
        (
            "redpanda-25.3.14.tar.gz",
            {name: content for name, content in files_of().items() if name != LOADER},
            "it has no lib/ld.so",
        ),
        ("redpanda-25.3.14-arm64.tar.gz", files_of(), "named for arm64, but its program is for x86_64"),
        ("redpanda-25.3.14.tar.gz", files_of(machine=RISCV), "is no program for x86_64 or aarch64"),
        ("redpanda-25.3.14.tar.gz", files_of() | {PROGRAM: b"#!/bin/sh"}, "is no program for x86_64 or aarch64"),
    ],
)
def test_what_is_no_release_is_refused(name: str, files: Mapping[str, bytes], reason: str, tmp_path: Path) -> None:
    """At once, by its path and with the reason."""
    path = write(tmp_path / name, files)
    with pytest.raises(InvalidInput, match=reason) as refusal:
        read_release(path)
    assert str(path) in str(refusal.value)


def test_a_file_that_is_no_archive_is_refused(tmp_path: Path) -> None:
    """Neither that nor a missing one ends in a traceback."""
    path = tmp_path / "redpanda-25.3.14-amd64.tar.gz"
    for _ in ("missing", "no tar"):
        with pytest.raises(InvalidInput, match="can't be read as an archive of Redpanda"):
            read_release(path)
        path.write_bytes(b"no tar")


def test_nothing_of_an_archive_lands_outside_its_folder(tmp_path: Path) -> None:
    """A path that climbs is refused by the unpacking, and the cache has no half of it."""
    found = read_release(write(tmp_path / "redpanda-25.3.14.tar.gz", files_of() | {"lib/../../../evil": b"x"}))
    with pytest.raises(InvalidInput, match="can't be unpacked"):
        found.fetch(tmp_path / "cache", notice=lambda _: None)
    assert not list(tmp_path.rglob("evil"))
