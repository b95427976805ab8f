"""What Kafka's own tools print, as values. Text in, data out."""

from __future__ import annotations

import re
from dataclasses import dataclass

_HEADING = re.compile(r"^(?:All|Dynamic) configs for (\S+) (\S+) are:$|^Default configs for .* are:$")
_CONFIG = re.compile(r"^  (?P<key>\S+?)=(?P<value>.*) sensitive=(?P<sensitive>true|false) synonyms=\{.*\}$", re.S)
_PARTITION = re.compile(r"^\tTopic: (\S+)\tPartition: (\d+)\tLeader: (\S+)\tReplicas: (\S*)\tIsr: (\S*)", re.M)
_SETTINGS = re.compile(r"^Topic: (\S+)\t.*\tConfigs: ?(.*)$", re.M)
_SETTING = re.compile(r"([a-z][a-z0-9.-]*)=(.*?)(?=,[a-z][a-z0-9.-]*=|$)")
_LAYOUT = re.compile(r"^Topic: (\S+)\t.*PartitionCount: (\d+)\tReplicationFactor: (\d+)", re.M)


@dataclass(frozen=True)
class Partition:
    """One partition as `TopicCommand --describe` shows it, and the brokers' metadata; node ids as printed."""

    topic: str
    number: int
    leader: str
    replicas: tuple[str, ...]
    in_sync: tuple[str, ...]

    @property
    def lacks(self) -> bool:
        """Whether it has no leader, or a replica that isn't in sync."""
        return self.leader not in self.in_sync or len(self.in_sync) < len(self.replicas)


def configs(printed: str) -> dict[str, dict[str, str]]:
    """`ConfigCommand --describe --all`: entity name -> key -> value.

    A key that the broker doesn't know is printed as sensitive, with the value null: it is left out here, and so are passwords.
    """
    found: dict[str, dict[str, str]] = {}
    current: dict[str, str] = {}
    for entry in _entries(printed):
        heading = _HEADING.match(entry)
        if heading:
            current = found.setdefault(heading[2], {}) if heading[2] else {}
        elif (config := _CONFIG.match(entry)) and config["sensitive"] == "false":
            current[config["key"]] = config["value"]
    return found


def _entries(printed: str) -> list[str]:
    """Lines, with the continuation lines of multi-line values joined to theirs."""
    entries: list[str] = []
    for line in printed.splitlines():
        starts = _HEADING.match(line) or re.match(r"^  \S+?=", line)
        if starts or not entries:
            entries.append(line)
        else:
            entries[-1] += "\n" + line
    return entries


def partitions(printed: str) -> list[Partition]:
    """`TopicCommand --describe`: every partition."""
    return [
        Partition(topic, int(number), leader, _ids(replicas), _ids(in_sync))
        for topic, number, leader, replicas, in_sync in _PARTITION.findall(printed)
    ]


def _ids(printed: str) -> tuple[str, ...]:
    return tuple(filter(None, printed.split(",")))


def topic_layouts(printed: str) -> dict[str, dict[str, str]]:
    """`TopicCommand --describe`: topic -> its partitions and replication factor."""
    return {
        topic: {"partitions": partitions, "replication.factor": replicas}
        for topic, partitions, replicas in _LAYOUT.findall(printed)
    }


def topic_settings(printed: str) -> dict[str, dict[str, str]]:
    """`TopicCommand --describe`: topic -> its settings that aren't Kafka's defaults."""
    return {topic: dict(_SETTING.findall(settings)) for topic, settings in _SETTINGS.findall(printed)}


def end_offsets(printed: str) -> dict[tuple[str, int], int]:
    """`GetOffsetShell --time latest`: topic and partition -> end offset."""
    found = re.findall(r"^(\S+):(\d+):(\d+)$", printed, re.M)
    return {(topic, int(number)): int(offset) for topic, number, offset in found}
