"""Which trial a result file is of: from its fields, then from names, and null where neither says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analysis.omb.faults import REFUTED_RATE
from analysis.omb.layout import OwnLabel, own_label
from tests.analysis.omb_results import PUBLISHED, document, import_file, write


def identity(folder: Path, name: str = "result.json", generation: str = "g0", **changes: Any) -> dict[str, Any]:
    """What was found of a file of that name."""
    found = import_file(write(folder, name, document(generation, **changes))).identity
    return {what: known.value for what, known in found.items() if known.value is not None}


def test_a_published_file_tells_by_its_names() -> None:
    """Nothing of it is a field; subscriptions are in no name but of those files that have ten."""
    file = (
        PUBLISHED
        / "results/latency/10_subscriptions/data_nosync/pulsar-100-partitions-1kb-batched-1ms-1mb-ack-2-10-sub-nosync.json"
    )
    known = import_file(file).identity
    assert {what: one.value for what, one in known.items()} == {
        "system": "pulsar",
        "durability": "2",
        "topics": 1,
        "partitions_per_topic": 100,
        "producers": 2,
        "consumers": 2,
        "subscriptions": 10,
        "message_bytes": 1024,
        "rate_per_s": 200_000,
    }
    assert known["subscriptions"].source == "the file's name"
    assert known["durability"].source == "the file's name: ack 2, nosync; taken for a quorum"
    other = PUBLISHED / "results/latency/nosync/pulsar-100-partitions-1kb-batched-1ms-1mb-ack-2-nosync.json"
    assert import_file(other).identity["subscriptions"].value is None


@pytest.mark.parametrize(
    ("name", "durability"),
    [
        ("kafka-ack-all-sync.json", "1"),
        ("kafka-ack-all-nosync.json", "2"),
        ("pulsar-ack-2-bypass-journal.json", "2-bypass"),
        ("kafka-acks=1-sync.json", "3"),
        ("kafka-ack-1-nosync.json", "4"),
        ("pulsar-ack-1-bypass-journal.json", "4-bypass"),
        ("default-sync-200k.json", None),  # of what an acknowledgement waits for it says nothing
        ("kafka-ack-all.json", None),
        ("kafka-ack-0-nosync.json", None),
        ("kafka-ack-1-ack-2-sync.json", None),
        ("asynchronous-ack-1.json", None),
    ],
)
def test_durability_is_only_known_where_both_halves_are(name: str, durability: str | None, tmp_path: Path) -> None:
    """What the acknowledgement waited for, and what became of the disk."""
    assert identity(tmp_path, name).get("durability") == durability


def test_fields_go_before_names(tmp_path: Path) -> None:
    """And what a name says instead is kept beside it."""
    file = write(tmp_path, "kafka-100-partitions.json", document("g1", workload="5 topics / 1 KB / 50K Rate"))
    known = import_file(file).identity
    assert (known["partitions_per_topic"].value, known["partitions_per_topic"].others) == (16, {"the file's name": 100})
    assert (known["topics"].value, known["topics"].others) == (2, {"the workload's name": 5})
    assert known["rate_per_s"].value == 50_000
    assert known["consumers_per_subscription"].value == 4


def test_a_name_with_two_answers_says_nothing(tmp_path: Path) -> None:
    """Nobody guesses."""
    assert "partitions_per_topic" not in identity(tmp_path, workload="1 partition or 2 partitions")


@pytest.mark.parametrize(
    ("driver", "system"),
    [
        ("Kafka", "kafka"),
        ("Apache Kafka 3.6", "kafka"),
        ("RabbitMQ-quorum", "rabbitmq"),
        ("NATS", "nats"),
        ("7up", None),
    ],
)
def test_the_system_is_the_drivers_first_word(driver: str, system: str | None, tmp_path: Path) -> None:
    """No result says more of what it drove."""
    assert identity(tmp_path, driver=driver).get("system") == system


def test_an_export_is_read_back_as_the_trial_that_it_was() -> None:
    """What the format has no place for stands in the driver's name, and all of it comes back."""
    for label in (
        OwnLabel("kafka", "2-bypass", 3, False, 200_000.0, 10),
        OwnLabel("pulsar", "none", 1, True, None, 1),
        OwnLabel("kafka", "1", 12, False, 0.5, 0),
    ):
        assert own_label(str(label)) == label
    assert own_label("Kafka") is None


def test_a_rate_that_the_file_refutes_is_not_its_rate(tmp_path: Path) -> None:
    """Three times as much was sent as the name says: the rate isn't known, and the name's is kept beside it. Less refutes nothing."""
    slow, fast = (
        import_file(write(tmp_path, f"{rate}.json", document("g1", workload=f"1 topic / {rate} Rate")))
        for rate in ("2K", "300")
    )
    assert slow.identity["rate_per_s"].value == 2_000
    assert fast.identity["rate_per_s"].value is None
    assert fast.identity["rate_per_s"].others == {"the workload's name": 300}
    (fault,) = (each for each in fast.faults if each.fault == REFUTED_RATE)
    assert "says 300 msg/s, and 1,005 were sent" in fault.sentence
    assert REFUTED_RATE not in {each.fault for each in slow.faults}
