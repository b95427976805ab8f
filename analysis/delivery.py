"""Which acknowledged messages never arrived, and which arrived twice: exact, and only where both sides differ message by message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.records.differences import EXAMPLES, Stretch


@dataclass(frozen=True)
class Delivery:
    """What one subscription of a trial got. `examples` are "producer/sequence" of the first lost messages."""

    trial: str
    subscription: str
    acknowledged: int
    received: int
    lost: int
    duplicates: int
    unacknowledged_received: int
    examples: tuple[str, ...]
    repeats_of_measure: int = 0  # of the duplicates, those of messages intended in the measure phase


def differing_stretches(
    acknowledged: Iterable[Mapping[str, Any]], received: Iterable[Mapping[str, Any]], names: Mapping[str, Sequence[str]]
) -> dict[str, list[Stretch]]:
    """The stretches of each trial whose two fingerprints differ; `names`: trial -> its subscriptions (`subscriptions_of`)."""
    expected: dict[tuple[str, int, int], tuple[int, int]] = {}
    for row in acknowledged:
        key = (row["trial"], row["producer"], row["sequence_bucket"])
        count, total = expected.get(key, (0, 0))  # a stretch may lie across two phases
        expected[key] = (count + row["acknowledged"], total + row["fingerprint"])
    wanted = {
        (trial, subscription, producer, number): prints
        for (trial, producer, number), prints in expected.items()
        for subscription in names.get(trial, ())
        if prints[0]
    }
    got = {
        (row["trial"], row["subscription"], row["producer"], row["sequence_bucket"]): (
            row["received"],
            row["fingerprint"],
        )
        for row in received
    }
    differing: dict[str, list[Stretch]] = {}
    for trial, *stretch in sorted(key for key in wanted.keys() | got.keys() if wanted.get(key) != got.get(key)):
        differing.setdefault(trial, []).append(tuple(stretch))
    return differing


def deliveries(
    acknowledged: Iterable[Mapping[str, Any]],
    received: Iterable[Mapping[str, Any]],
    differences: Iterable[Mapping[str, Any]],
    names: Mapping[str, Sequence[str]],
) -> list[Delivery]:
    """Loss and duplicates per trial and subscription. `differences`: rows of analysis.records.differences, with their trial."""
    acked: Counter[str] = Counter()
    for row in acknowledged:
        acked[row["trial"]] += row["acknowledged"]
    got: Counter[tuple[str, str]] = Counter()
    for row in received:
        got[row["trial"], row["subscription"]] += row["received"]
    found: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in differences:
        found.setdefault((row["trial"], row["subscription"]), []).append(row)
    return [
        _delivery(trial, name, acked[trial], got[trial, name], found.get((trial, name), []))
        for trial in sorted(names)
        for name in names[trial]
    ]


def _delivery(
    trial: str, subscription: str, acknowledged: int, received: int, rows: Sequence[Mapping[str, Any]]
) -> Delivery:
    def total(column: str) -> int:
        return sum(int(row[column]) for row in rows)

    first = sorted((lost["producer"], lost["sequence"]) for row in rows for lost in row["examples"])[:EXAMPLES]
    return Delivery(
        trial=trial,
        subscription=subscription,
        acknowledged=acknowledged,
        received=received,
        lost=total("lost"),
        duplicates=total("duplicates"),
        unacknowledged_received=total("unacknowledged_received"),
        examples=tuple(f"{producer}/{sequence}" for producer, sequence in first),
        repeats_of_measure=total("repeats_of_measure"),
    )


def subscriptions_of(received: Iterable[Mapping[str, Any]], counts: Mapping[str, int]) -> dict[str, list[str]]:
    """Names seen per trial, plus a stand-in for each subscription that was asked for and received nothing at all.

    `counts`: trial -> how many were asked for.
    """
    seen: dict[str, set[str]] = {trial: set() for trial in counts}
    for row in received:
        seen[row["trial"]].add(row["subscription"])
    return {
        trial: sorted(names) + [f"(silent {number + 1})" for number in range(counts[trial] - len(names))]
        for trial, names in seen.items()
    }
