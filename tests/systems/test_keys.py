"""Keys: which message has which, the same for every system."""

from __future__ import annotations

from typing import Literal

import pytest

from contract.workload import Workload
from systems.client import ClientSpec
from systems.keys import KEY_BYTES, KEYS, keys_of


def spec(keys: Literal["none", "round-robin", "random"], seed: int = 7) -> ClientSpec:
    """A client's, of which only keys and seed matter here."""
    return ClientSpec("", "", "t", {}, Workload("w", 1, 1024, 1.0, keys=keys), 5.0, 1.0, seed=seed)


def test_keys_in_turn_come_round_after_all_of_the_pool() -> None:
    """10,000 different ones, then the first again."""
    key_of = keys_of(spec("round-robin"))
    assert key_of is not None
    assert len({key_of(sequence) for sequence in range(KEYS)}) == KEYS
    assert key_of(KEYS) == key_of(0)
    assert len(key_of(0)) == KEY_BYTES


@pytest.mark.parametrize("keys", ["round-robin", "random"])
def test_a_message_has_the_same_key_whoever_asks(keys: Literal["round-robin", "random"]) -> None:
    """So that both systems get the same keys of one seed, and others of another."""
    one, same, other = keys_of(spec(keys)), keys_of(spec(keys)), keys_of(spec(keys, seed=8))
    assert one is not None and same is not None and other is not None
    assert [one(sequence) for sequence in range(100)] == [same(sequence) for sequence in range(100)]
    assert [one(sequence) for sequence in range(100)] != [other(sequence) for sequence in range(100)]


def test_without_keys_there_is_nothing_to_ask() -> None:
    """The hot path spares the call."""
    assert keys_of(spec("none")) is None
