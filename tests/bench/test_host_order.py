"""In which order the hosts stand, block by block: drawn by the seed, alike for all who are compared, each first in turn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench.campaign.blocks import Block, host_order, host_orders
from bench.campaign.campaign import Campaign
from bench.campaign.campaign_file import load_campaign
from bench.run.equipped import Equipped
from provisioning.hosts.inventory import HostRecord
from systems.kafka import layout as kafka
from systems.pulsar import layout as pulsar

SMOKE = Path(__file__).resolve().parents[2] / "campaigns" / "smoke.toml"
BROKERS = ("broker-1", "broker-2", "broker-3")
ROLES = {"broker": BROKERS, "client": ("client-1", "client-2")}


def _campaign(**changes: Any) -> Campaign:
    return replace(load_campaign(SMOKE), **{"blocks": 6, "aa_blocks": 6, **changes})


def _hosts(names: tuple[str, ...] = (*BROKERS, "client-1", "client-2")) -> list[HostRecord]:
    return [SimpleNamespace(name=name, role=name.split("-")[0]) for name in names]  # type: ignore[misc]


def _orders(campaign: Campaign, hosts: list[HostRecord]) -> dict[int, tuple[str, ...]]:
    return host_orders(campaign.all_blocks, hosts, campaign.seed)


def test_every_host_is_first_equally_often() -> None:
    """Of three brokers each is first twice in six blocks, and of two clients three times: in A/B blocks and in A/A blocks alike."""
    orders = _orders(_campaign(), _hosts())
    assert sorted(orders) == list(range(1, 13))
    for parity in (0, 1):
        of_kind = [order for number, order in orders.items() if number % 2 == parity]
        assert sorted(order[0] for order in of_kind) == sorted(BROKERS * 2)
        assert sorted(order[3] for order in of_kind) == ["client-1"] * 3 + ["client-2"] * 3
    assert all(sorted(order) == sorted((*BROKERS, "client-1", "client-2")) for order in orders.values())


def test_the_seed_draws_it_and_nothing_else() -> None:
    """The same again for the same seed, in whatever order the inventory lists the hosts; another for another seed."""
    first = _orders(_campaign(), _hosts())
    assert first == _orders(_campaign(), _hosts(("client-2", "broker-3", "broker-1", "client-1", "broker-2")))
    others = [_orders(_campaign(seed=seed), _hosts()) for seed in range(20, 40)]
    assert len({str(sorted(each.items())) for each in others}) > 10


def test_rounds_are_drawn_anew() -> None:
    """Over forty rounds of three hosts all six orders begin one: not one circle for the whole campaign."""
    begun = {host_order(Block(turn, "A/B", turn), {"broker": BROKERS}, 1) for turn in range(1, 121, 3)}
    assert len(begun) == 6


@pytest.mark.parametrize("first", BROKERS)
def test_what_follows_from_the_order(first: str) -> None:
    """The first host has the lowest node id, the first address that clients get and the first metadata server; tools stay."""
    hosts = [_host(name) for name in (first, *(name for name in BROKERS if name != first))]
    nodes, everything = kafka.nodes(hosts), pulsar.layout(hosts)
    assert (nodes[0].host.name, kafka.node_id(nodes[0])) == (first, 1)
    assert kafka.service_url(nodes).startswith(f"{first}.test:")
    assert everything.service_url.startswith(f"pulsar://{first}.test:")
    assert everything.zookeepers[0].host.name == first
    assert (kafka.asked(nodes)[0].host.name, everything.setup.host.name) == ("broker-1", "broker-1")


def test_a_bench_in_order_has_the_same_hosts() -> None:
    """Those of the inventory stay as they are listed there."""
    nothing: Any = None
    hosts = tuple(_host(name) for name in BROKERS)
    equipped = Equipped(nothing, hosts, nothing, {}, {}, {}, {}, {}, {})
    turned = equipped.in_order(("broker-2", "broker-3", "broker-1"))
    assert [host.name for host in turned.hosts] == ["broker-2", "broker-3", "broker-1"]
    assert [host.name for host in equipped.hosts] == list(BROKERS)


def _host(name: str) -> Any:
    record = SimpleNamespace(role="broker", address=f"{name}.test", root="/r", data_dirs=(SimpleNamespace(path="/d"),))
    return SimpleNamespace(name=name, record=record)
