"""What the first screen says of faults: what was lost that had to survive, what the promise allowed, and how long users waited."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analysis.comparison import Cell
from analysis.evidence import Evidence
from analysis.faults.document import FaultOfCell, Felt
from analysis.faults.impact import Impact, Lost
from analysis.faults.measures import GAP_OF_PARTITION, RESPONSE_BACK
from analysis.formatting import bounded_quantity, listed

_ROWS_TOLD = 3
_FAULTS_SPOKEN = 6  # of more, the first screen would be of nothing else


def fault_findings(faults: Sequence[FaultOfCell], trials: Sequence[Evidence]) -> list[str]:
    """Broken promises first."""
    found = [*_losses(faults, broken=True), *_outside(trials), *_losses(faults, broken=False)]
    if len(faults) > _FAULTS_SPOKEN:
        return [*found, f"How long users waited after each of {len(faults)} faults is told below, cell by cell."]
    return [*found, *_waits(faults)]


def fault_warnings(faults: Sequence[FaultOfCell]) -> list[str]:
    """Whose band isn't known, and why."""
    why: dict[str, set[str]] = {}
    for each in faults:
        for felt in each.felt:
            for evidence, impact in felt.found:
                if impact.no_band is not None:
                    why.setdefault(impact.no_band, set()).add(evidence.trial.name)
    return [
        f"When latency was back isn't known of {len(names)} trial{'s' if len(names) > 1 else ''} with faults: {reason}."
        for reason, names in why.items()
    ]


def _losses(faults: Sequence[FaultOfCell], *, broken: bool) -> Iterator[str]:
    for each in faults:
        for felt in each.felt:
            lost = [(e, i) for e, i in felt.found if i.losses.lost and i.promise.must is broken]
            if lost:
                yield _lost(each, felt, lost, broken)


def _lost(fault: FaultOfCell, felt: Felt, lost: Sequence[tuple[Evidence, Impact]], broken: bool) -> str:
    evidence, impact = lost[0]
    messages = sum(one.losses.lost for _, one in lost)
    counted = (
        f"{messages:,} acknowledged message{'s' if messages > 1 else ''} in {len(lost)} of {len(felt.found)} trials"
    )
    what = f"{where(fault.cell)}, fault {fault.number + 1} ({fault.words}): {felt.contestant}"
    if not broken:
        return f"{what} lost {counted}, which the promise allows: {impact.promise.sentence}."
    rows = "; ".join(row_words(row, impact) for row in impact.losses.rows[:_ROWS_TOLD])
    more = " The others are listed below." if messages > _ROWS_TOLD else ""
    why = impact.promise.sentence
    told = f"In {evidence.trial.name}: {rows}.{more} {_own_count(evidence)}"
    return f"Lost what had to survive. {what} lost {counted}, though {why}. {told}"


def _own_count(evidence: Evidence) -> str:
    """Whether the brokers lost them or only didn't deliver them, as far as a count can tell."""
    stored, acknowledged = evidence.observation("messages_stored"), evidence.counts.acknowledged
    return own_count_words(stored, acknowledged, evidence.stored_besides, evidence.daemons_gone())


def own_count_words(stored: int | None, acknowledged: int, others: int, gone: Sequence[str] = ()) -> str:
    """The system's own count of stored messages beside those that were acknowledged, and the `others` that may be stored as well.
    `gone`: processes that ended meanwhile, with which a count may have.
    """
    if stored is None:
        return "How many it still has, the system couldn't say."
    counted = f"The system's own count is {stored:,}, and {acknowledged:,} were acknowledged"
    if stored < acknowledged and gone:
        return f"{counted}: a part of it may have ended with {listed(gone)}, so that it doesn't tell."
    if stored < acknowledged:
        return f"{counted}: {acknowledged - stored:,} or more are gone."
    if stored >= acknowledged + others:
        return f"{counted}: by that it has them all, and didn't deliver them."
    return f"{counted} and up to {others:,} others stored: it doesn't tell whether they are gone or weren't delivered."


def row_words(row: Lost, impact: Impact) -> str:
    """One lost message."""
    acked_s = (row.acked_ns - (impact.occurrence.began_ns or 0)) / 1e9
    when = f"{abs(acked_s):.3f} s {'after' if acked_s >= 0 else 'before'} the fault"
    return f"producer {row.producer}, sequence {row.sequence}, partition {row.partition}, acknowledged {when}"


def _outside(trials: Sequence[Evidence]) -> Iterator[str]:
    for contestant in dict.fromkeys(each.trial.contestant for each in trials):
        lost = [
            each.outside_faults.lost
            for each in trials
            if each.trial.contestant == contestant and each.outside_faults.lost
        ]
        if lost:
            messages = f"{sum(lost):,} acknowledged message{'s' if sum(lost) > 1 else ''}"
            count = f"{len(lost)} trial{'s' if len(lost) > 1 else ''}"
            yield f"Lost what had to survive. {contestant} lost {messages} before any fault, in {count} whose workload has some."


def _waits(faults: Sequence[FaultOfCell]) -> Iterator[str]:
    for each in faults:
        gaps, backs = (_medians(each.felt, metric) for metric in (GAP_OF_PARTITION, RESPONSE_BACK))
        said = [f"a partition was without acknowledgements for {listed(gaps)}"] if gaps else []
        said += [f"response latency was back in its band after {listed(backs)}"] if backs else []
        if said:
            many = max(len(felt.found) for felt in each.felt) > 1
            medians = " (medians of the blocks)" if many else ""
            yield f"{where(each.cell)}, fault {each.number + 1} ({each.words}): {'; '.join(said)}{medians}."


def _medians(felt: Sequence[Felt], metric: str) -> list[str]:
    return [
        f"{bounded_quantity(own.figures[metric].median.to_json(), 's')} of {own.contestant}"
        for own in felt
        if metric in own.figures
    ]


def where(cell: Cell) -> str:
    """A cell in words."""
    return f"Workload {cell[0]}, durability level {cell[1]}"
