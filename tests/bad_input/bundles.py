"""Malformed bundles, by name: archives that nobody should unpack, and documents that samebox never writes, under right sums."""

from __future__ import annotations

import hashlib
import io
import json
import stat
import struct
import tarfile
import warnings
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.bundle.sealing import files_of, pack, sealed

TRIAL = "trials/b01-1-pulsar-l1-steady/trial.json"
Maker = Callable[[Path, bytes], None]
_EPOCH = (1980, 1, 1, 0, 0, 0)
_END = "<4s4H2LH"


def _bytes(change: Callable[[bytes], bytes]) -> Maker:
    """The whole file, otherwise."""

    def make(path: Path, whole: bytes) -> None:
        path.write_bytes(change(whole))

    return make


def _files(change: Callable[[dict[str, bytes]], object]) -> Maker:
    """The same archive of other files, whose sums aren't made anew."""

    def make(path: Path, whole: bytes) -> None:
        path.write_bytes(whole)
        files = files_of(path)
        change(files)
        pack(files, path)

    return make


def _document(name: str, change: Callable[[dict[str, Any]], object]) -> Maker:
    """One JSON document with other content, under sums that are right."""

    def edit(content: bytes) -> bytes:
        document = json.loads(content)
        change(document)
        return json.dumps(document).encode()

    return _content(name, edit)


def _content(name: str, change: Callable[[bytes], bytes]) -> Maker:
    """One file with other content, under sums that are right."""

    def make(path: Path, whole: bytes) -> None:
        path.write_bytes(whole)
        files = files_of(path)
        files[name] = change(files[name])
        pack(sealed(files), path)

    return make


def _entry(
    name: str | bytes,
    content: bytes = b"x",
    *,
    mode: int = stat.S_IFREG | 0o644,
    method: int = zipfile.ZIP_STORED,
) -> Maker:
    """One entry more, which the library writes as it is asked to. A name of bytes is put where a longer, harmless one was."""

    def make(path: Path, whole: bytes) -> None:
        path.write_bytes(whole)
        plain = name if isinstance(name, str) else "n" * len(name)
        info = zipfile.ZipInfo(plain, _EPOCH)
        info.filename = plain  # as it is: the constructor cuts off at a NUL and turns separators around
        info.external_attr, info.compress_type, info.create_system = mode << 16, method, 3
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr(info, content)
        if isinstance(name, bytes):
            path.write_bytes(path.read_bytes().replace(plain.encode(), name))

    return make


def _twice(name: str, again: str) -> Maker:
    def make(path: Path, whole: bytes) -> None:
        path.write_bytes(whole)
        with zipfile.ZipFile(path, "a") as archive, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the library warns of a name that is there
            for each in (name, again):
                if each not in archive.namelist() or each == again:
                    archive.writestr(zipfile.ZipInfo(each, _EPOCH), b"x")

    return make


def _end(files: int | None = None, directory_bytes: int | None = None, disk: int = 0) -> Maker:
    """Another end of the archive, which says what is in it."""

    def change(whole: bytes) -> bytes:
        signature, _, _, here, total, size, offset, comment = struct.unpack(_END, whole[-22:])
        total, size = total if files is None else files, size if directory_bytes is None else directory_bytes
        return whole[:-22] + struct.pack(_END, signature, disk, disk, min(here, 0xFFFF), total, size, offset, comment)

    return _bytes(change)


def _directory(offset_in_entry: int, value: bytes) -> Maker:
    """Other bytes in the directory's first entry."""

    def change(whole: bytes) -> bytes:
        at = struct.unpack(_END, whole[-22:])[6] + offset_in_entry
        return whole[:at] + value + whole[at + len(value) :]

    return _bytes(change)


def _bomb(path: Path, whole: bytes) -> None:
    """A gigabyte in a megabyte."""
    path.write_bytes(whole)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive, archive.open("report/big.csv", "w") as sink:
        for _ in range(64):
            sink.write(bytes(2**20))


def _overlapping(path: Path, whole: bytes) -> None:
    """Many names for the same bytes: each entry of the directory points at the largest file."""
    path.write_bytes(whole)
    with zipfile.ZipFile(path) as archive:
        largest = max(archive.infolist(), key=lambda info: info.file_size)
    start, files = struct.unpack(_END, whole[-22:])[6], struct.unpack(_END, whole[-22:])[4]
    directory, more = whole[start:-22], 200
    for number in range(more):
        named = f"report/data/{number:04d}".encode()
        directory += (
            struct.pack(
                "<4s6H3L5H2L",
                *(b"PK\1\2", 0x0314, 20, 0, 0, 0, 33, largest.CRC, largest.file_size, largest.file_size, len(named)),
                *(0, 0, 0, 0, 0o100644 << 16, largest.header_offset),
            )
            + named
        )
    end = struct.pack(_END, b"PK\5\6", 0, 0, files + more, files + more, len(directory), start, 0)
    path.write_bytes(whole[:start] + directory + end)


def _tar(path: Path, _whole: bytes) -> None:
    with tarfile.open(path, "w") as archive:
        info = tarfile.TarInfo("manifest.json")
        info.size = 2
        archive.addfile(info, io.BytesIO(b"{}"))


def _drop(name: str) -> Maker:
    return _files(lambda files: files.pop(name))


def _steps(**values: Any) -> Callable[[dict[str, Any]], object]:
    return lambda trial: trial["steps"][0].update(values)


def _deep(_content: bytes) -> bytes:
    return b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"


def _sums(change: Callable[[bytes], bytes]) -> Maker:
    return _files(lambda files: files.update(SHA256SUMS=change(files["SHA256SUMS"])))


BUNDLES: Mapping[str, Maker] = {
    "bundle: a tar file": _tar,
    "bundle: with a comment": _bytes(lambda whole: whole[:-2] + struct.pack("<H", 4) + b"more"),
    "bundle: with bytes behind it": _bytes(lambda whole: whole + b"\0" * 9),
    "bundle: with a script before it": _bytes(lambda whole: b"#!/bin/sh\nexit 0\n" + whole),
    "bundle: without its directory": _bytes(lambda whole: whole[-22:]),
    "bundle: of 4,000,000,000 files": _end(files=0xFFFF, directory_bytes=0xFFFFFFFF),
    "bundle: with a directory of a gigabyte": _end(directory_bytes=2**30),
    "bundle: with fewer files than it says": _end(files=60_000),
    "bundle: on the second of two disks": _end(disk=2),
    "bundle: with a bomb": _bomb,
    "bundle: with overlapping files": _overlapping,
    "bundle: with a compressed file": _entry("report/x.csv", b"x" * 1000, method=zipfile.ZIP_DEFLATED),
    "bundle: with a file of an unknown method": _directory(10, struct.pack("<H", 99)),
    "bundle: with an encrypted file": _directory(8, struct.pack("<H", 1)),
    "bundle: with a size that is a lie": _directory(20, struct.pack("<LL", 2**30, 2**30)),
    "bundle: with a place that is a lie": _directory(42, struct.pack("<L", 2**31)),
    "bundle: with an absolute name": _entry("/etc/cron.d/x"),
    "bundle: with a name that leads out": _entry("../../x"),
    "bundle: with a name that leads out inside": _entry("report/../../x"),
    "bundle: with a dot in its name": _entry("./manifest2.json"),
    "bundle: with two slashes": _entry("report//x"),
    "bundle: with a name of Windows": _entry(b"C:\\x\\y.exe"),
    "bundle: with a drive": _entry("C:x"),
    "bundle: with a NUL in a name": _entry(b"report/a\0b.csv"),
    "bundle: with a line feed in a name": _entry("report/a\nb"),
    "bundle: with an escape in a name": _entry("report/\x1b[2Jx"),
    "bundle: with a script in a name": _entry("report/<script>alert(1)</script>.html"),
    "bundle: with a command in a name": _entry("report/$(reboot)"),
    "bundle: with letters that turn around": _entry("report/\u202egnp.exe"),
    "bundle: with a name that isn't UTF-8": _entry(b"report/\xff\xfe.csv"),
    "bundle: with a name without end": _entry("report/" + "a" * 5_000),
    "bundle: with folders without end": _entry("a/" * 100 + "x"),
    "bundle: with an empty name": _entry(""),
    "bundle: with a link": _entry("report/link", b"/etc/passwd", mode=stat.S_IFLNK | 0o777),
    "bundle: with a device": _entry("report/disk", mode=stat.S_IFBLK | 0o600),
    "bundle: with a pipe": _entry("report/pipe", mode=stat.S_IFIFO | 0o600),
    "bundle: with a folder": _entry("report/x/", b"", mode=stat.S_IFDIR | 0o755),
    "bundle: with a name twice": _twice("manifest.json", "manifest.json"),
    "bundle: with names that differ by case": _twice("manifest.json", "Manifest.json"),
    "bundle: with a file that is a folder": _twice("manifest.json", "manifest.json/x"),
    "bundle: without sums": _drop("SHA256SUMS"),
    "bundle: without a page": _drop("index.html"),
    "bundle: without a manifest": _drop("manifest.json"),
    "bundle: without bundle.json": _drop("bundle.json"),
    "bundle: any zip file": _files(lambda files: [files.pop(name) for name in list(files)[1:]]),
    "bundle: sums that aren't text": _sums(lambda sums: b"\xff" + sums),
    "bundle: sums that aren't sums": _sums(lambda _sums: b"all is well\n"),
    "bundle: a sum twice": _sums(lambda sums: sums + sums),
    "bundle: sums in another order": _sums(lambda sums: b"".join(reversed(sums.splitlines(keepends=True)))),
    "bundle: a sum of a file elsewhere": _sums(lambda sums: sums + b"0" * 64 + b"  \\x\n"),
    "bundle: bundle.json that isn't JSON": _files(lambda files: _reseal(files, "bundle.json", b"{")),
    "bundle: of another schema": _files(lambda files: _reseal(files, "bundle.json", b'{"schema": 7}')),
    "bundle: with an unknown key": _document("bundle.json", lambda about: about.update(key=1)),
    "bundle: a truth value that is text": _files(
        lambda files: _reseal(files, "bundle.json", b'{"schema": 1, "campaign": "demo", "records": "yes"}')
    ),
    "bundle: a deep manifest": _content("manifest.json", _deep),
    "bundle: a manifest that is a list": _content("manifest.json", lambda _content: b"[]"),
    "bundle: a manifest of 5,000 digits": _content(
        "manifest.json", lambda _content: b'{"schema": ' + b"9" * 5_000 + b"}"
    ),
    "bundle: a key of the manifest twice": _content(
        "manifest.json", lambda held: held.replace(b'"seed"', b'"schema"', 1)
    ),
    "bundle: a manifest without an order": _document("manifest.json", lambda manifest: manifest.pop("order")),
    "bundle: a manifest without hosts": _document("manifest.json", lambda manifest: manifest["testbed"].pop("hosts")),
    "bundle: a planned trial that leads out": _document(
        "manifest.json", lambda manifest: manifest["order"][0].update(trial="../../etc")
    ),
    "bundle: a definition of text": _document("manifest.json", lambda manifest: manifest.update(definition="none")),
    "bundle: a seed without end": _document("manifest.json", lambda manifest: manifest.update(seed=2**70)),
    "bundle: half a trial": _content(TRIAL, lambda held: held[: len(held) // 2]),
    "bundle: a trial of another schema": _document(TRIAL, lambda trial: trial.update(schema=9)),
    "bundle: a step that never ended": _document(TRIAL, _steps(ended_ns=None)),
    "bundle: a step that began with a word": _document(TRIAL, _steps(started_ns="noon")),
    "bundle: a step before the epoch": _document(TRIAL, _steps(started_ns=-5)),
    "bundle: a step after the end of time": _document(TRIAL, _steps(ended_ns=2**63)),
    "bundle: a rate of nothing": _document(TRIAL, lambda trial: trial["workload"].update(rate_per_s=0)),
    "bundle: producers without end": _document(TRIAL, lambda trial: trial["workload"].update(producers=10**12)),
    "bundle: counters of text": _document(TRIAL, lambda trial: trial["rows"].update(produced="many")),
    "bundle: workers that are a number": _document(TRIAL, lambda trial: trial["observations"].update(workers=3)),
    "bundle: vetting that isn't JSON": _content("vetting/broker-1.json", lambda _content: b"\xff\xfe"),
}


def _reseal(files: dict[str, bytes], name: str, content: bytes) -> None:
    """Other content of a file whose sum alone is made right: the page can't be, where what it follows from is malformed."""
    lines = [line for line in files["SHA256SUMS"].decode().splitlines() if not line.endswith(f"  {name}")]
    lines.append(f"{hashlib.sha256(content).hexdigest()}  {name}")
    files["SHA256SUMS"] = "".join(f"{line}\n" for line in sorted(lines, key=lambda line: line[66:])).encode()
    files[name] = content
