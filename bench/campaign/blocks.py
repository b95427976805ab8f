"""A campaign's blocks in the order they run, who takes which place in one, and in which order the hosts stand in it.

In an A/B block every contestant runs; in an A/A block one takes both places, so that it is compared with itself.

The order decides which broker gets which number, which one is first among the addresses that clients are given, where controllers
and metadata begin, and on which client host a worker runs. What is the same in all blocks is an accident that no interval can see;
drawn for each block it is scatter, which intervals do see. Within a block it is the same for all that are compared, and cancels out.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from bench.campaign.contestant import Contestant
from provisioning.hosts.inventory import HostRecord

BlockKind = Literal["A/B", "A/A"]
Order = Literal["alternate", "random", "fixed"]
Place = tuple[Contestant, str]  # who, and its durability


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

    In an A/A block it is one contestant's turn: all that it has among `contestants`, and then once more.
    """
    if block.kind == "A/A":
        names = list(dict.fromkeys(contestant.name for contestant, _ in contestants))
        return 2 * [place for place in contestants if place[0].name == names[(block.turn - 1) % len(names)]]
    places = list(contestants)
    if order == "alternate" and block.turn % 2 == 0:
        places.reverse()
    elif order == "random":
        shuffler.shuffle(places)
    return places


def host_orders(blocks: Iterable[Block], hosts: Iterable[HostRecord], seed: int) -> dict[int, tuple[str, ...]]:
    """Block number -> the hosts' names in its order. The same for the same seed and hosts."""
    by_role: dict[str, list[str]] = {}
    for host in hosts:
        by_role.setdefault(host.role, []).append(host.name)
    return {block.number: host_order(block, by_role, seed) for block in blocks}


def host_order(block: Block, names_by_role: Mapping[str, Sequence[str]], seed: int) -> tuple[str, ...]:
    """All names, role by role. Of each role every host is first once in as many blocks of a kind as there are such hosts.

    The seed draws an order for every such round, and each of the round's blocks begins with the next host of it.
    """
    found: list[str] = []
    for role, names in sorted(names_by_role.items()):
        of_round, start = divmod(block.turn - 1, len(names))
        drawn = random.Random(f"hosts {seed} {block.kind} {role} {of_round}").sample(sorted(names), len(names))
        found += [*drawn[start:], *drawn[:start]]
    return tuple(found)
