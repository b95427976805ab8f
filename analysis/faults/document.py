"""What report.json says of faults: per cell and fault, what each contestant's users felt, over blocks and trial by trial."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from analysis.bounded import Bounded
from analysis.comparison import Cell
from analysis.curves.over_blocks import OverBlocks, over_blocks
from analysis.evidence import Evidence
from analysis.faults.impact import Gap, Impact, Losses
from analysis.faults.measures import UNITS, fault_measures
from analysis.faults.occurrence import DEFAULT_GOAL_MS
from analysis.faults.recovery import Recovery
from contract.durability import DEFAULT_REPLICATION_FACTOR, quorum_of
from contract.survival import DOES, FEWER, ONE_AT_A_TIME, QUORUM, Harm, Survival, survival

_NS_PER_S = 1e9
_SUMMED = ("failed", "unanswered", "lost", "repeated", "steps_back", "stored_unacknowledged")


@dataclass(frozen=True)
class Felt:
    """One fault of the trials of one contestant in one cell. `figures`: metric -> values of the trials that are compared."""

    contestant: str
    found: tuple[tuple[Evidence, Impact], ...]
    figures: Mapping[str, OverBlocks]


@dataclass(frozen=True)
class FaultOfCell:
    """One fault of one cell, and what it did to each contestant."""

    cell: Cell
    number: int
    called: str
    asked: Mapping[str, Any]
    felt: tuple[Felt, ...]

    @property
    def name(self) -> str:
        """What its figures and its part of the page are called."""
        return f"fault-{self.cell[0]}-l{self.cell[1]}-{self.number + 1}"

    @property
    def words(self) -> str:
        """What was done, for how long."""
        lasted = "" if self.asked.get("for_s") is None else f" for {self.asked['for_s']:g} s"
        return f"{self.asked['do']} {self.asked['target']}{lasted}"


def faults_of(trials: Sequence[Evidence], excluded: Collection[str]) -> list[FaultOfCell]:
    """Every fault of every cell whose workload has some, in the order of the trials. `excluded`: trials that aren't compared; of A/A
    blocks none is."""
    cells: dict[Cell, list[Evidence]] = {}
    for each in trials:
        if each.trial.workload.get("faults") and not each.trial.is_native:
            cells.setdefault(each.trial.cell, []).append(each)
    return [
        FaultOfCell(cell, number, f"{number + 1} {asked['do']}", asked, tuple(_felt(own, number, excluded)))
        for cell, own in cells.items()
        for number, asked in enumerate(own[0].trial.workload["faults"])
    ]


def _felt(trials: Sequence[Evidence], number: int, excluded: Collection[str]) -> Iterator[Felt]:
    for contestant in dict.fromkeys(each.trial.contestant for each in trials):
        found = tuple(
            (each, impact)
            for each in trials
            if each.trial.contestant == contestant
            for impact in each.impacts
            if impact.occurrence.number == number
        )
        known: dict[str, list[tuple[int, Bounded]]] = {}
        for each, impact in found:
            if each.trial.name not in excluded and not each.trial.is_aa:
                for metric, _, value, _ in fault_measures(impact):
                    known.setdefault(metric.split("[")[0], []).append((each.trial.block, value))
        figures = {metric: over for metric, values in known.items() if (over := over_blocks(values))}
        yield Felt(contestant, found, figures)


def faults_document(faults: Iterable[FaultOfCell], excluded: Collection[str]) -> list[dict[str, Any]]:
    """The list of report.json."""
    return [
        {
            "workload": each.cell[0],
            "level": each.cell[1],
            "number": each.number,
            "called": each.called,
            "words": each.words,
            "name": each.name,
            "asked": dict(each.asked),
            "goal_ms": next((impact.goal_ms for felt in each.felt for _, impact in felt.found), None),
            "default_goal_ms": DEFAULT_GOAL_MS,
            "contestants": [
                {
                    "contestant": felt.contestant,
                    "figures": {
                        metric: {"unit": UNITS[metric], **over.to_json()} for metric, over in felt.figures.items()
                    },
                    "totals": _totals(felt),
                    "trials": [_trial(evidence, impact, excluded) for evidence, impact in felt.found],
                }
                for felt in each.felt
            ],
        }
        for each in faults
    ]


def _totals(felt: Felt) -> dict[str, int]:
    """Messages in all of its trials: a median would hide what was lost in one of them."""
    return {name: sum(getattr(impact.losses, name) for _, impact in felt.found) for name in _SUMMED}


def _trial(evidence: Evidence, impact: Impact, excluded: Collection[str]) -> dict[str, Any]:
    fault, began_ns = impact.occurrence, impact.occurrence.began_ns or 0
    start_ns = (evidence.trial.measured_ns() or (0, 0))[0]
    return {
        "trial": evidence.trial.name,
        "block": evidence.trial.block,
        "compared": evidence.trial.name not in excluded and not evidence.trial.is_aa,
        "at_s": (began_ns - start_ns) / _NS_PER_S,
        "beside_plan_s": (began_ns - fault.planned_ns) / _NS_PER_S,
        "ended_after_s": None if fault.ended_ns is None else (fault.ended_ns - began_ns) / _NS_PER_S,
        "back_after_s": None if fault.back_ns is None else (fault.back_ns - began_ns) / _NS_PER_S,
        "hits": [dict(hit) for hit in fault.hits],
        "problem": fault.problem,
        "promise": {"must": impact.promise.must, "by_level": impact.promise.by_level, "why": impact.promise.sentence},
        "gap": _gap(impact.gap, began_ns),
        "partitions": [_gap(gap, began_ns) for gap in impact.partitions],
        "acknowledged_after_s": _bounded(impact.acknowledged_s),
        "response": _recovery(impact.response),
        "end_to_end": {name: _recovery(found) for name, found in impact.end_to_end.items()},
        "no_band": impact.no_band,
        "debts": [{**asdict(debt), "paid_s": _bounded(debt.paid_s)} for debt in impact.debts],
        "due": impact.due,
        "late": impact.late,
        "late_s": impact.late_s,
        "losses": losses_document(impact.losses, began_ns),
        "answered_again": _answered_again(evidence),
    }


def _answered_again(evidence: Evidence) -> int:
    """Answers, in all of the trial, to messages that had failed or been acknowledged before, as the producers counted them."""
    workers = evidence.trial.document["observations"].get("workers") or []
    return sum(int(worker.get("repeated") or 0) for worker in workers)


def losses_document(losses: Losses, began_ns: int) -> dict[str, Any]:
    """Its counts, and the lost rows with their times in seconds from the fault, or from `began_ns` else."""
    rows = [
        {
            **asdict(row),
            "intended_after_s": (row.intended_ns - began_ns) / _NS_PER_S,
            "acknowledged_after_s": (row.acked_ns - began_ns) / _NS_PER_S,
        }
        for row in losses.rows
    ]
    return {**asdict(losses), "rows": rows}


def survival_document(trials: Iterable[Evidence], manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Which of the durabilities that ran must survive which fault, and what the systems' makers say of it."""
    copies = int((manifest.get("definition") or {}).get("replication_factor", DEFAULT_REPLICATION_FACTOR))
    durabilities = {each.trial.durability["name"]: each.trial.durability for each in trials}
    alike: dict[tuple[str, str, Survival], list[str]] = {}
    for name, durability in durabilities.items():
        for do in DOES:
            for extent in (FEWER,) if do in {*ONE_AT_A_TIME, "slow-disk"} else (FEWER, QUORUM):
                hosts = 1 if extent == FEWER else quorum_of(copies)
                found = survival(durability, Harm(do, hosts, copies))
                alike.setdefault((name, extent, found), []).append(do)
    rows = [
        {"durability": name, "do": does, "extent": extent, "must": found.must, "why": found.why}
        for (name, extent, found), does in alike.items()
    ]
    return {"copies": copies, "levels": rows, "makers": list(manifest.get("survival") or ())}


def _gap(gap: Gap | None, began_ns: int) -> dict[str, Any] | None:
    if gap is None:
        return None
    return {
        **asdict(gap),
        "length_s": gap.length_s.to_json(),
        "began_after_s": (gap.began_ns - began_ns) / _NS_PER_S,
        "ended_after_s": None if gap.ended_ns is None else (gap.ended_ns - began_ns) / _NS_PER_S,
    }


def _recovery(found: Recovery | None) -> dict[str, Any] | None:
    return None if found is None else {**asdict(found), "back_s": found.back_s.to_json()}


def _bounded(known: Bounded | None) -> dict[str, Any] | None:
    return None if known is None else known.to_json()
