"""Campaign files: what is accepted, what is refused and in which words, and the order that follows."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.campaign.campaign_file import load_campaign
from bench.campaign.order import empty_cells, order_of
from provisioning.errors import InvalidInput
from systems.registry import SYSTEMS

GOOD = """
schema = 1
name = "trial-run"
question = "Which?"
seed = 7
systems = ["pulsar", "kafka"]
durability = [1]
blocks = 2
[[workloads]]
name = "steady"
rate_per_s = 1000
message_bytes = 1024
partitions = 3
producers = 1
consumers = 1
warmup_s = 1
measure_s = 2
"""


def write(folder: Path, text: str) -> Path:
    """A campaign file with this text."""
    path = folder / "campaign.toml"
    path.write_text(text)
    return path


def refusal(folder: Path, text: str) -> str:
    """What is said to someone who wrote this file."""
    with pytest.raises(InvalidInput) as caught:
        load_campaign(write(folder, text))
    return str(caught.value)


def test_alternating_blocks_reverse_every_second_one(tmp_path: Path) -> None:
    """With two blocks, each system goes first once."""
    order = order_of(load_campaign(write(tmp_path, GOOD)))
    assert [(t.block, t.position, t.system) for t in order] == [
        (1, 1, "pulsar"),
        (1, 2, "kafka"),
        (2, 1, "kafka"),
        (2, 2, "pulsar"),
    ]
    assert order[0].trial == "b01-1-pulsar-l1-steady"


def test_random_order_follows_from_the_seed(tmp_path: Path) -> None:
    """The same file gives the same order; another seed gives another one somewhere in many blocks."""
    text = GOOD.replace("blocks = 2", 'blocks = 40\norder = "random"')
    first, second = (order_of(load_campaign(write(tmp_path, text))) for _ in range(2))
    other = order_of(load_campaign(write(tmp_path, text.replace("seed = 7", "seed = 8"))))
    assert first == second
    assert [t.system for t in first] != [t.system for t in other]


def test_fixed_order_keeps_the_files(tmp_path: Path) -> None:
    """A fixed order is the file's, in every block."""
    order = order_of(load_campaign(write(tmp_path, GOOD.replace("blocks = 2", 'blocks = 3\norder = "fixed"'))))
    assert [t.system for t in order] == ["pulsar", "kafka"] * 3


def test_a_system_takes_both_places_in_its_aa_block(tmp_path: Path) -> None:
    """A/A blocks stand between the others, one system after the other has its turn; what is compared keeps its order."""
    alone = order_of(load_campaign(write(tmp_path, GOOD)))
    mixed = order_of(load_campaign(write(tmp_path, GOOD.replace("blocks = 2", "blocks = 2\naa_blocks = 2"))))
    assert [(t.trial, t.block, t.block_kind, t.position) for t in mixed] == [
        ("b01-1-pulsar-l1-steady", 1, "A/B", 1),
        ("b01-2-kafka-l1-steady", 1, "A/B", 2),
        ("aa02-1-pulsar-l1-steady", 2, "A/A", 1),
        ("aa02-2-pulsar-l1-steady", 2, "A/A", 2),
        ("b03-1-kafka-l1-steady", 3, "A/B", 1),
        ("b03-2-pulsar-l1-steady", 3, "A/B", 2),
        ("aa04-1-kafka-l1-steady", 4, "A/A", 1),
        ("aa04-2-kafka-l1-steady", 4, "A/A", 2),
    ]
    assert [t.system for t in mixed if t.block_kind == "A/B"] == [t.system for t in alone]
    assert mixed[2].to_json()["block_kind"] == "A/A"


def test_an_aa_block_has_every_variant_of_its_system_twice(tmp_path: Path) -> None:
    """With and without its journal; a system that hasn't the variant has its own turn."""
    text = GOOD.replace("durability = [1]", 'durability = [2, "2-bypass"]').replace(
        "blocks = 2", "blocks = 2\naa_blocks = 2"
    )
    order = [t for t in order_of(load_campaign(write(tmp_path, text))) if t.block_kind == "A/A"]
    first, second = ([(t.system, t.durability) for t in order if t.block == block] for block in (2, 4))
    assert first == [("pulsar", "2"), ("pulsar", "2-bypass")] * 2
    assert second == [("kafka", "2")] * 2


def test_few_aa_blocks_are_spread_among_the_others(tmp_path: Path) -> None:
    """Two in six: in the middle and at the end."""
    text = GOOD.replace("blocks = 2", "blocks = 6\naa_blocks = 2")
    kinds = {t.block: t.block_kind for t in order_of(load_campaign(write(tmp_path, text)))}
    assert [number for number, kind in kinds.items() if kind == "A/A"] == [4, 8]
    assert "aa_blocks" in refusal(tmp_path, GOOD.replace("blocks = 2", "blocks = 2\naa_blocks = -1"))


def test_unknown_key_names_file_key_and_choices(tmp_path: Path) -> None:
    """A misspelt key is refused with the file, the key, a guess and the valid keys."""
    said = refusal(tmp_path, GOOD.replace("rate_per_s", "rate_pre_s"))
    assert "campaign.toml" in said
    assert "'workloads.0.rate_pre_s'" in said
    assert "Did you mean 'rate_per_s'?" in said
    assert "message_bytes" in said


def test_wrong_unit_is_refused(tmp_path: Path) -> None:
    """A size written with a unit isn't a number of bytes."""
    said = refusal(tmp_path, GOOD.replace("message_bytes = 1024", 'message_bytes = "1 KiB"'))
    assert "workloads.0.message_bytes" in said
    assert "1 KiB" in said


def test_unknown_system_names_the_choices(tmp_path: Path) -> None:
    """A system that samebox doesn't have is refused with those that it has."""
    said = refusal(tmp_path, GOOD.replace('"kafka"', '"cafka"'))
    assert "'cafka'" in said
    assert ", ".join(SYSTEMS) in said


def test_level_a_system_cannot_give_is_an_empty_cell(tmp_path: Path) -> None:
    """A durability level is never silently replaced by another: the cell stays empty, with its reason; others are run."""
    campaign = load_campaign(write(tmp_path, GOOD.replace("durability = [1]", 'durability = [2, "2-bypass"]')))
    [empty] = empty_cells(campaign)
    assert (empty.experiment, empty.system, empty.durability) == ("trial-run", "kafka", "2-bypass")
    assert "no journal beside its log" in empty.reason
    first = [(t.system, t.durability) for t in order_of(campaign) if t.block == 1]
    assert first == [("pulsar", "2"), ("pulsar", "2-bypass"), ("kafka", "2")]


def test_a_file_of_empty_cells_alone_is_refused(tmp_path: Path) -> None:
    """Nothing would run; each system's reason is told."""
    text = GOOD.replace("durability = [1]", 'durability = ["2-bypass"]').replace('["pulsar", "kafka"]', '["kafka"]')
    assert "none of its trials can run: kafka at level 2-bypass: Kafka has no journal" in refusal(tmp_path, text)


def test_unknown_level_names_the_choices(tmp_path: Path) -> None:
    """With the variants of a level."""
    said = refusal(tmp_path, GOOD.replace("durability = [1]", "durability = [9]"))
    assert "unknown level '9'. Valid choices: 1, 2, 2-bypass, 2-stream, 3, 4, 4-bypass, none." in said


def test_compression_that_a_client_does_not_know_is_refused(tmp_path: Path) -> None:
    """Before anything is started, with the system to leave out; the others take it."""
    compressed = GOOD.replace("[[workloads]]", '[[workloads]]\ncompression = "lz4"', 1)
    assert load_campaign(write(tmp_path, compressed)).workloads[0].compression == "lz4"
    said = refusal(tmp_path, compressed.replace('["pulsar", "kafka"]', '["kafka", "nats", "rabbitmq", "valkey"]'))
    for system in ("nats", "rabbitmq", "valkey"):
        problem = f"key 'workloads.0.compression': the client of {system} doesn't know 'lz4', only none."
        assert f"{problem} Change it, or leave {system} out of 'systems'." in said
    assert "client of kafka" not in said


SEVERAL = GOOD.replace("consumers = 1", "consumers = 2\nsubscriptions = 2").replace('"pulsar"', '"rabbitmq"')


def test_a_level_at_which_a_system_can_take_no_workload_is_an_empty_cell(tmp_path: Path) -> None:
    """With the system's own reason, as a level that it can't give; at another level it takes them."""
    both = load_campaign(write(tmp_path, SEVERAL.replace("durability = [1]", 'durability = [1, 2, "2-stream"]')))
    empty = {(each.system, each.durability): each.reason for each in empty_cells(both) if each.system == "rabbitmq"}
    assert empty.keys() == {("rabbitmq", "1"), ("rabbitmq", "2")}
    assert all("forgets what was read" in reason for reason in empty.values())
    assert {(t.system, t.durability) for t in order_of(both)} == {
        ("kafka", "1"),
        ("kafka", "2"),
        ("rabbitmq", "2-stream"),
    }


def test_a_workload_that_a_system_cannot_take_beside_others_is_refused(tmp_path: Path) -> None:
    """Before anything is started: a cell isn't half empty."""
    workload = GOOD[GOOD.index("[[workloads]]") :]
    said = refusal(tmp_path, SEVERAL + workload.replace("steady", "other"))
    assert (
        "key 'workloads.0': rabbitmq can't take it at level 1, but others here: a queue forgets what was read" in said
    )


def test_missing_file_lists_what_is_there(tmp_path: Path) -> None:
    """A wrong file name is answered with the files of that folder."""
    write(tmp_path, GOOD)
    with pytest.raises(InvalidInput) as caught:
        load_campaign(tmp_path / "campain.toml")
    assert "no such file" in str(caught.value)
    assert "campaign.toml" in caught.value.next_step


def test_duplicates_are_refused(tmp_path: Path) -> None:
    """The same system twice would be compared with itself under one name."""
    assert "listed twice" in refusal(tmp_path, GOOD.replace('["pulsar", "kafka"]', '["kafka", "kafka"]'))


def test_other_schema_is_refused(tmp_path: Path) -> None:
    """A file for another version isn't guessed at."""
    assert "schema is 2" in refusal(tmp_path, GOOD.replace("schema = 1", "schema = 2"))


def test_the_committed_campaigns_load() -> None:
    """Every file in campaigns/ is accepted as it stands."""
    files = sorted((Path(__file__).resolve().parents[2] / "campaigns").glob("*.toml"))
    assert files
    for file in files:
        assert order_of(load_campaign(file))
