"""Where messages go: the keys of keyed ones (a pool of 10,000 random ones, as OpenMessaging Benchmark has it, in turn or at random),
and the partitions that our own clients choose."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable

import numpy as np

from systems.client import ClientSpec

KEYS = 10_000
KEY_BYTES = 7
_DRAWS = 1 << 16  # as many random draws, then the same again: far more than keys, so that no key is missed


def keys_of(spec: ClientSpec) -> Callable[[int], str] | None:
    """A function sequence -> key, the same for the same seed; None where messages have no keys."""
    if spec.workload.keys == "none":
        return None
    generator = np.random.default_rng([spec.seed, KEYS])
    letters = generator.integers(ord("a"), ord("z") + 1, (KEYS, KEY_BYTES), dtype=np.uint8)
    pool = [bytes(row).decode() for row in letters]
    if spec.workload.keys == "round-robin":
        return lambda sequence: pool[sequence % KEYS]
    drawn = [pool[at] for at in generator.integers(0, KEYS, _DRAWS)]
    return lambda sequence: drawn[sequence % _DRAWS]


def partition_chooser(spec: ClientSpec, partitions: int) -> Callable[[int, str | None], int]:
    """(sequence, key) -> partition. A key's partition is that of its CRC-32, whoever sends.

    Without keys: one after the other, or staying with each for as many messages as a batch would hold, where producers begin apart.
    """
    workload = spec.workload
    if workload.keys != "none":
        return lambda _sequence, key: zlib.crc32((key or "").encode()) % partitions
    if workload.partitioning == "round-robin":
        return lambda sequence, _key: sequence % partitions
    stay = max(1, workload.batch_bytes // workload.message_bytes) if workload.batching else 1
    first = random.randrange(partitions)
    return lambda sequence, _key: (first + sequence // stay) % partitions
