"""In which order the hosts of a testbed stand in each block of a campaign. Pure: it touches no host.

The order decides which broker gets which number, which one is first among the addresses that clients are given, where controllers
and metadata begin, and on which client host a worker runs. What is the same in all blocks is an accident that no interval can see;
drawn for each block it is scatter, which intervals do see. Within a block it is the same for all who are compared, and cancels.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence

from bench.campaign.blocks import Block, blocks_of
from bench.campaign.campaign import Campaign
from provisioning.hosts.inventory import HostRecord


def host_orders(campaign: Campaign, hosts: Iterable[HostRecord]) -> dict[int, tuple[str, ...]]:
    """Block number -> the hosts' names in its order. The same campaign on the same hosts has the same orders, whenever it goes on."""
    by_role: dict[str, list[str]] = {}
    for host in hosts:
        by_role.setdefault(host.role, []).append(host.name)
    blocks = blocks_of(campaign.blocks, campaign.aa_blocks)
    return {block.number: host_order(block, by_role, campaign.seed) for block in blocks}


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
