"""What faults did as metrics of a trial, with the fault in brackets: fault_gap[1 kill]. docs/faults.md says what each of them is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from analysis.bounded import Bounded, exactly
from analysis.faults.impact import Debt, Impact

GAP, GAP_OF_PARTITION, ACKNOWLEDGED = "fault_gap", "fault_gap_of_a_partition", "fault_acknowledged_after"
RESPONSE_BACK, END_TO_END_BACK = "fault_response_back_after", "fault_end_to_end_back_after"
LATE = "fault_late_messages"
UNITS: Mapping[str, str] = {
    GAP: "s",
    GAP_OF_PARTITION: "s",
    ACKNOWLEDGED: "s",
    RESPONSE_BACK: "s",
    END_TO_END_BACK: "s",
    "fault_out_of_band": "s",
    "fault_replicas_back_after": "s",
    LATE: "messages",
    "fault_late_seconds": "s",
    "fault_unacknowledged": "messages",
    "fault_unacknowledged_paid_after": "s",
    "fault_unreceived": "messages",
    "fault_unreceived_paid_after": "s",
    "fault_failed": "messages",
    "fault_unanswered": "messages",
    "fault_lost": "messages",
    "fault_duplicated": "messages",
    "fault_stored_unacknowledged": "messages",
    "fault_steps_back": "steps",
}
_NS_PER_S = 1e9


def fault_measures(impact: Impact) -> Iterator[tuple[str, str, Bounded, int]]:
    """Metric, unit, value and of how many messages it is; what isn't known is left out."""
    parts = (_times(impact), _debts(impact), _counts(impact))
    for found in parts:
        for name, known in found.items():
            if known is not None:
                yield f"{name}[{impact.occurrence.called}]", UNITS[name], known, impact.due


def latest(several: Mapping[str, Bounded]) -> Bounded | None:
    """The largest of some, as far as it is known; None without any."""
    found = list(several.values())
    if not found:
        return None
    low, high = max(each.low for each in found), max(each.high for each in found)
    return exactly(low) if low == high else Bounded(None, low, high)


def _times(impact: Impact) -> dict[str, Bounded | None]:
    fault, response = impact.occurrence, impact.response
    began_ns = fault.began_ns or 0
    return {
        GAP: impact.gap.length_s if impact.gap else None,
        GAP_OF_PARTITION: latest({str(gap.partition): gap.length_s for gap in impact.partitions}),
        ACKNOWLEDGED: impact.acknowledged_s,
        RESPONSE_BACK: response.back_s if response else None,
        END_TO_END_BACK: latest({name: found.back_s for name, found in impact.end_to_end.items()}),
        "fault_out_of_band": exactly(response.out_of_band_s) if response else None,
        "fault_replicas_back_after": exactly((fault.back_ns - began_ns) / _NS_PER_S) if fault.back_ns else None,
        "fault_late_seconds": exactly(impact.late_s),
    }


def _debts(impact: Impact) -> dict[str, Bounded | None]:
    sides = {
        "fault_unacknowledged": [debt for debt in impact.debts if debt.subscription is None],
        "fault_unreceived": [debt for debt in impact.debts if debt.subscription is not None],
    }
    found: dict[str, Bounded | None] = {}
    for name, debts in sides.items():
        if debts:
            found[name] = exactly(max(debt.highest for debt in debts))
            found[f"{name}_paid_after"] = _paid(debts)
    return found


def _paid(debts: list[Debt]) -> Bounded | None:
    known = {str(debt.subscription): debt.paid_s for debt in debts if debt.paid_s is not None}
    return latest(known) if len(known) == len(debts) else None


def _counts(impact: Impact) -> dict[str, Bounded | None]:
    losses = impact.losses
    return {
        LATE: exactly(impact.late),
        "fault_failed": exactly(losses.failed),
        "fault_unanswered": exactly(losses.unanswered),
        "fault_lost": exactly(losses.lost),
        "fault_duplicated": exactly(losses.repeated),
        "fault_stored_unacknowledged": exactly(losses.stored_unacknowledged),
        "fault_steps_back": exactly(losses.steps_back),
    }


def comparable(metric: str, known: Bounded) -> Bounded:
    """What a ratio is made of: of no message at all it can only be said that it was less than one."""
    if metric.startswith(LATE) and known.high == 0:
        return Bounded(None, 0.0, 1.0)
    return known
