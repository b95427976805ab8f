"""Watches versions: runs those that are new beside the anchor, and runs what looks worse again before it says so."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from bench.campaign.watched import campaign_of_versions
from bench.watch.history_file import HistoryFile
from contract.watch_history import History, Known, Round, Suspicion, WatchedBlock

FEWEST_BLOCKS = 6  # of a verdict; analysis' own number
CONFIRMING = 2  # times as many blocks confirm a suspicion as were run to look
SHOWN = "regression shown"  # analysis' word
Judge = Callable[[Path], Mapping[str, Any]]  # a history's file -> what analysis says of it (analysis/watch/document.py)


class Campaigns(Protocol):
    """Runs campaigns, from their document to their report."""

    def run(self, document: Mapping[str, Any], confirms: Sequence[Suspicion]) -> Round:
        """What it has measured. Raises SameboxError if it can't be run, or has no report."""


@dataclass(frozen=True)
class Watch:
    """`versions`: those that are asked for, some of which the history may have; `blocks`: for those that it hasn't."""

    file: HistoryFile
    history: History
    versions: tuple[str, ...]
    blocks: int
    seed: int

    @property
    def new(self) -> tuple[str, ...]:
        """Those that have to be run."""
        return tuple(version for version in self.versions if version not in self.history.measured)


@dataclass(frozen=True)
class Seen:
    """`judgement`: what analysis says of the history. `shown`: its findings that are a regression of a version asked for, or that
    this watch has confirmed.
    """

    judgement: Mapping[str, Any]
    shown: tuple[Mapping[str, Any], ...]


def watch(asked: Watch, campaigns: Campaigns, judge: Judge) -> Seen:
    """Runs the new versions, then whatever looks worse and wasn't judged yet; each round is kept in the file as soon as it is there."""
    history = asked.history
    if asked.new:
        question = f"Does the level of {history.system} change with {', '.join(asked.new)}?"
        history = _add(asked, history, asked.new, (), question, asked.blocks, campaigns)
    judgement = judge(asked.file.path)
    suspected = tuple(
        Suspicion(each["before"], each["version"], tuple(each["metrics"])) for each in judgement["suspected"]
    )
    if suspected:
        versions = [version for each in suspected for version in (each.before, each.version)]
        again = tuple(version for version in history.versions if version in versions)
        said = ", ".join(f"{each.version} worse than {each.before}" for each in suspected)
        blocks = confirming_blocks(asked.blocks)
        _add(asked, history, again, suspected, f"Is {history.system} {said}?", blocks, campaigns)
        judgement = judge(asked.file.path)
    just_now = {(each.before, each.version) for each in suspected}
    shown = tuple(
        each
        for each in judgement["findings"]
        if each["verdict"] == SHOWN
        and (each["version"] in asked.versions or (each["before"], each["version"]) in just_now)
    )
    return Seen(judgement, shown)


def confirming_blocks(blocks: int) -> int:
    """How many a suspicion gets, after so many in which it arose."""
    return max(CONFIRMING * blocks, FEWEST_BLOCKS)


def _add(
    asked: Watch,
    history: History,
    versions: Sequence[str],
    confirms: tuple[Suspicion, ...],
    question: str,
    blocks: int,
    campaigns: Campaigns,
) -> History:
    number = len(history.rounds) + 1
    document = campaign_of_versions(
        history,
        versions,
        name=f"watch-{asked.file.name}-{number}",
        question=question,
        blocks=blocks,
        seed=asked.seed + number,  # each round draws orders of its own
    )
    longer = replace(history, rounds=(*history.rounds, campaigns.run(document, confirms)))
    asked.file.write(longer)
    return longer


class UnscriptedCampaign(AssertionError):
    """ScriptedCampaigns were asked to run something that they were not told about."""


@dataclass
class ScriptedCampaigns:
    """The strict fake of Campaigns: the contestants' versions, joined by spaces -> metric -> version -> its value in each block.

    An exception is raised instead; whatever isn't scripted, has other numbers of blocks, or is asked twice, is an error.
    """

    answers: dict[str, Mapping[str, Mapping[str, Sequence[float]]] | Exception]
    asked: list[Mapping[str, Any]] = field(default_factory=list)

    def run(self, document: Mapping[str, Any], confirms: Sequence[Suspicion]) -> Round:
        self.asked.append(document)
        versions = [each["version"] for each in document["contestants"]]
        if " ".join(versions) not in self.answers:
            raise UnscriptedCampaign(f"no scripted answer for {' '.join(versions)}; there are {list(self.answers)}")
        answer = self.answers.pop(" ".join(versions))
        if isinstance(answer, Exception):
            raise answer
        return Round(
            campaign=document["name"],
            created_ns=len(self.asked) * 10**18,
            testbed="local",
            versions=tuple(versions[1:]),
            metrics={metric: self._blocks(document, versions, values) for metric, values in answer.items()},
            confirms=tuple(confirms),
        )

    def _blocks(
        self, document: Mapping[str, Any], versions: Sequence[str], values: Mapping[str, Sequence[float]]
    ) -> tuple[WatchedBlock, ...]:
        if set(values) != set(versions) or any(len(each) != document["blocks"] for each in values.values()):
            raise UnscriptedCampaign(f"asked for {document['blocks']} blocks of {versions}, scripted: {values}")
        return tuple(
            WatchedBlock(at + 1, {version: Known(each[at], each[at], each[at]) for version, each in values.items()})
            for at in range(document["blocks"])
        )
