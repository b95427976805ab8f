"""Writes and syncs by Linux' asynchronous I/O: a program for strace to look at.

    python3 asynchronous_writer.py FILE TEXT...

For each text: one request that writes it, its event, one that syncs, its event. In the end both kinds of writes in one submission.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys

# numbers of system calls
SETUP, SUBMIT, GETEVENTS = (206, 209, 208) if platform.machine() == "x86_64" else (0, 2, 4)
PWRITE, FDSYNC, PWRITEV = 1, 3, 8
LIBC = ctypes.CDLL(None, use_errno=True)


class Iocb(ctypes.Structure):
    """A request, as the kernel reads it."""

    _fields_ = (
        ("data", ctypes.c_uint64), ("key", ctypes.c_uint32), ("rw_flags", ctypes.c_uint32), ("opcode", ctypes.c_uint16),
        ("reqprio", ctypes.c_int16), ("fildes", ctypes.c_uint32), ("buf", ctypes.c_uint64), ("nbytes", ctypes.c_uint64),
        ("offset", ctypes.c_int64), ("reserved2", ctypes.c_uint64), ("flags", ctypes.c_uint32), ("resfd", ctypes.c_uint32),
    )  # fmt: skip


class Event(ctypes.Structure):
    """A completion, as the kernel writes it."""

    _fields_ = (
        ("data", ctypes.c_uint64), ("obj", ctypes.c_uint64), ("res", ctypes.c_int64), ("res2", ctypes.c_int64),
    )  # fmt: skip


class Iovec(ctypes.Structure):
    """A part of a buffer."""

    _fields_ = (("base", ctypes.c_uint64), ("len", ctypes.c_uint64))


def done(context: ctypes.c_ulong, *requests: Iocb) -> None:
    """Submits requests and waits for all of them."""
    addresses = (ctypes.c_void_p * len(requests))(*(ctypes.addressof(each) for each in requests))
    assert LIBC.syscall(SUBMIT, context, len(requests), addresses) == len(requests)
    events = (Event * len(requests))()
    assert LIBC.syscall(GETEVENTS, context, len(requests), len(requests), events, None) == len(requests)


def main(file: str, texts: list[str]) -> None:
    """See the module's docstring."""
    context = ctypes.c_ulong(0)
    assert LIBC.syscall(SETUP, 8, ctypes.byref(context)) == 0
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    for at, text in enumerate(texts):
        buffer = ctypes.create_string_buffer(text.encode())
        where = {"fildes": descriptor, "offset": 4096 * at}
        done(context, Iocb(data=7, opcode=PWRITE, buf=ctypes.addressof(buffer), nbytes=len(text.encode()), **where))
        done(context, Iocb(data=7, opcode=FDSYNC, fildes=descriptor))
    buffer = ctypes.create_string_buffer("".join(texts).encode())
    half = len(buffer.value) // 2
    parts = (Iovec * 2)(
        Iovec(ctypes.addressof(buffer), half), Iovec(ctypes.addressof(buffer) + half, len(buffer.value) - half)
    )
    done(
        context,
        Iocb(data=8, opcode=PWRITE, fildes=descriptor, buf=ctypes.addressof(buffer), nbytes=len(buffer.value)),
        Iocb(data=9, opcode=PWRITEV, fildes=descriptor, buf=ctypes.addressof(parts), nbytes=2, offset=65536),
    )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
