"""What is accepted in a workload file of OpenMessaging Benchmark, and what is refused in which words."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest

from bench.omb.fields import OmbWorkload, read_workload
from provisioning.errors import InvalidInput
from tests.omb.files import STEADY, write

DOCS = Path(__file__).resolve().parents[2] / "docs" / "omb.md"


def refusal(path: Path) -> str:
    """What is said to someone who wrote this file."""
    with pytest.raises(InvalidInput) as caught:
        read_workload(path)
    return str(caught.value)


def test_every_field_is_read_as_written(tmp_path: Path) -> None:
    """Nothing that the file says is replaced by a default."""
    changed: dict[str, Any] = {
        "keyDistributor": "RANDOM_NANO",
        "payloadFile": "payload/none.data",
        "consumerBacklogSizeGB": 3,
        "backlogDrainRatio": 0.25,
        "randomTopicNames": False,
        "sampleRateMillis": 1000,
        "logIntervalMillis": 500,
    }
    read = dataclasses.asdict(read_workload(write(tmp_path, **changed)))
    assert {key: read[key] for key in {**STEADY, **changed}} == {**STEADY, **changed}


def test_what_a_file_leaves_out_is_its_own_default(tmp_path: Path) -> None:
    """OpenMessaging Benchmark's defaults: adaptive rate, no consumers, a minute of warm-up, the backlog drained whole."""
    left_out = ("producerRate", "subscriptionsPerTopic", "consumerPerSubscription", "consumerBacklogSizeGB")
    read = read_workload(write(tmp_path, without=(*left_out, "backlogDrainRatio", "warmupDurationMinutes")))
    assert (read.producerRate, read.consumers, read.consumerBacklogSizeGB) == (0, 0, 0)
    assert (read.backlogDrainRatio, read.warmupDurationMinutes, read.keyDistributor) == (1.0, 1, "NO_KEY")


def test_a_key_without_a_value_is_not_given(tmp_path: Path) -> None:
    """`payloadFile:` and nothing after it means what leaving it out means."""
    assert read_workload(write(tmp_path, payloadFile=None)) == read_workload(write(tmp_path))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"partitionPerTopic": 16}, "unknown key 'partitionPerTopic'. Did you mean 'partitionsPerTopic'?"),
        ({"messageSize": "1 KB"}, "key 'messageSize' = '1 KB': expected a whole number of bytes"),
        ({"messageSize": 1024.5}, "key 'messageSize' = 1024.5: expected a whole number of bytes"),
        ({"topics": True}, "key 'topics' = True: expected a whole number of topics"),
        ({"topics": 0}, "key 'topics' = 0: expected at least 1 topics"),
        ({"producerRate": -1}, "key 'producerRate' = -1: expected at least 0 messages a second"),
        ({"producersPerTopic": 0}, "key 'producersPerTopic' = 0: samebox reads only what it sent itself"),
        ({"testDurationMinutes": 0}, "key 'testDurationMinutes' = 0: that would run forever"),
        ({"testDurationMinutes": -5}, "key 'testDurationMinutes' = -5: that would run forever"),
        ({"testDurationMinutes": "5m"}, "key 'testDurationMinutes' = '5m': expected a whole number of minutes"),
        ({"consumerBacklogSizeGB": "100GB"}, "key 'consumerBacklogSizeGB' = '100GB': expected a whole number of GiB"),
        ({"keyDistributor": "ROUND_ROBIN"}, "'NO_KEY', 'KEY_ROUND_ROBIN' or 'RANDOM_NANO'"),
        ({"randomBytesRatio": 50}, "key 'randomBytesRatio' = 50: expected a share from 0.0 to 1.0"),
        ({"backlogDrainRatio": "99%"}, "key 'backlogDrainRatio' = '99%': expected a share from 0.0 to 1.0"),
        ({"useRandomizedPayloads": "maybe"}, "key 'useRandomizedPayloads' = 'maybe': expected true or false"),
        ({"randomizedPayloadPoolSize": 0}, "key 'randomizedPayloadPoolSize': useRandomizedPayloads needs a pool"),
        ({"useRandomizedPayloads": False}, "key 'payloadFile' is missing"),
        ({"consumerBacklogSizeGB": 1, "producerRate": 0}, "key 'producerRate' = 0: a backlog"),
        ({"consumerBacklogSizeGB": 1, "producerRate": 10_000_000}, "key 'producerRate' = 10000000: a backlog"),
        ({"consumerBacklogSizeGB": 1, "subscriptionsPerTopic": 0}, "key 'consumerBacklogSizeGB': it has no consumers"),
        ({"consumerOnly": True}, "key 'consumerOnly' = True: samebox reads only what it sent itself"),
        ({"existingTopicList": ["a"]}, "key 'existingTopicList' = ['a']: samebox creates its own topics"),
        ({"existingProduceTopicList": ["a"]}, "key 'existingProduceTopicList'"),
        ({"existingConsumeTopicList": ["a"]}, "key 'existingConsumeTopicList'"),
        ({"partitionsPerTopicList": [1, 2]}, "key 'partitionsPerTopicList' = [1, 2]: samebox treats all topics alike"),
        ({"producersPerTopicList": [1, 2]}, "key 'producersPerTopicList'"),
        ({"producerRateList": [[0, 1000]]}, "key 'producerRateList' = [[0, 1000]]: a samebox workload has one rate"),
        ({"warmupProducerRate": 100}, "key 'warmupProducerRate' = 100: samebox sends at producerRate throughout"),
        ({"backlogProducerRate": 100}, "key 'backlogProducerRate'"),
        ({"drainProducerRate": 100}, "key 'drainProducerRate'"),
        ({"warmupProducerRateSeparationMinutes": 2}, "key 'warmupProducerRateSeparationMinutes' = 2"),
        ({"driverClass": "io.openmessaging.Driver"}, "this is a driver file of OpenMessaging Benchmark"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused_by_name(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    """One line that names file and key, what was expected, and what to do."""
    said = refusal(write(tmp_path, **changes))
    assert said.startswith(f"{tmp_path / 'steady.yaml'}: ")
    assert words in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize(
    "key", ["topics", "partitionsPerTopic", "messageSize", "producersPerTopic", "testDurationMinutes"]
)
def test_fields_without_a_default_that_can_run_must_be_given(tmp_path: Path, key: str) -> None:
    """OpenMessaging Benchmark would take 0 for them."""
    assert f"key '{key}' is missing." in refusal(write(tmp_path, without=(key,)))


def test_fork_fields_that_ask_for_nothing_are_accepted(tmp_path: Path) -> None:
    """A fork's file often has its fields at their defaults."""
    asks_nothing: dict[str, Any] = {
        "consumerOnly": False, "existingTopicList": [], "backlogProducerRate": -1, "warmupProducerRate": 500,
        "drainProducerRate": 500, "warmupProducerRateSeparationMinutes": 0, "producerRateList": None,
    }  # fmt: skip
    assert read_workload(write(tmp_path, **asks_nothing)).producerRate == 500


def test_all_problems_are_listed_at_once(tmp_path: Path) -> None:
    """Nobody should have to mend a file one error at a time."""
    assert len(refusal(write(tmp_path, topics=0, messageSize="1k", topic=1)).splitlines()) == 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("topics: 1\ntopics: 2\n", "key 'topics' is given twice (line 2, column 1)"),
        ("topics: [1\n", "not valid YAML"),
        ("- topics\n", "expected keys and values"),
        ("", "the file is empty"),
        ("topics: !!python/object:os.system 1\n", "not valid YAML"),
        ("topics: 1\x00\n", "not valid YAML"),
        ("topics: !!bool 7\n", "not valid YAML"),
        ("? [topics]\n: 1\n", "not valid YAML"),
    ],
)
def test_malformed_files_are_refused(tmp_path: Path, text: str, words: str) -> None:
    """What a YAML reader would pass over, too: of a key given twice it would take the last."""
    path = tmp_path / "steady.yaml"
    path.write_text(text)
    assert words in refusal(path)


@pytest.mark.parametrize("written", ["1:30", "0x10", "010", "9" * 5000])
def test_numbers_of_other_bases_are_refused(tmp_path: Path, written: str) -> None:
    """YAML 1.1 would make 90 minutes of 1:30 and 8 of 010."""
    path = write(tmp_path, without=("testDurationMinutes",))
    path.write_text(path.read_text() + f"testDurationMinutes: {written}\n")
    assert f"key 'testDurationMinutes' = '{written[:20]}" in refusal(path)


def test_a_name_that_looks_like_something_else_is_a_name(tmp_path: Path) -> None:
    """Numbers and days, also ones that the calendar doesn't have."""
    for written in ("100", "2026-11-21", "2026-13-45"):
        path = write(tmp_path, without=("name",))
        path.write_text(path.read_text() + f"name: {written}\n")
        assert read_workload(path).name == written


def test_digits_may_be_grouped(tmp_path: Path) -> None:
    """1_000_000 is a number to OpenMessaging Benchmark, too."""
    path = write(tmp_path, without=("producerRate",))
    path.write_text(path.read_text() + "producerRate: 1_000_000\n")
    assert read_workload(path).producerRate == 1_000_000


def test_a_payload_file_must_have_the_size_of_a_message(tmp_path: Path) -> None:
    """It is looked for from the file's folder upwards; where it isn't there, its size isn't compared."""
    fixed: dict[str, Any] = {"useRandomizedPayloads": False, "payloadFile": "payload/one.data"}
    (tmp_path / "workloads").mkdir()
    path = write(tmp_path / "workloads", **fixed)
    assert read_workload(path).payloadFile == "payload/one.data"
    payload = tmp_path / "payload" / "one.data"
    payload.parent.mkdir()
    payload.write_bytes(bytes(1000))
    assert "key 'payloadFile' = 'payload/one.data': it has 1000 bytes, but messageSize = 1024." in refusal(path)
    payload.write_bytes(bytes(1024))
    assert read_workload(path).messageSize == 1024


def test_the_table_in_the_docs_has_every_field() -> None:
    """docs/omb.md says of each field what becomes of it, and of no other."""
    fields = {each.name for each in dataclasses.fields(OmbWorkload)}
    chapter = DOCS.read_text().partition("### Field by field")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", chapter, flags=re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == fields
