"""From a workload of OpenMessaging Benchmark to one of ours, with a sentence for each thing that is done differently."""

from __future__ import annotations

from typing import Any

from bench.omb.fields import OmbWorkload
from contract.message import HEADER_BYTES
from contract.workload import Backlog, Keys, Workload
from provisioning.document import build
from provisioning.errors import InvalidInput

GIBIBYTE = 2**30
MINUTE_S = 60
# producerRate 0: where OpenMessaging Benchmark begins, and how far samebox looks
SEARCH_FROM_PER_S = 10_000
SEARCH_UP_TO_PER_S = 10_000_000
# overdriven: what disk space is planned for, since the file doesn't say what it expects
PLANNED_PER_S = 250_000
PLANNED_BYTES_PER_S = 256 * 2**20

_KEYS: dict[str, Keys] = {"NO_KEY": "none", "KEY_ROUND_ROBIN": "round-robin", "RANDOM_NANO": "random"}
# what the fields of ours are called where only OpenMessaging Benchmark's names are known
_NAMED = {
    "rate_per_s": "producerRate",
    "message_bytes": "messageSize",
    "partitions": "partitionsPerTopic",
    "producers": "topics x producersPerTopic",
    "consumers": "topics x subscriptionsPerTopic x consumerPerSubscription",
    "subscriptions": "subscriptionsPerTopic",
    "backlog.consumers": "topics x subscriptionsPerTopic x consumerPerSubscription",
    "backlog.subscriptions": "subscriptionsPerTopic",
    "payload_pool": "randomizedPayloadPoolSize",
    "measure_s": "testDurationMinutes x 60",
    "warmup_s": "warmupDurationMinutes x 60",
}


ALWAYS = (
    "No driver file of OpenMessaging Benchmark is read: acknowledgements are those of the durability level, batches and windows "
    "those of the workload."
)


def workload_of(omb: OmbWorkload, name: str, *, where: str) -> Workload:
    """Our workload, called `name`. Raises InvalidInput in the file's own words for what is beyond the load generator."""
    fields: dict[str, Any] = {
        "name": name,
        "message_bytes": omb.messageSize,
        "topics": omb.topics,
        "partitions": omb.partitionsPerTopic,
        "producers": omb.topics * omb.producersPerTopic,
        "keys": _KEYS[omb.keyDistributor],
        # a client can't batch less than a message
        "batch_bytes": max(Workload.batch_bytes, omb.messageSize),
        "measure_s": omb.testDurationMinutes * MINUTE_S,
        "warmup_s": omb.warmupDurationMinutes * MINUTE_S,
        **_pacing(omb),
        **_payload(omb),
        **_reading(omb),
    }
    try:
        return build(Workload, fields, where=where, named=_NAMED)
    except InvalidInput as error:
        raise InvalidInput(
            str(error),
            next_step="That is beyond samebox's load generator, which runs each producer and consumer separately and keeps the "
            "times of every message: change these numbers in a copy of the file.",
        ) from None


def differences(omb: OmbWorkload) -> tuple[str, ...]:
    """What samebox does differently than OpenMessaging Benchmark would with this file, one sentence each, beside ALWAYS."""
    sentences = []
    if omb.producerRate == 0:
        sentences.append(
            "producerRate 0: samebox searches for the highest rate that is sustained, starting at up to "
            f"{SEARCH_FROM_PER_S:,}, to at most {SEARCH_UP_TO_PER_S:,} messages/s, and measures at it; OpenMessaging Benchmark changes "
            "its rate while it measures."
        )
    if omb.overdriven:
        sentences.append(
            f"producerRate {omb.producerRate:,} isn't meant to be reached: samebox sends as fast as the windows of unacknowledged "
            "messages allow, an overdriven run whose latencies are those of full queues; producerRate: 0 would search for the "
            "highest rate that is sustained."
        )
    if not omb.useRandomizedPayloads:
        sentences.append(
            "payloadFile: its content isn't sent; each producer repeats one body of random bytes, of messageSize "
            f"including the header of {HEADER_BYTES} bytes."
        )
    if omb.consumerBacklogSizeGB:
        sentences.append(
            "consumerBacklogSizeGB: the consumers start when the backlog is complete; OpenMessaging Benchmark pauses running ones."
        )
    intervals = (omb.sampleRateMillis, omb.logIntervalMillis)
    if intervals != (OmbWorkload.sampleRateMillis, OmbWorkload.logIntervalMillis):
        sentences.append("sampleRateMillis and logIntervalMillis have no effect: every message's times are kept.")
    return tuple(sentences)


def _pacing(omb: OmbWorkload) -> dict[str, Any]:
    if omb.producerRate == 0:
        return {"pacing": "search", "rate_per_s": SEARCH_UP_TO_PER_S, "expected_rate_per_s": SEARCH_FROM_PER_S}
    if omb.overdriven:
        expected = max(1, min(PLANNED_PER_S, PLANNED_BYTES_PER_S // omb.messageSize))
        return {"pacing": "closed-loop", "rate_per_s": omb.producerRate, "expected_rate_per_s": expected}
    return {"pacing": "open-loop", "rate_per_s": omb.producerRate}


def _payload(omb: OmbWorkload) -> dict[str, Any]:
    if omb.useRandomizedPayloads:
        zeros = round(1 - omb.randomBytesRatio, 9)
        return {"compressible_share": zeros, "payload_pool": omb.randomizedPayloadPoolSize}
    return {"compressible_share": 0.0, "payload_pool": 1}


def _reading(omb: OmbWorkload) -> dict[str, Any]:
    """The consumers of a backlog are its own: none reads before it is there."""
    subscriptions = max(1, omb.subscriptionsPerTopic)
    if not omb.consumerBacklogSizeGB:
        return {"consumers": omb.consumers, "subscriptions": subscriptions}
    # its size counts what each subscription still has to read
    size_bytes = -(-omb.consumerBacklogSizeGB * GIBIBYTE // subscriptions)
    build_s = size_bytes / (omb.producerRate * omb.messageSize)
    backlog = {
        "size_bytes": size_bytes,
        "consumers": omb.consumers,
        "subscriptions": subscriptions,
        # the file sets no bound: twice the time that building takes, at least our usual one
        "catch_up_s": max(Backlog.catch_up_s, round(2 * build_s)),
        "drained_share": omb.backlogDrainRatio,
    }
    return {"consumers": 0, "subscriptions": 1, "backlog": backlog}
