"""What becomes of a workload of OpenMessaging Benchmark: its numbers in our units, and a sentence for each difference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.omb.fields import read_workload
from bench.omb.mapping import differences, workload_of
from contract.workload import Backlog, Workload
from provisioning.errors import InvalidInput
from tests.omb.files import write


def mapped(folder: Path, **changes: Any) -> Workload:
    """Ours of the file with these changes."""
    return workload_of(read_workload(write(folder, **changes)), "steady", where="steady.yaml")


def said(folder: Path, **changes: Any) -> str:
    """Its differences in one text."""
    return "\n".join(differences(read_workload(write(folder, **changes))))


def test_the_numbers_of_a_topic_become_totals_and_minutes_seconds(tmp_path: Path) -> None:
    """Producers and consumers are those of all topics; the rate is all producers' in both."""
    workload = mapped(tmp_path)
    assert (workload.topics, workload.partitions, workload.message_bytes) == (2, 4, 1024)
    assert (workload.producers, workload.subscriptions, workload.consumers) == (14, 3, 30)
    assert (workload.pacing, workload.rate_per_s) == ("open-loop", 500)
    assert (workload.measure_s, workload.warmup_s, workload.backlog) == (120, 180, None)


@pytest.mark.parametrize(
    ("theirs", "ours"), [("NO_KEY", "none"), ("KEY_ROUND_ROBIN", "round-robin"), ("RANDOM_NANO", "random")]
)
def test_each_distribution_of_keys(tmp_path: Path, theirs: str, ours: str) -> None:
    """All three have one of ours."""
    assert mapped(tmp_path, keyDistributor=theirs).keys == ours


def test_random_payloads_keep_their_share_and_pool(tmp_path: Path) -> None:
    """Their ratio is of random bytes, our share of those that can be compressed."""
    workload = mapped(tmp_path)
    assert (workload.compressible_share, workload.payload_pool) == (0.3, 100)


def test_a_payload_file_becomes_one_body(tmp_path: Path) -> None:
    """A fixed payload stays one, and the reader is told that its content isn't sent."""
    fixed: dict[str, Any] = {"useRandomizedPayloads": False, "payloadFile": "one.data"}
    workload = mapped(tmp_path, **fixed)
    assert (workload.compressible_share, workload.payload_pool) == (0.0, 1)
    assert "payloadFile: its content isn't sent" in said(tmp_path, **fixed)
    assert "payloadFile" not in said(tmp_path)


def test_an_adaptive_rate_is_searched(tmp_path: Path) -> None:
    """It begins where OpenMessaging Benchmark does."""
    workload = mapped(tmp_path, producerRate=0)
    assert (workload.pacing, workload.expected_rate_per_s, workload.rate_per_s) == ("search", 10_000, 10_000_000)
    assert "producerRate 0: samebox searches" in said(tmp_path, producerRate=0)


@pytest.mark.parametrize(("rate", "pacing"), [(9_999_999, "open-loop"), (10_000_000, "closed-loop")])
def test_a_rate_that_is_not_meant_is_overdriven(tmp_path: Path, rate: int, pacing: str) -> None:
    """From the number on that its own files write for as fast as it goes, and the reader is told."""
    workload = mapped(tmp_path, producerRate=rate)
    assert (workload.pacing, workload.rate_per_s) == (pacing, rate)
    assert ("overdriven" in said(tmp_path, producerRate=rate)) == (pacing == "closed-loop")


@pytest.mark.parametrize(("message_bytes", "planned_per_s"), [(100, 250_000), (65_536, 4_096), (1_000_000, 268)])
def test_disk_space_is_planned_for_what_can_be_reached(tmp_path: Path, message_bytes: int, planned_per_s: int) -> None:
    """Ten million large messages a second would fit no disk; it is planned for 256 MiB/s or 250,000 messages/s at most."""
    workload = mapped(tmp_path, producerRate=10_000_000, messageSize=message_bytes)
    assert workload.planned_rate_per_s == planned_per_s


def test_a_backlog_is_gibibytes_of_all_subscriptions(tmp_path: Path) -> None:
    """Three subscriptions that lack 2 GiB each lack 6 together; nobody reads before it is there."""
    workload = mapped(tmp_path, consumerBacklogSizeGB=6, backlogDrainRatio=0.9)
    assert workload.consumers == 0
    # 500 messages of 1 KiB a second need 4,194.3 s for 2 GiB
    assert workload.backlog == Backlog(2 * 2**30, consumers=30, subscriptions=3, catch_up_s=8_389, drained_share=0.9)
    assert "consumerBacklogSizeGB" in said(tmp_path, consumerBacklogSizeGB=6)


def test_producers_alone(tmp_path: Path) -> None:
    """No subscriptions are no consumers."""
    assert mapped(tmp_path, subscriptionsPerTopic=0).consumers == 0


def test_a_batch_holds_a_large_message(tmp_path: Path) -> None:
    """Larger than our usual batch, it isn't refused for something that the file doesn't say."""
    assert mapped(tmp_path, messageSize=500_000, randomizedPayloadPoolSize=1).batch_bytes == 500_000


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"topics": 1001}, "key 'topics' = 1001"),
        ({"producersPerTopic": 600}, "key 'topics x producersPerTopic' = 1200"),
        ({"consumerPerSubscription": 600}, "key 'topics x subscriptionsPerTopic x consumerPerSubscription' = 3600"),
        ({"messageSize": 31}, "key 'messageSize' = 31"),
        ({"messageSize": 2_000_000}, "key 'messageSize' = 2000000"),
        ({"partitionsPerTopic": 10_001}, "key 'partitionsPerTopic' = 10001"),
        ({"testDurationMinutes": 1_000_000}, "key 'testDurationMinutes x 60' = 60000000"),
        ({"randomizedPayloadPoolSize": 99_999, "messageSize": 65536}, "key 'randomizedPayloadPoolSize' = 99999"),
        ({"producerRate": 13}, "producerRate = 13 is less than one message a second for each of 14 producers"),
    ],
)
def test_what_is_beyond_the_generator_is_refused_in_the_files_words(
    tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    """Our names for the fields mean nothing to whoever wrote the file."""
    with pytest.raises(InvalidInput) as caught:
        mapped(tmp_path, **changes)
    assert words in str(caught.value)
    assert str(caught.value).startswith("steady.yaml: ")
    assert not any(ours in str(caught.value) for ours in ("rate_per_s", "message_bytes", "measure_s"))
    assert "in a copy of the file" in caught.value.next_step


def test_fields_without_effect_are_told(tmp_path: Path) -> None:
    """Windows of a second are no other measurement here."""
    assert "sampleRateMillis" in said(tmp_path, sampleRateMillis=1000)
    assert "sampleRateMillis" not in said(tmp_path)
