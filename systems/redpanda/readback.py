"""What running brokers say of themselves: their admin API's documents and their processes' options, as settings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from systems.redpanda.config_text import flat
from systems.redpanda.layout import OVERPROVISIONED

Document = Mapping[str, Any]
_VERSION = re.compile(r"v?(\d+\.\d+\.\d+(?:-rc\d+)?)(?:\s.*)?")
# how the broker's own code prints a directory: as an object with one value (src/v/config/rjson_serialization.cc)
_DIRECTORY = ("data_directory.data_directory", "data_directory")


def broker_settings(node_config: Document) -> dict[str, str]:
    """/v1/node_config by path, as a broker's file is read."""
    found = flat(node_config)
    inside, outside = _DIRECTORY
    if inside in found:
        found[outside] = found.pop(inside)
    return found


def options(command_line: str) -> dict[str, str]:
    """What a process was started with, one word a line: option -> value, "true" for a switch. Without its switch it has "false"."""
    found = {OVERPROVISIONED: "false"}
    words = command_line.splitlines()
    for at, word in enumerate(words):
        if not word.startswith("--"):
            continue
        name, equals, value = word[2:].partition("=")
        following = words[at + 1] if at + 1 < len(words) else "--"
        found[name] = value if equals else "true" if following.startswith("--") else following
    return found


def versions(brokers: Sequence[Document]) -> dict[int, str]:
    """/v1/brokers: node id -> version, of those that are alive and whose version is known."""
    found = {}
    for each in brokers:
        match = _VERSION.fullmatch(each.get("version", ""))
        if match and each.get("is_alive", True):
            found[int(each["node_id"])] = match[1]
    return found


@dataclass(frozen=True)
class Health:
    """The cluster as its controller sees it. Partitions as it names them ("kafka/topic/0"); long lists it cuts, and tells the count."""

    nodes: tuple[int, ...]
    down: tuple[int, ...]
    controller: int
    leaderless: tuple[str, ...]
    under_replicated: tuple[str, ...]
    unnamed: int

    def lacks(self, members: int) -> str:
        """Why a cluster of so many isn't complete; empty = it is."""
        if len(self.nodes) != members or self.down or self.controller < 0:
            return f"members {list(self.nodes)}, down {list(self.down)}, controller {self.controller}"
        return ""


def health(overview: Document) -> Health:
    """/v1/cluster/health_overview. The list of under-replicated partitions is there since 23.1."""
    leaderless, behind = overview["leaderless_partitions"], overview.get("under_replicated_partitions", [])
    counted = overview.get("leaderless_count", len(leaderless)) + overview.get("under_replicated_count", len(behind))
    return Health(
        tuple(overview["all_nodes"]),
        tuple(overview["nodes_down"]),
        int(overview["controller_id"]),
        tuple(leaderless),
        tuple(behind),
        counted - len(leaderless) - len(behind),
    )


def partitions_of(names: Sequence[str], health_of: Health) -> list[str]:
    """Partitions of these topics that lack a leader or replicas ("topic-0"); what was cut from the lists counts as theirs."""
    found = []
    for each in (*health_of.leaderless, *health_of.under_replicated):
        namespace, topic, partition = each.split("/")
        if namespace == "kafka" and topic in names:
            found.append(f"{topic}-{partition}")
    return sorted(set(found)) + ([f"{health_of.unnamed} more that aren't named"] if health_of.unnamed else [])
