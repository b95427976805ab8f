"""In what a campaign's contestants of one system differ: what the campaign asks for, and what came out different by itself.

Both from what their trials recorded: the intended settings, and those that the running processes and clients reported. A version
with other defaults differs in settings that nobody asked for; a reader must know them before the figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from analysis.campaign import Campaign, Trial
from contract.settings import Differing, Key, Places, by_kind, differing, places_of

SOFTWARE, VERSION, WORKLOAD = "software", "version", "workload"
_NAMED = 5  # keys in a sentence


@dataclass(frozen=True)
class ContestantDifference:
    """Two contestants of one system. `asked`: where what was intended differs, their version and keys of the workload among it.
    `by_itself`: settings that were read back different all the same. `same_as`: whether they were to be identical.
    """

    system: str
    first: str
    second: str
    same_as: bool
    asked: tuple[Differing, ...]
    by_itself: tuple[Differing, ...]

    @property
    def sentence(self) -> str:
        """In what they differ, in words."""
        if not self.asked and not self.by_itself:
            return f"{self.second} is the same as {self.first} under another name: none of their settings differs."
        told = [f"{self.second} differs from {self.first} in {_named(self.asked)}"] if self.asked else []
        if self.by_itself:
            count = len(self.by_itself)
            many = "one setting has another value" if count == 1 else f"{count} settings have other values"
            told.append(f"{many} that the campaign doesn't ask for: {_named(self.by_itself)}")
        if not self.asked:
            told.insert(0, f"{self.second} was asked to be the same as {self.first}")
        return "; ".join(told) + "."


@dataclass(frozen=True)
class _Read:
    """What trials of one cell recorded. Keys of which they recorded unlike values (an identifier, a time) are `unsteady`."""

    values: Mapping[Key, str]
    unsteady: frozenset[Key]


def contestant_differences(campaign: Campaign) -> list[ContestantDifference]:
    """Of every two that have the same system, in the campaign's order; nothing where systems as such are compared."""
    declared = (campaign.manifest.get("definition") or {}).get("contestants") or []
    ran = [each for each in declared if any(trial.called == each["name"] for trial in campaign.trials)]
    return [
        _difference(campaign, first, second)
        for first, second in combinations(ran, 2)
        if first["system"] == second["system"]
    ]


def _difference(campaign: Campaign, first: Mapping[str, Any], second: Mapping[str, Any]) -> ContestantDifference:
    places = places_of(campaign.manifest["testbed"]["hosts"])
    asked: dict[Differing, None] = {}
    by_itself: dict[Differing, None] = {}
    for ours, theirs in _alike(campaign.trials, first["name"], second["name"]):
        intended = [_read([_intended(trial) for trial in own], places) for own in (ours, theirs)]
        running = [_read([trial.document["settings"]["effective"] for trial in own], places) for own in (ours, theirs)]
        asked |= dict.fromkeys(_steadily_differing(*intended))
        named = {(each.component, each.key) for each in asked}
        by_itself |= dict.fromkeys(
            each for each in _steadily_differing(*running) if (each.component, each.key) not in named
        )
    twins = second["same_as"] == first["name"] or first["same_as"] == second["name"]
    return ContestantDifference(first["system"], first["name"], second["name"], twins, tuple(asked), tuple(by_itself))


def _alike(trials: Sequence[Trial], first: str, second: str) -> Iterator[tuple[list[Trial], list[Trial]]]:
    """The trials of both, cell by cell: under another load, or at another level, a contestant has other settings itself."""
    whole = [trial for trial in trials if trial.completed]
    for cell in dict.fromkeys(trial.cell for trial in whole):
        own = [[trial for trial in whole if (trial.cell, trial.called) == (cell, name)] for name in (first, second)]
        if all(own):
            yield own[0], own[1]


def _intended(trial: Trial) -> dict[str, Mapping[str, Any]]:
    """What a trial was to run with; what isn't a setting of a process stands beside it under a component of its own."""
    workload = {key: value for key, value in trial.workload.items() if not isinstance(value, Mapping)}
    return {
        **trial.document["settings"]["intended"],
        SOFTWARE: {VERSION: trial.document["version"]},
        WORKLOAD: workload,
    }


def _read(recorded: Sequence[Mapping[str, Mapping[str, Any]]], places: Places) -> _Read:
    seen = [by_kind(each, places) for each in recorded]
    keys = dict.fromkeys(key for each in seen for key in each)
    unsteady = frozenset(key for key in keys if len({each.get(key) for each in seen}) > 1)
    return _Read({key: seen[0][key] for key in keys if key not in unsteady}, unsteady)


def _steadily_differing(first: _Read, second: _Read) -> list[Differing]:
    unsteady = first.unsteady | second.unsteady
    return [each for each in differing(first.values, second.values) if (each.component, each.key) not in unsteady]


def _named(found: Sequence[Differing]) -> str:
    """The first few by name, with both values, and how many more there are."""
    told = [
        f"{each.key if each.component == SOFTWARE else f'{each.component} {each.key}'} {each.values}"
        for each in found[:_NAMED]
    ]
    return ", ".join(told) + (f" and {len(found) - _NAMED} more" if len(found) > _NAMED else "")
