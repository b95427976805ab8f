"""A campaign's blocks in the order they run, and who takes which place in one. It knows no campaign file and runs nothing.

In an A/B block every system runs; in an A/A block one system takes both places, so that it is compared with itself.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

BlockKind = Literal["A/B", "A/A"]
Order = Literal["alternate", "random", "fixed"]
Place = tuple[str, str]  # system, durability


@dataclass(frozen=True)
class Block:
    """`number`: its place among all blocks, `turn`: among those of its kind; both from 1."""

    number: int
    kind: BlockKind
    turn: int

    @property
    def name(self) -> str:
        """What its trials' names begin with."""
        return f"{'aa' if self.kind == 'A/A' else 'b'}{self.number:02d}"


def blocks_of(blocks: int, aa_blocks: int) -> tuple[Block, ...]:
    """All blocks; those of the kind A/A are spread evenly among the others, so that both kinds see the same hours and disks."""
    turns: list[tuple[float, BlockKind, int]] = [(turn / blocks, "A/B", turn) for turn in range(1, blocks + 1)]
    turns += [(turn / aa_blocks, "A/A", turn) for turn in range(1, aa_blocks + 1)]
    turns.sort(key=lambda each: (each[0], each[1] == "A/A"))
    return tuple(Block(number, kind, turn) for number, (_, kind, turn) in enumerate(turns, start=1))


def places_in(block: Block, contestants: Sequence[Place], order: Order, shuffler: random.Random) -> list[Place]:
    """Who runs in a block, in this order. `alternate` reverses every second A/B block, `random` shuffles each by `shuffler`.

    In an A/A block it is one system's turn: all that it has among `contestants`, and then once more.
    """
    if block.kind == "A/A":
        systems = list(dict.fromkeys(system for system, _ in contestants))
        return 2 * [place for place in contestants if place[0] == systems[(block.turn - 1) % len(systems)]]
    places = list(contestants)
    if order == "alternate" and block.turn % 2 == 0:
        places.reverse()
    elif order == "random":
        shuffler.shuffle(places)
    return places
