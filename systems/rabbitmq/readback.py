"""What running nodes say of themselves, as settings and as queues."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

_KEY = re.compile(r"[a-z][a-z0-9_]*(\.[a-z0-9_]+)*")


@dataclass(frozen=True)
class Queue:
    """A queue or stream as its node tells it. `leader`, `members` and `online` are hosts' addresses; `leader` "" = it has none now."""

    name: str
    leader: str
    members: tuple[str, ...]
    online: tuple[str, ...]
    arguments: Mapping[str, str]


def paths(keys: Iterable[str]) -> str:
    """Where the settings of rabbitmq.conf are in the running process, as a list in Erlang: "a.b" is b inside of a.

    What isn't kept in this way is asked for otherwise, or told as unknown.
    """
    plain = [key for key in keys if _KEY.fullmatch(key)]
    return "[" + ", ".join(f'{{<<"{key}">>, [{_atoms(key)}]}}' for key in plain) + "]"


def _atoms(key: str) -> str:
    return ", ".join(f"'{part}'" for part in key.split("."))


def queues_of(told: Iterable[Mapping[str, Any]]) -> dict[str, Queue]:
    """Name -> what a node says of it."""
    return {each["name"]: _queue(each) for each in told}


def _queue(told: Mapping[str, Any]) -> Queue:
    members, online = (tuple(sorted(address_of(node) for node in told[key] or ())) for key in ("members", "online"))
    return Queue(
        name=told["name"],
        leader=address_of(told["leader"]) if told["leader"] else "",
        members=members,
        online=online,
        arguments=told["arguments"],
    )


def address_of(node: str) -> str:
    """The host's address in a node's name."""
    return node.partition("@")[2]


def lacks(queue: Queue, copies: int) -> bool:
    """Whether it has no leader, or fewer copies that run than it should have."""
    return not queue.leader or len(queue.online) < copies
