"""What was acknowledged against what the brokers hold. Written from docs/records.md alone: it imports nothing of samebox."""

from __future__ import annotations

import hashlib
import itertools
import math
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

HEADER_BYTES = 32
SAMPLE_SHARE = 0.01
Name = tuple[int, int]  # producer, sequence


@dataclass(frozen=True)
class Told:
    """A row of the produced records; `partition` None = never acknowledged."""

    producer: int
    sequence: int
    intended_ns: int
    partition: int | None

    @property
    def name(self) -> Name:
        """What tells it from every other message of the load."""
        return self.producer, self.sequence


@dataclass(frozen=True)
class Stored:
    """A message as the brokers hold it. `position` ascends within a partition; `head` is the payload's first 32 bytes."""

    partition: int
    position: tuple[int, ...]
    sha256: str
    head: bytes

    @property
    def name(self) -> Name:
        """Producer and sequence, from the head."""
        return _integer(self.head[12:16]), _integer(self.head[16:24])


def stored_of(payload: bytes, partition: int, position: tuple[int, ...]) -> Stored:
    """What a reader that saw this payload there would say of it."""
    return Stored(partition, position, hashlib.sha256(payload).hexdigest(), payload[:HEADER_BYTES])


def header(told: Told, run: int) -> bytes:
    """The first 32 bytes that this message must have."""
    fields = (2, 2), (0, 2), (run, 4), (told.producer, 4), (told.sequence, 8), (told.intended_ns, 8)
    return b"sbx1" + b"".join(value.to_bytes(size, "little") for value, size in fields)


def bodies(body_bytes: int, compressible_share: float, *, seed: int, producer: int) -> list[bytes]:
    """The pool of bodies of one producer: slices of the generator's raw bytes, zeros after them."""
    zeros = round(body_bytes * compressible_share)
    count = max(1, min(4096, 4 * 2**20 // max(1, body_bytes)))
    taken = math.ceil((body_bytes - zeros) / 4) * 4
    words = np.random.PCG64(np.random.SeedSequence([seed, producer])).random_raw(math.ceil(count * taken / 8))
    stream = words.astype("<u8").tobytes()
    return [stream[at * taken :][: body_bytes - zeros] + bytes(zeros) for at in range(count)]


def payloads(
    messages: Iterable[Told], *, run: int, seed: int, message_bytes: int, compressible_share: float
) -> dict[Name, bytes]:
    """The whole payload that each message must have, by name."""
    made: dict[Name, bytes] = {}
    pools: dict[int, list[bytes]] = {}
    for each in messages:
        if each.producer not in pools:
            pools[each.producer] = bodies(
                message_bytes - HEADER_BYTES, compressible_share, seed=seed, producer=each.producer
            )
        pool = pools[each.producer]
        made[each.name] = header(each, run) + pool[each.sequence % len(pool)]
    return made


def sample(told: Iterable[Told], *, seed: int) -> list[Told]:
    """A seeded hundredth of each producer's acknowledged messages, and the first and the last of them."""
    by_producer: dict[int, list[Told]] = defaultdict(list)
    for each in told:
        if each.partition is not None:
            by_producer[each.producer].append(each)
    chosen: list[Told] = []
    for producer, acknowledged in sorted(by_producer.items()):
        between = acknowledged[1:-1]
        chosen += [acknowledged[0], acknowledged[-1]]
        chosen += random.Random(f"{seed}/{producer}").sample(between, math.ceil(SAMPLE_SHARE * len(between)))
    return chosen


def differences(
    told: Sequence[Told], stored: Sequence[Stored], *, run: int, sampled: Mapping[Name, bytes]
) -> list[str]:
    """A sentence for everything in which the brokers differ from the records; none = they agree.

    Every acknowledged message must be there exactly once, in its partition, with the header that the records say, and those
    of `sampled` with the hash of that whole payload. An unacknowledged message may be there. Within a partition each
    producer's sequences must ascend with the position.
    """
    by_name: dict[Name, list[Stored]] = defaultdict(list)
    for message in stored:
        by_name[message.name].append(message)
    found = [f"{_title(name)}: never sent" for name in sorted(by_name.keys() - {each.name for each in told})]
    for each in told:
        copies = by_name[each.name]
        if each.partition is None:
            continue
        if len(copies) != 1:
            found.append(f"{_title(each.name)}: acknowledged once, stored {len(copies)} times")
        for copy in copies:
            found += _differences_of_one(each, copy, run, sampled.get(each.name))
    return found + _steps_back(stored)


def _differences_of_one(told: Told, stored: Stored, run: int, payload: bytes | None) -> list[str]:
    found = []
    if stored.partition != told.partition:
        found.append(f"acknowledged in partition {told.partition}, stored in {stored.partition}")
    if stored.head != header(told, run):
        found.append(f"its header is {stored.head.hex()}, by the records it is {header(told, run).hex()}")
    if payload is not None and stored.sha256 != (sha256 := hashlib.sha256(payload).hexdigest()):
        found.append(f"the payload's SHA-256 is {stored.sha256}, by the records it is {sha256}")
    return [f"{_title(told.name)}: {each}" for each in found]


def _steps_back(stored: Iterable[Stored]) -> list[str]:
    lanes: dict[tuple[int, int], list[Stored]] = defaultdict(list)
    for message in sorted(stored, key=lambda message: message.position):
        lanes[message.partition, message.name[0]].append(message)
    return [
        f"{_title(later.name)}: stored in partition {partition} after sequence {earlier.name[1]}"
        for (partition, _), lane in sorted(lanes.items())
        for earlier, later in itertools.pairwise(lane)
        if later.name[1] < earlier.name[1]
    ]


def _title(name: Name) -> str:
    return f"producer {name[0]}, sequence {name[1]}"


def _integer(field: bytes) -> int:
    return int.from_bytes(field, "little", signed=True)
