"""The keys of keyed messages: a pool of 10,000 random ones, as OpenMessaging Benchmark has it, in turn or at random."""

from __future__ import annotations

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
