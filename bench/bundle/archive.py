"""The only door to the archive of a bundle: a zip file whose bytes follow from what is in it.

Zip, because its directory lets one file be read without the others, and every desktop opens it. Nothing in it is compressed: what a
compressor makes depends on its version, so the same results would have other bytes elsewhere; records are compressed already; and
an archive that holds files as they are can't be a bomb. Names are sorted, and times, modes and the rest are always the same.

Reading expects the worst: the directory is bounded before it is read, and what isn't a plain file with a plain name is refused.
"""

from __future__ import annotations

import re
import shutil
import stat
import struct
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import IO, BinaryIO, cast

from provisioning.errors import InvalidInput

MOST_FILES = 100_000
MOST_DIRECTORY_BYTES = 32 * 2**20
MOST_NAME_CHARACTERS = 400
MOST_SHOWN = 80
_PART = r"(?!\.{1,2}(/|$))[A-Za-z0-9._@+=,~-]{1,200}"
NAME = re.compile(f"{_PART}(/{_PART}){{0,15}}")
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the first day that zip knows
_MODE = stat.S_IFREG | 0o644
_UNIX = 3
_END, _END_64 = struct.Struct("<4s4H2LH"), struct.Struct("<4sQ2H2L4Q")
_LOCATOR_BYTES, _IN_END_64 = 20, 0xFFFFFFFF
_LOCAL_BYTES = 30
_MISREAD = (zipfile.BadZipFile, NotImplementedError, ValueError, OverflowError, EOFError, RuntimeError, struct.error)


@dataclass(frozen=True)
class Entry:
    """A file that goes into an archive; `open` is called once."""

    name: str
    size_bytes: int
    open: Callable[[], BinaryIO]


def held(name: str, content: bytes) -> Entry:
    """A file that is in memory."""
    return Entry(name, len(content), lambda: BytesIO(content))


def write_archive(target: BinaryIO, entries: Iterable[Entry]) -> None:
    """Writes the archive of these files, sorted by name. The same files give the same bytes."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for entry in sorted(entries, key=lambda each: each.name):
            info = zipfile.ZipInfo(entry.name, _EPOCH)
            info.create_system, info.external_attr, info.file_size = _UNIX, _MODE << 16, entry.size_bytes
            with entry.open() as source, archive.open(info, "w") as sink:
                shutil.copyfileobj(source, sink, 1 << 20)


def is_name(name: str) -> bool:
    """Whether a file may be called so: relative, within, and of letters that every file system and shell takes."""
    return len(name) <= MOST_NAME_CHARACTERS and NAME.fullmatch(name) is not None


class Archive:
    """The files of an archive, none of which has been read yet. A context manager."""

    def __init__(self, path: Path) -> None:
        """Raises InvalidInput for what isn't an archive of plain files."""
        self.path = path
        files = _files_in(path)
        try:
            self._zip = zipfile.ZipFile(path)
        except (*_MISREAD, OSError) as error:
            raise InvalidInput(f"{path}: not a zip file that can be read: {_first_line(error)}.") from None
        try:
            self._infos = {info.filename: info for info in self._zip.infolist()}
            _require_plain(path, self._zip, files)
        except BaseException:
            self._zip.close()
            raise

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._zip.close()

    @property
    def sizes(self) -> dict[str, int]:
        """Name -> bytes, in the order of the directory."""
        return {name: info.file_size for name, info in self._infos.items()}

    def open(self, name: str) -> BinaryIO:
        """A stream of one file; reading it to its end raises InvalidInput where it isn't whole."""
        try:
            return cast(BinaryIO, _Whole(self._zip.open(self._infos[name]), f"{self.path}: {name}"))
        except _MISREAD as error:
            raise InvalidInput(f"{self.path}: {name}: {_first_line(error)}.") from None

    def is_as_written(self) -> bool:
        """Whether writing the same files again would give the same bytes: nothing is hidden between them, before or behind them."""
        with self.path.open("rb") as original:
            sink = _Comparing(original)
            entries = [Entry(name, size, partial(self.open, name)) for name, size in self.sizes.items()]
            write_archive(cast(BinaryIO, sink), entries)
            return sink.is_same(self.path.stat().st_size)


class _Whole:
    """A file of an archive, whose checksum is verified by the library when its end has been read."""

    def __init__(self, stream: IO[bytes], where: str) -> None:
        self._stream, self._where = stream, where

    def read(self, size: int = -1) -> bytes:
        try:
            return self._stream.read(size)
        except _MISREAD as error:
            raise InvalidInput(f"{self._where}: {_first_line(error)}.") from None

    def __enter__(self) -> _Whole:
        return self

    def __exit__(self, *_how: object) -> None:
        self._stream.close()


class _Comparing:
    """A sink that keeps nothing but where what is written differs from a file; what is written again counts anew."""

    def __init__(self, original: BinaryIO) -> None:
        self._original, self._at, self._end = original, 0, 0
        self._differing: set[int] = set()

    def write(self, data: bytes) -> int:
        self._original.seek(self._at)
        if self._original.read(len(data)) == bytes(data):
            self._differing.discard(self._at)
        else:
            self._differing.add(self._at)
        self._at += len(data)
        self._end = max(self._end, self._at)
        return len(data)

    def seek(self, position: int, whence: int = 0) -> int:
        assert whence == 0, "archives are written from their beginning"
        self._at = position
        return position

    def tell(self) -> int:
        return self._at

    def flush(self) -> None:
        pass

    def is_same(self, size_bytes: int) -> bool:
        return not self._differing and self._end == size_bytes


def _files_in(path: Path) -> int:
    """How many files an archive says it holds. Looks at its last bytes alone, which say how large the directory is that opening it
    would load. Raises InvalidInput.
    """
    try:
        kind = path.stat().st_mode
        if not stat.S_ISREG(kind):
            raise InvalidInput(f"{path}: {'a folder' if stat.S_ISDIR(kind) else 'no plain file'}; a bundle is a file.")
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _END.size - _LOCATOR_BYTES - _END_64.size))
            tail = file.read()
    except OSError as error:
        raise InvalidInput(f"{path}: can't be read: {error.strerror or error}.") from None
    if len(tail) < _END.size or not tail[-_END.size :].startswith(b"PK\5\6"):
        raise InvalidInput(
            f"{path}: not a bundle: it doesn't end as a zip file without a comment does.",
            next_step="If it was downloaded, it may have been cut off: compare its size.",
        )
    _, disk, its_disk, _, files, directory_bytes, _, _ = _END.unpack(tail[-_END.size :])
    if disk or its_disk:
        raise InvalidInput(f"{path}: not a zip file that can be read: it says that it is one part of several.")
    if directory_bytes == _IN_END_64 or files == 0xFFFF:
        if not tail.startswith(b"PK\6\6"):
            raise InvalidInput(
                f"{path}: not a zip file that can be read: its end says that its directory is elsewhere."
            )
        files, directory_bytes = _END_64.unpack(tail[: _END_64.size])[7:9]
    if files > MOST_FILES or directory_bytes > MOST_DIRECTORY_BYTES:
        raise InvalidInput(
            f"{path}: says that it holds {files:,} files, with a directory of {directory_bytes:,} bytes; a bundle has at most "
            f"{MOST_FILES:,} and {MOST_DIRECTORY_BYTES:,}."
        )
    return int(files)


def _require_plain(path: Path, archive: zipfile.ZipFile, files: int) -> None:
    """Raises InvalidInput for the first entry that a bundle can't have. `files`: how many it says there are."""
    infos = archive.infolist()
    if len(infos) != files:
        raise InvalidInput(f"{path}: says that it holds {files:,} files, and its directory has {len(infos):,}.")
    if min((info.header_offset for info in infos), default=0) > 0:
        raise InvalidInput(f"{path}: something stands before its first file; a bundle begins with it.")
    for info in infos:
        if wrong := _wrong(info):
            raise InvalidInput(f"{path}: {_shown(info.orig_filename)}: {wrong}.")
    folded = Counter(info.filename.lower() for info in infos)
    for info in infos:
        if folded[info.filename.lower()] > 1:
            raise InvalidInput(f"{path}: {_shown(info.filename)}: there twice, as far as some file systems can tell.")
    folders = {
        "/".join(info.filename.lower().split("/")[:depth])
        for info in infos
        for depth in range(1, info.filename.count("/") + 1)
    }
    if clash := sorted(folders & folded.keys()):
        raise InvalidInput(f"{path}: {_shown(clash[0])}: a file and a folder at once.")
    held = sum(_LOCAL_BYTES + len(info.filename) + info.file_size for info in infos)
    if held > path.stat().st_size:
        raise InvalidInput(
            f"{path}: says that it holds {held:,} bytes and has {path.stat().st_size:,}: its files overlap."
        )


def _wrong(info: zipfile.ZipInfo) -> str | None:
    """What of an entry can't be in a bundle."""
    kind = stat.S_IFMT(info.external_attr >> 16)
    if info.filename != info.orig_filename or not is_name(info.filename):
        return "a name that no file of a bundle has (absolute, outside, too long, or of odd letters)"
    if kind == stat.S_IFLNK:
        return "a symbolic link; a bundle holds plain files only"
    if kind not in (0, stat.S_IFREG) or info.is_dir():
        return "no plain file; a bundle holds nothing else"
    if info.flag_bits & 0x1:
        return "encrypted; a bundle's files can be read by anyone"
    if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
        return "compressed; a bundle holds its files as they are, so that nothing in it is larger than it looks"
    return None


def _shown(name: str) -> str:
    """A name that may be anything, as it can be printed."""
    return repr(name if len(name) <= MOST_SHOWN else f"{name[:MOST_SHOWN]}...")


def _first_line(error: BaseException) -> str:
    said = str(error).splitlines() or [type(error).__name__]
    return _shown(said[0])[1:-1].rstrip(".")
