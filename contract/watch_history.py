"""What a watch remembers: the values of each version and of its anchor, block by block. docs/watch.md has the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

WATCH_SCHEMA = 1


@dataclass(frozen=True)
class Known:
    """A value as report.json has it: itself, or None where only its bounds are known. A `high` of None is no upper bound."""

    value: float | None
    low: float
    high: float | None


@dataclass(frozen=True)
class Suspicion:
    """A version that looked worse in `metrics` than `before`, the version before it in the series."""

    before: str
    version: str
    metrics: tuple[str, ...]


@dataclass(frozen=True)
class WatchedBlock:
    """One metric in one block: version -> its value. A version whose trial wasn't sound has none."""

    block: int
    values: Mapping[str, Known]


@dataclass(frozen=True)
class Round:
    """One campaign of a watch: the anchor and `versions` in blocks, to look at new versions or to confirm suspicions.

    `metrics`: by name, their blocks in the order in which they ran. `not_met`: version -> outcome check -> trials that failed it.
    `excluded`: how many trials weren't sound.
    """

    campaign: str
    created_ns: int
    testbed: str
    versions: tuple[str, ...]
    metrics: Mapping[str, tuple[WatchedBlock, ...]]
    confirms: tuple[Suspicion, ...] = ()
    not_met: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    excluded: int = 0


@dataclass(frozen=True)
class History:
    """All rounds of one watch: a system's versions against one anchor, under one workload at one durability level."""

    schema: int
    system: str
    anchor: str
    durability: str
    workload: Mapping[str, Any]
    rounds: tuple[Round, ...] = ()

    @property
    def versions(self) -> tuple[str, ...]:
        """The series: every version once, in the order in which they were first named."""
        return tuple(dict.fromkeys(version for each in self.rounds for version in each.versions))

    @property
    def measured(self) -> set[str]:
        """Versions that have a value in some block: of others every trial was unsound."""
        return {
            version
            for each in self.rounds
            for blocks in each.metrics.values()
            for block in blocks
            for version in block.values
        }

    @property
    def judged(self) -> set[tuple[str, str]]:
        """The pairs (before, version) for which a round was run to confirm a suspicion."""
        return {(one.before, one.version) for each in self.rounds for one in each.confirms}


def history_of(document: Mapping[str, Any]) -> History:
    """Of the file's content, which has been checked before."""
    return History(**{**document, "rounds": tuple(round_of(each) for each in document.get("rounds", ()))})


def round_of(document: Mapping[str, Any]) -> Round:
    """One of them."""
    metrics = {
        name: tuple(
            WatchedBlock(each["block"], {version: Known(**known) for version, known in each["values"].items()})
            for each in blocks
        )
        for name, blocks in document["metrics"].items()
    }
    confirms = tuple(
        Suspicion(each["before"], each["version"], tuple(each["metrics"])) for each in document.get("confirms", ())
    )
    return Round(**{**document, "versions": tuple(document["versions"]), "metrics": metrics, "confirms": confirms})
