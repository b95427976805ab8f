"""The producer: chooses each message's partition, and so the connection that it goes by."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence

from systems.client import Backpressure, ClientError, ClientSpec
from systems.keys import keys_of, partition_chooser
from systems.rabbitmq.lane_client import Lane
from systems.rabbitmq.session_client import Message


class RabbitProducer:
    """See Producer. A partition's messages all go by the same lane, so their order is kept."""

    def __init__(self, lanes: Sequence[Lane], spec: ClientSpec, partitions: int, given: Mapping[str, str]) -> None:
        self._lanes, self._given = lanes, given
        self._lane_of = [lanes[at % len(lanes)] for at in range(partitions)]
        self._key_of = keys_of(spec)
        self._partition_of = partition_chooser(spec, partitions)
        # Room beyond our own window: the window is what bounds, so that a full one never looks like an error.
        self._room = 2 * spec.workload.in_flight + 1_000
        self._closed = False

    def configuration(self) -> Mapping[str, str]:
        return self._given

    def send(self, sequence: int, payload: bytes) -> None:
        if self._closed:
            raise ClientError("Closed")
        key = self._key_of(sequence) if self._key_of is not None else None
        partition = self._partition_of(sequence, key)
        lane = self._lane_of[partition]
        if lane.blocked:
            raise Backpressure("Blocked", lane.blocked)
        if lane.pending >= self._room:
            raise Backpressure("TooManyPending")
        lane.put(Message(sequence, partition, payload, key, time.monotonic()))

    def errors(self) -> Mapping[str, int]:
        return sum((lane.errors for lane in self._lanes), Counter())

    def close(self) -> None:
        self._closed = True
        for lane in self._lanes:
            lane.finish()
        for lane in self._lanes:
            lane.close()
