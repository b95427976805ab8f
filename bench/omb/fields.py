"""Every field of OpenMessaging Benchmark's workload files, and of its forks', as this kit accepts it. It checks, it maps nothing.

The names are those of the files. Defaults are OpenMessaging Benchmark's; where its default can't be run (no topics, endless), the
field must be given.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, ValidationInfo

from bench.omb.reader import read_yaml
from provisioning.document import build, printable
from provisioning.errors import InvalidInput

KeyDistributor = Literal["NO_KEY", "KEY_ROUND_ROBIN", "RANDOM_NANO"]
# what its own files say for "as fast as it goes"; nobody means to reach it
OVERDRIVEN_FROM_PER_S = 10_000_000
_OWN_TOPICS = "samebox makes its topics on a freshly wiped cluster; give topics and partitionsPerTopic instead"
_ALIKE = "samebox gives every topic the same; write a file for each shape"


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
        raise ValueError("samebox sends at producerRate throughout; take it out, or write the same rate")
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
        int, _whole("minutes", least=1, below="that runs for ever; give the minutes to measure")
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
        Any, _only([], why="the rate of a samebox workload is one; write a file for each rate")
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
        Any, _only(-1, 0, why="the measurement of a samebox workload follows its warm-up at once; take it out")
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
        """Whether `producerRate` only stands for as fast as it goes."""
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
        problems.append("key 'payloadFile' is missing; without one, say useRandomizedPayloads: true.")
    if workload.consumerBacklogSizeGB and (workload.overdriven or not workload.producerRate):
        problems.append(
            f"key 'producerRate' = {workload.producerRate}: a backlog (consumerBacklogSizeGB) is built at a rate that is meant; "
            f"give one from 1 to below {OVERDRIVEN_FROM_PER_S}."
        )
    if workload.consumerBacklogSizeGB and not workload.consumers:
        problems.append(
            "key 'consumerBacklogSizeGB': nobody would read it; give subscriptionsPerTopic and consumerPerSubscription."
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
        f"and messageSize = {workload.messageSize}."
    ]
