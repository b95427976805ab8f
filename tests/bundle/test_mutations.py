"""Random forgeries are found and named, by whichever forger; `python -m tests.bundle` tries 1,000 with the real report job."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bundle.mutations import ALL, World
from tests.bundle.reports import SumsOfLatencies
from tests.bundle.trying import Kept, make_world, try_one

ROUNDS = 4


@pytest.fixture(scope="module")
def world(honest: Path, tmp_path_factory: pytest.TempPathFactory) -> World:
    """A signed bundle, and the keys."""
    return make_world(honest, tmp_path_factory.mktemp("world"))


@pytest.mark.parametrize("at", range(len(ALL)), ids=[mutation.__name__ for mutation in ALL])
def test_mutations_are_found_and_named(at: int, world: World, tmp_path: Path) -> None:
    """Four of each, by forgers that are drawn."""
    (tmp_path / "kept").mkdir()
    kept = Kept(SumsOfLatencies(), tmp_path / "kept")
    for turn in range(ROUNDS):
        tried = try_one(world, tmp_path, turn * len(ALL) + at, 7, kept)
        assert tried.found, tried
        assert tried.named, tried
        assert not tried.by_root, tried  # every row counts in sums of latencies
