"""A workload checks itself, and says what is wrong in the words of the file."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from bench.load.message import HEADER_BYTES
from bench.workload import Workload
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
        "topics": 1, "partitions": 6, "producers": 1, "consumers": 1, "subscriptions": 1, "arrivals": "constant",
        "partitioning": "sticky", "batch_delay_ms": 1, "batch_bytes": 131072, "in_flight": 5000,
        "compressible_share": 0.5, "warmup_s": 10.0, "drain_s": 30.0,
    }  # fmt: skip


def test_the_smallest_message_is_the_header() -> None:
    """A message must hold its header; exactly the header is enough."""
    assert made(message_bytes=HEADER_BYTES).message_bytes == HEADER_BYTES


@pytest.mark.parametrize(
    ("changes", "key", "words"),
    [
        ({"message_bytes": HEADER_BYTES - 1}, "message_bytes", "greater than or equal to 32"),
        ({"topics": 2}, "topics", "one topic is what this version drives"),
        ({"rate_per_s": 3, "producers": 4}, "producers", "less than one message a second for each of 4 producers"),
        ({"consumers": 3, "subscriptions": 2}, "subscriptions", "can't be shared evenly by 2 subscriptions"),
        ({"consumers": 8}, "subscriptions", "8 consumers of one subscription need as many partitions, there are 6"),
        ({"batch_bytes": 512}, "batch_bytes", "at least one message of message_bytes = 1024"),
        ({"message_bytes": 200_000}, "batch_bytes", "at least one message"),
        ({"arrivals": "burst"}, "arrivals", "'constant' or 'poisson'"),
        ({"partitioning": "random"}, "partitioning", "'sticky' or 'round-robin'"),
        ({"compressible_share": 1.5}, "compressible_share", "less than or equal to 1"),
        ({"rate_per_s": 0}, "rate_per_s", "greater than or equal to 1"),
        ({"measure_s": 0}, "measure_s", "greater than or equal to 1"),
        ({"in_flight": 0}, "in_flight", "greater than or equal to 1"),
        ({"rate": 5}, "rate", "Valid keys:"),
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
