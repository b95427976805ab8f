"""The page cache as seen from one host: how much of a file is resident, how much is cached in all, and a canary to prove it.

`evict` is the one verb here that changes something: it asks the kernel to forget pages of the caller's own files. It is part
of the reset, but ships in this archive because it must run on the host, needs nothing else and is checked by `residency`.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from probe_file import ProbeError, require_free_space

_READ_BYTES = 1024 * 1024
_MAP_FAILED = ctypes.c_void_p(-1).value


def residency(path: str) -> dict[str, Any]:
    """Pages of `path` in the page cache, by mincore. The mapping isn't touched, so that measuring loads nothing.

    The kernel tells the truth only about files that the caller owns or may write; others look fully resident.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        size = os.fstat(descriptor).st_size
        pages, resident = _resident_pages(descriptor, size)
    finally:
        os.close(descriptor)
    return {
        "path": path,
        "bytes": size,
        "pages": pages,
        "resident_pages": resident,
        "resident_share": resident / pages if pages else 0.0,
    }


def make_canary(path: str, size_bytes: int) -> dict[str, Any]:
    """A new file of `size_bytes` on disk (flushed: dirty pages can't be dropped), then read fully; says how resident it is."""
    require_free_space(str(Path(path).parent), size_bytes)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        for start in range(0, size_bytes, _READ_BYTES):
            os.write(descriptor, os.urandom(min(_READ_BYTES, size_bytes - start)))
        os.fsync(descriptor)
        os.lseek(descriptor, 0, os.SEEK_SET)
        while os.read(descriptor, _READ_BYTES):
            pass
    finally:
        os.close(descriptor)
    return residency(path)


def cached() -> dict[str, Any]:
    """Cached and dirty bytes of the machine."""
    fields = {}
    for line in Path("/proc/meminfo").read_text().splitlines():
        name, _, value = line.partition(":")
        fields[name] = int(value.split()[0]) * 1024
    return {"cached_bytes": fields["Cached"], "dirty_bytes": fields["Dirty"], "writeback_bytes": fields["Writeback"]}


def evict(trees: Iterable[str]) -> dict[str, Any]:
    """Asks the kernel to forget every regular file under `trees` (flushed first) and counts what stayed resident.

    Mapped files of a living process stay: that is why the systems are stopped before.
    """
    files = total = stayed = 0
    unreadable = []
    for path in _regular_files(trees):
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        except FileNotFoundError:
            continue  # removed since it was listed
        except OSError as error:
            unreadable.append(f"{path}: {os.strerror(error.errno or 0)}")
            continue
        try:
            os.fdatasync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            size = os.fstat(descriptor).st_size
            stayed += _resident_pages(descriptor, size)[1] * mmap.PAGESIZE
        finally:
            os.close(descriptor)
        files, total = files + 1, total + size
    return {"files": files, "bytes": total, "resident_bytes_after": stayed, "unreadable": unreadable}


def _regular_files(trees: Iterable[str]) -> Iterator[Path]:
    for tree in trees:
        if Path(tree).is_file():
            yield Path(tree)
        for folder, _, names in os.walk(tree):
            for name in names:
                path = Path(folder, name)
                if path.is_file() and not path.is_symlink():
                    yield path


def _resident_pages(descriptor: int, size: int) -> tuple[int, int]:
    """(pages, resident pages) of an open file."""
    pages = -(-size // mmap.PAGESIZE)
    if not pages:
        return 0, 0
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_int64]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
    address = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, 0)
    if address == _MAP_FAILED:
        raise ProbeError("no-mmap", f"mmap: {os.strerror(ctypes.get_errno())}")
    try:
        vector = (ctypes.c_ubyte * pages)()
        if libc.mincore(address, size, vector) != 0:
            raise ProbeError("no-mincore", f"mincore: {os.strerror(ctypes.get_errno())}")
        return pages, sum(flags & 1 for flags in vector)
    finally:
        libc.munmap(address, size)
