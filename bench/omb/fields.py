"""Every field of OpenMessaging Benchmark's workload files, and of its forks', as this kit accepts it.

The names are those of the files. Defaults are OpenMessaging Benchmark's; where its default can't be run (no topics, endless), the
field must be given.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import AfterValidator, BeforeValidator, ValidationInfo

from provisioning.document import build, printable, read_text
from provisioning.errors import InvalidInput

KeyDistributor = Literal["NO_KEY", "KEY_ROUND_ROBIN", "RANDOM_NANO"]
# what its own files give for "as fast as possible"; it isn't meant to be reached
OVERDRIVEN_FROM_PER_S = 10_000_000
_OWN_TOPICS = "samebox creates its own topics on a freshly wiped cluster; give topics and partitionsPerTopic instead"
_ALIKE = "samebox treats all topics alike; write one file for each shape"


def _whole(unit: str, *, least: int = 0, below: str = "") -> BeforeValidator:
    """A whole number of `unit`, at least `least`; `below` says why no less."""

    def check(value: object) -> object:
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError(f"expected a whole number of {unit}, without a unit")
        if value < least:
            raise ValueError(below or f"expected at least {least} {unit}")
        return value

    return BeforeValidator(check)


def _share(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError("expected a share from 0.0 to 1.0")
    return value


def _true_or_false(value: object) -> object:
    if not isinstance(value, bool):
        raise ValueError("expected true or false")
    return value


def _text(value: object) -> object:
    """`name: 100` is a name, too."""
    return value if isinstance(value, list | dict) else printable(str(value))


def _only(*unused: object, why: str) -> AfterValidator:
    """A field that is accepted only where it asks for nothing."""

    def check(value: object) -> object:
        if value not in unused:
            raise ValueError(why)
        return value

    return AfterValidator(check)


def _as_the_producers(value: object, info: ValidationInfo) -> object:
    if value not in (-1, info.data.get("producerRate", value)):
        raise ValueError("samebox sends at producerRate throughout; remove this key, or give the same rate")
    return value


Share = Annotated[float, BeforeValidator(_share)]
Flag = Annotated[bool, BeforeValidator(_true_or_false)]
Text = Annotated[str, BeforeValidator(_text)]
OtherRate = Annotated[Any, AfterValidator(_as_the_producers)]


@dataclass(frozen=True)
class OmbWorkload:
    """One workload file. Those from `existingTopicList` on are known to forks only."""

    topics: Annotated[int, _whole("topics", least=1)]
    partitionsPerTopic: Annotated[int, _whole("partitions", least=1)]
    messageSize: Annotated[int, _whole("bytes", least=1)]
    producersPerTopic: Annotated[
        int,
        _whole("producers", least=1, below="samebox reads only what it sent itself: at least one producer is needed"),
    ]
    testDurationMinutes: Annotated[
        int, _whole("minutes", least=1, below="that would run forever; give the minutes to measure")
    ]
    name: Text = ""
    keyDistributor: KeyDistributor = "NO_KEY"
    payloadFile: Text = ""
    useRandomizedPayloads: Flag = False
    randomBytesRatio: Share = 0.0
    randomizedPayloadPoolSize: Annotated[int, _whole("payloads")] = 0
    subscriptionsPerTopic: Annotated[int, _whole("subscriptions")] = 0
    consumerPerSubscription: Annotated[int, _whole("consumers")] = 0
    producerRate: Annotated[int, _whole("messages a second, of all producers together")] = 0
    consumerBacklogSizeGB: Annotated[int, _whole("GiB")] = 0
    backlogDrainRatio: Share = 1.0
    warmupDurationMinutes: Annotated[int, _whole("minutes")] = 1
    existingTopicList: Annotated[Any, _only([], why=_OWN_TOPICS)] = ()
    existingProduceTopicList: Annotated[Any, _only([], why=_OWN_TOPICS)] = ()
    existingConsumeTopicList: Annotated[Any, _only([], why=_OWN_TOPICS)] = ()
    partitionsPerTopicList: Annotated[Any, _only([], why=_ALIKE)] = ()
    producersPerTopicList: Annotated[Any, _only([], why=_ALIKE)] = ()
    producerRateList: Annotated[
        Any, _only([], why="a samebox workload has one rate; write one file for each rate")
    ] = ()
    consumerOnly: Annotated[
        Flag,
        _only(
            False,
            why="samebox reads only what it sent itself; a backlog (consumerBacklogSizeGB) is sent and read in one trial",
        ),
    ] = False
    backlogProducerRate: OtherRate = -1
    drainProducerRate: OtherRate = -1
    warmupProducerRate: OtherRate = -1
    warmupProducerRateSeparationMinutes: Annotated[
        Any, _only(-1, 0, why="samebox measures right after the warm-up; remove this key")
    ] = -1
    randomTopicNames: Flag = True
    sampleRateMillis: Annotated[int, _whole("milliseconds", least=1)] = 10_000
    logIntervalMillis: Annotated[int, _whole("milliseconds", least=1)] = 10_000

    @property
    def consumers(self) -> int:
        """Of all subscriptions of all topics."""
        return self.topics * self.subscriptionsPerTopic * self.consumerPerSubscription

    @property
    def overdriven(self) -> bool:
        """Whether `producerRate` only stands for as fast as possible."""
        return self.producerRate >= OVERDRIVEN_FROM_PER_S


def read_workload(path: Path) -> OmbWorkload:
    """Reads and checks a workload file. Raises InvalidInput naming file, key and what is expected, all problems at once."""
    document = read_yaml(path)
    if "driverClass" in document:
        raise InvalidInput(
            f"{path}: this is a driver file of OpenMessaging Benchmark, not a workload.",
            next_step="Give workload files; systems and durability are options of the command (--systems, --durability).",
        )
    workload = build(OmbWorkload, document, where=str(path))
    problems = [*_combinations(workload), *_payload_file(workload, path)]
    if problems:
        raise InvalidInput("\n".join(f"{path}: {problem}" for problem in problems))
    return workload


def _combinations(workload: OmbWorkload) -> list[str]:
    problems = []
    if workload.useRandomizedPayloads and workload.randomizedPayloadPoolSize < 1:
        problems.append("key 'randomizedPayloadPoolSize': useRandomizedPayloads needs a pool of at least one payload.")
    if not workload.useRandomizedPayloads and not workload.payloadFile:
        problems.append("key 'payloadFile' is missing; without one, set useRandomizedPayloads: true.")
    if workload.consumerBacklogSizeGB and (workload.overdriven or not workload.producerRate):
        problems.append(
            f"key 'producerRate' = {workload.producerRate}: a backlog (consumerBacklogSizeGB) is built at a fixed rate; "
            f"give one from 1 to below {OVERDRIVEN_FROM_PER_S}."
        )
    if workload.consumerBacklogSizeGB and not workload.consumers:
        problems.append(
            "key 'consumerBacklogSizeGB': it has no consumers; give subscriptionsPerTopic and consumerPerSubscription."
        )
    return problems


def _payload_file(workload: OmbWorkload, path: Path) -> list[str]:
    """OpenMessaging Benchmark looks for it from its own folder, which is the workload file's or one above it."""
    if workload.useRandomizedPayloads or not workload.payloadFile:
        return []
    candidates = (folder / workload.payloadFile for folder in path.resolve().parents)
    found = next((candidate for candidate in candidates if candidate.is_file()), None)
    if found is None or found.stat().st_size == workload.messageSize:
        return []
    return [
        f"key 'payloadFile' = {workload.payloadFile!r}: it has {found.stat().st_size} bytes, "
        f"but messageSize = {workload.messageSize}."
    ]


MOST_BYTES = 2**20  # a workload is a page; PyYAML takes seconds for a megabyte
_DECIMAL = re.compile(r"[-+]?(0|[1-9][0-9_]{0,17})")  # what OpenMessaging Benchmark's own integers hold


class _Loader(yaml.SafeLoader):
    """Plain data only. A key that is given twice is an error; 0x10, 010, 1:30 and dates are texts, which no number accepts."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in seen:
                raise yaml.MarkedYAMLError(problem=f"key {key.value!r} is given twice", problem_mark=key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)

    def decimal(self, node: yaml.ScalarNode) -> int | str:
        """YAML 1.1 also knows octal numbers and those of base 60; a minute and a half would become 90."""
        text = self.as_written(node)
        return int(text.replace("_", "")) if _DECIMAL.fullmatch(text) else text

    def as_written(self, node: yaml.ScalarNode) -> str:
        """A date may be part of a name, also one that doesn't exist."""
        return str(node.value)


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.decimal)
_Loader.add_constructor("tag:yaml.org,2002:timestamp", _Loader.as_written)


def read_yaml(path: Path) -> dict[str, Any]:
    """The file's keys and values; a key without a value isn't given. Raises InvalidInput if it is missing or malformed."""
    try:
        document = yaml.load(read_text(path, most_bytes=MOST_BYTES), Loader=_Loader)
    except RecursionError:
        raise InvalidInput(f"{path}: nested too deeply.") from None
    except yaml.YAMLError as error:
        raise InvalidInput(f"{path}: not valid YAML: {_told(error)}.") from None
    except (ValueError, KeyError) as error:  # how PyYAML refuses a value that isn't what its tag says, as in !!bool 7
        raise InvalidInput(f"{path}: not valid YAML: {error}.") from None
    if not isinstance(document, dict):
        raise InvalidInput(f"{path}: expected keys and values, such as 'topics: 1'.")
    return {str(key): value for key, value in document.items() if value is not None}


def _told(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        return f"{error.problem} (line {mark.line + 1}, column {mark.column + 1})"
    return " ".join(str(error).split())
