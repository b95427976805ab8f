"""A workload checks itself, and says what is wrong in the words of the file."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from contract.message import HEADER_BYTES
from contract.workload import Workload, workload_of
from provisioning.document import build
from provisioning.errors import InvalidInput

MINIMAL = {"name": "steady", "rate_per_s": 2000, "message_bytes": 1024, "measure_s": 20}


def made(**changes: Any) -> Workload:
    """A workload as a campaign file would give it."""
    return build(Workload, {**MINIMAL, **changes}, where="demo.toml")


def test_every_default_is_visible_in_the_workload() -> None:
    """What the file left out is filled in, so that the manifest says it."""
    assert dataclasses.asdict(made()) == {
        **MINIMAL,
        "pacing": "open-loop", "expected_rate_per_s": None, "search_steps": None,
        "rates_per_s": (), "lowest_rate_per_s": None, "rungs": None, "goal_p99_ms": None, "ladder": None,
        "topics": 1, "partitions": 6, "producers": 1, "consumers": 1, "subscriptions": 1, "backlog": None,
        "arrivals": "constant", "partitioning": "sticky", "keys": "none",
        "batching": True, "batch_delay_ms": 1, "batch_bytes": 131072, "in_flight": 5000,
        "compression": "none", "compressible_share": 0.5, "payload_pool": None, "warmup_s": 10.0, "warmup": "fixed", "drain_s": 30.0,
        "faults": (), "goal_ms": None,
    }  # fmt: skip


def test_the_smallest_message_is_the_header() -> None:
    """A message must hold its header; exactly the header is enough."""
    assert made(message_bytes=HEADER_BYTES).message_bytes == HEADER_BYTES


@pytest.mark.parametrize(
    ("changes", "key", "words"),
    [
        ({"message_bytes": HEADER_BYTES - 1}, "message_bytes", "greater than or equal to 32"),
        ({"topics": 2, "consumers": 2}, "producers", "1 producers can't be shared evenly by 2 topics"),
        ({"topics": 2, "producers": 2}, "subscriptions", "by 1 subscriptions of each of 2 topics"),
        ({"expected_rate_per_s": 500}, "expected_rate_per_s", "an open loop sends at rate_per_s"),
        ({"pacing": "search", "expected_rate_per_s": 5000}, "expected_rate_per_s", "it exceeds rate_per_s"),
        ({"search_steps": 4}, "search_steps", "only pacing = 'search' has steps"),
        ({"pacing": "closed-loop", "search_steps": 4}, "search_steps", "only pacing = 'search' has steps"),
        ({"pacing": "search", "backlog": {"size_bytes": 1}}, "backlog", "needs pacing = 'open-loop'"),
        ({"backlog": {"size_bytes": 1, "consumers": 3, "subscriptions": 2}}, "backlog", "can't be shared evenly"),
        ({"backlog": {"size_bytes": 1, "consumer": 1}}, "backlog.consumer", "Did you mean 'consumers'?"),
        ({"keys": "random", "partitioning": "round-robin"}, "keys", "keys choose the partition"),
        ({"compression": "brotli"}, "compression", "'none', 'gzip', 'snappy', 'lz4' or 'zstd'"),
        ({"rate_per_s": 3, "producers": 4}, "producers", "less than one message a second for each of 4 producers"),
        ({"consumers": 3, "subscriptions": 2}, "subscriptions", "can't be shared evenly by 2 subscriptions"),
        ({"batch_bytes": 512}, "batch_bytes", "at least one message of message_bytes = 1024"),
        ({"message_bytes": 200_000}, "batch_bytes", "at least one message"),
        ({"arrivals": "burst"}, "arrivals", "'constant' or 'poisson'"),
        ({"partitioning": "random"}, "partitioning", "'sticky' or 'round-robin'"),
        ({"compressible_share": 1.5}, "compressible_share", "less than or equal to 1"),
        ({"payload_pool": 0}, "payload_pool", "greater than or equal to 1"),
        ({"payload_pool": 262_145}, "payload_pool", "less than or equal to 100000"),
        ({"message_bytes": 100_000, "payload_pool": 2_685}, "payload_pool", "would hold 268,500,000 bytes of bodies"),
        ({"backlog": {"size_bytes": 1, "drained_share": 1.1}}, "backlog.drained_share", "less than or equal to 1"),
        ({"warmup": "until-steady"}, "warmup", "warmup_s is the longest that it may take: set it to 20 or more"),
        ({"warmup": "until-steady", "warmup_s": 60, "pacing": "search"}, "warmup", "needs pacing = 'open-loop'"),
        ({"warmup": "until-steady", "warmup_s": 60, "backlog": {"size_bytes": 1}}, "warmup", "and no backlog"),
        ({"warmup": "until-warm"}, "warmup", "'fixed' or 'until-steady'"),
        ({"rate_per_s": 0}, "rate_per_s", "greater than or equal to 1"),
        ({"measure_s": 0}, "measure_s", "greater than or equal to 1"),
        ({"in_flight": 0}, "in_flight", "greater than or equal to 1"),
        ({"rate": 5}, "rate", "Valid keys:"),
        ({"pacing": "ladder"}, "rungs", "a ladder needs rates_per_s = [RATE, ...], or lowest_rate_per_s and rungs"),
        ({"pacing": "ladder", "rungs": 3}, "rungs", "a ladder needs rates_per_s"),
        ({"pacing": "ladder", "rates_per_s": [5, 2000], "rungs": 3}, "rungs", "give either rates_per_s, or"),
        ({"pacing": "ladder", "rates_per_s": [2000]}, "rates_per_s", "give two rates or more"),
        ({"pacing": "ladder", "rates_per_s": [500, 100, 2000]}, "rates_per_s", "in ascending order"),
        ({"pacing": "ladder", "rates_per_s": [500, 1000]}, "rates_per_s", "the highest must be rate_per_s = 2000"),
        ({"pacing": "ladder", "lowest_rate_per_s": 2000, "rungs": 3}, "lowest_rate_per_s", "less than rate_per_s"),
        ({"pacing": "ladder", "lowest_rate_per_s": 1990, "rungs": 20}, "rungs", "aren't so many different rates"),
        ({"pacing": "ladder", "lowest_rate_per_s": 3, "rungs": 3, "producers": 4}, "producers", "the lowest rung = 3"),
        (
            {"pacing": "ladder", "lowest_rate_per_s": 9, "rungs": 3, "backlog": {"size_bytes": 1}},
            "backlog",
            "open-loop",
        ),
        ({"rates_per_s": [500, 2000]}, "rates_per_s", "only pacing = 'ladder' has several rates"),
        ({"rungs": 3}, "rungs", "only pacing = 'ladder' has it"),
        ({"lowest_rate_per_s": 3}, "lowest_rate_per_s", "only pacing = 'ladder' has it"),
        ({"goal_p99_ms": 3}, "goal_p99_ms", "only pacing = 'ladder' has it"),
        ({"ladder": "steady"}, "ladder", "filled in for each rung: leave it out"),
    ],
)
def test_impossible_workloads_are_refused(changes: dict[str, Any], key: str, words: str) -> None:
    """One message that names file, key and what is wrong."""
    with pytest.raises(InvalidInput) as raised:
        made(**changes)
    assert str(raised.value).startswith("demo.toml: ")
    assert f"key '{key}'" in str(raised.value)
    assert words in str(raised.value)
    assert len(str(raised.value).splitlines()) == 1


def test_all_problems_are_listed_at_once() -> None:
    """Nobody should have to fix a file one error at a time."""
    with pytest.raises(InvalidInput) as raised:
        made(rate_per_s=-1, in_flight=0)
    assert len(str(raised.value).splitlines()) == 2


def test_what_is_planned_for_where_the_rate_is_only_a_bound() -> None:
    """An open loop sends its rate; else it is what the file expects, or a small part of the bound."""
    assert made().planned_rate_per_s == 2000
    assert made(pacing="search", expected_rate_per_s=700).planned_rate_per_s == 700
    assert made(pacing="closed-loop", rate_per_s=3200).planned_rate_per_s == 100


def test_how_long_a_backlog_takes_to_build() -> None:
    """At the offered rate, counted in messages of this size."""
    assert made(backlog={"size_bytes": 2000 * 1024 * 30}).build_s == 30
    assert made().build_s == 0


def test_the_rates_of_a_ladder_are_given_or_spread() -> None:
    """Spread: each the same factor above the one before, in three figures, from the lowest to the highest as given."""
    assert made(pacing="ladder", rates_per_s=[100, 700, 2000]).rung_rates_per_s == (100, 700, 2000)
    assert made(pacing="ladder", lowest_rate_per_s=123, rungs=5).rung_rates_per_s == (123, 247, 496, 996, 2000)
    assert made().rung_rates_per_s == (2000,)


def test_a_workload_is_read_back_as_it_was_written() -> None:
    """From the JSON of trial.json, and from that of versions that had no ladders."""
    ladder = made(pacing="ladder", rates_per_s=[100, 2000])
    assert workload_of(json.loads(json.dumps(dataclasses.asdict(ladder)))) == ladder
    assert workload_of(MINIMAL) == made()
