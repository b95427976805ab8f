"""How many campaigns are simulated: a few in `make test`, all of them in `make test-statistics`."""

from __future__ import annotations

from dataclasses import dataclass

import pytest


@dataclass(frozen=True)
class Size:
    """`blocks`: the numbers of blocks that are looked at, ascending."""

    campaigns: int
    blocks: tuple[int, ...]


SHORT = Size(300, (6, 9))
WHOLE = Size(2000, (6, 7, 8, 9, 10, 12, 15, 20))


@pytest.fixture(
    scope="module",
    params=[pytest.param(SHORT, id="short"), pytest.param(WHOLE, id="whole", marks=pytest.mark.statistics)],
)
def size(request: pytest.FixtureRequest) -> Size:
    """How large the simulation is."""
    chosen = request.param
    assert isinstance(chosen, Size)
    return chosen
