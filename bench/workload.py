"""A workload: what is sent and read, as the campaign file says it. It only describes and checks itself; it sends nothing.

Not for workers: client hosts have no pydantic; they get `bench.load.job`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationInfo

from bench.load.message import HEADER_BYTES

Arrivals = Literal["constant", "poisson"]
Partitioning = Literal["sticky", "round-robin"]


def _one_topic(topics: int) -> int:
    if topics != 1:
        raise ValueError("one topic is what this version drives; give it more partitions instead")
    return topics


def _rate_feeds_producers(producers: int, info: ValidationInfo) -> int:
    rate = info.data.get("rate_per_s")
    if rate is not None and producers > rate:
        raise ValueError(f"rate_per_s = {rate} is less than one message a second for each of {producers} producers")
    return producers


def _consumers_divide(subscriptions: int, info: ValidationInfo) -> int:
    consumers, partitions = info.data.get("consumers"), info.data.get("partitions")
    if consumers is None or partitions is None:
        return subscriptions  # one of them is wrong itself and has its own message
    if consumers % subscriptions:
        raise ValueError(f"consumers = {consumers} can't be shared evenly by {subscriptions} subscriptions")
    if consumers // subscriptions > partitions:
        raise ValueError(
            f"{consumers // subscriptions} consumers of one subscription need as many partitions, there are {partitions}: "
            "the others would get nothing"
        )
    return subscriptions


def _batch_holds_a_message(batch_bytes: int, info: ValidationInfo) -> int:
    message_bytes = info.data.get("message_bytes")
    if message_bytes is not None and batch_bytes < message_bytes:
        raise ValueError(f"a batch must hold at least one message of message_bytes = {message_bytes}")
    return batch_bytes


@dataclass(frozen=True)
class Workload:
    """`rate_per_s` is that of all producers together; each producer has its own `in_flight` window of unacknowledged messages.

    `batch_delay_ms` is how long a client waits to fill a batch (0 = no waiting). Sticky partitioning keeps to one partition
    for a batch and then moves on; round-robin moves on with every message. The seconds are those of the schedule;
    `drain_s` bounds how long late sends, acknowledgements and consumers may take after it.
    """

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")]
    rate_per_s: Annotated[int, Field(ge=1, le=100_000_000)]
    message_bytes: Annotated[int, Field(ge=HEADER_BYTES, le=1_000_000)]
    measure_s: Annotated[float, Field(ge=1, le=7 * 86_400)]
    topics: Annotated[int, AfterValidator(_one_topic)] = 1
    partitions: Annotated[int, Field(ge=1, le=10_000)] = 6
    producers: Annotated[int, Field(ge=1, le=1_000, validate_default=True), AfterValidator(_rate_feeds_producers)] = 1
    consumers: Annotated[int, Field(ge=1, le=1_000)] = 1
    subscriptions: Annotated[int, Field(ge=1, le=100, validate_default=True), AfterValidator(_consumers_divide)] = 1
    arrivals: Arrivals = "constant"
    partitioning: Partitioning = "sticky"
    batch_delay_ms: Annotated[int, Field(ge=0, le=1_000)] = 1
    batch_bytes: Annotated[
        int, Field(ge=1, le=16_777_216, validate_default=True), AfterValidator(_batch_holds_a_message)
    ] = 131_072
    in_flight: Annotated[int, Field(ge=1, le=1_000_000)] = 5_000
    compressible_share: Annotated[float, Field(ge=0, le=1)] = 0.5
    warmup_s: Annotated[float, Field(ge=0, le=86_400)] = 10.0
    drain_s: Annotated[float, Field(ge=1, le=86_400)] = 30.0
