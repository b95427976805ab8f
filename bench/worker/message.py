"""The message: a fixed header that identifies it, then seeded random bytes.

Header, little endian, 32 bytes: magic, layout version, run, producer, sequence, intended time. `run` tells this load's
messages from any other's, so that a leftover of an earlier run can never count as received.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from contract.message import HEADER, HEADER_BYTES, LAYOUT_VERSION, MAGIC

_OF_RUN = struct.Struct("<4sHHI")
MARK_BYTES = _OF_RUN.size  # the beginning of the header that is the same in all messages of a run
HEADER_FIELDS = np.dtype(
    [
        ("magic", "S4"),
        ("version", "<u2"),
        ("reserved", "<u2"),
        ("run", "<u4"),
        ("producer", "<i4"),
        ("sequence", "<i8"),
        ("intended_ns", "<i8"),
    ]
)
# Larger than the window of the usual compressors, so that repeats of the pool don't make random bytes compressible.
POOL_BYTES = 4 * 1024 * 1024
MOST_IN_POOL = 4096


def bodies(
    body_bytes: int, compressible_share: float, *, seed: int, producer: int, pool: int | None = None
) -> list[bytes]:
    """The pool of message bodies of one producer: random bytes, then `compressible_share` of zeros.

    `pool`: how many; None = so many that repeats don't make them compressible.
    """
    zeros = round(body_bytes * compressible_share)
    generator = np.random.default_rng([seed, producer])
    count = pool or max(1, min(MOST_IN_POOL, POOL_BYTES // max(1, body_bytes)))
    return [generator.bytes(body_bytes - zeros) + bytes(zeros) for _ in range(count)]


def message_maker(
    message_bytes: int, compressible_share: float, *, seed: int, producer: int, run: int, pool: int | None = None
) -> Callable[[int, int], bytes]:
    """A function (sequence, intended_ns) -> the message."""
    own = bodies(message_bytes - HEADER_BYTES, compressible_share, seed=seed, producer=producer, pool=pool)
    size, pack = len(own), HEADER.pack

    def make(sequence: int, intended_ns: int) -> bytes:
        return pack(MAGIC, LAYOUT_VERSION, 0, run, producer, sequence, intended_ns) + own[sequence % size]

    return make


def run_mark(run: int) -> bytes:
    """The first MARK_BYTES of every message of a run, and of no other run's."""
    return _OF_RUN.pack(MAGIC, LAYOUT_VERSION, 0, run)


def read_headers(headers: bytes | bytearray) -> NDArray[np.void]:
    """Headers, one after another, as an array with one field per header field."""
    return np.frombuffer(headers, dtype=HEADER_FIELDS)
