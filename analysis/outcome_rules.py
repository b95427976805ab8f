"""Did the system do what was asked? One small rule per outcome check of docs/records.md. "Not met" is a result, never a defect."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from analysis.campaign import NANOSECONDS
from analysis.evidence import Evidence, Finding, Missing
from analysis.formatting import number
from analysis.promise import is_acknowledged

Bounds = Mapping[str, Any]


def offered_rate(evidence: Evidence, bounds: Bounds) -> Finding:
    """What the measure phase scheduled was acknowledged as it came; of a search, some rate was sustained.

    A system that is behind by as much at the end as at the start has kept the rate; by how much it is behind is said.
    """
    counts, pacing = evidence.counts, evidence.trial.workload["pacing"]
    if pacing == "closed-loop":
        return Finding(True, "A closed loop offers no rate of its own: it sends when the system lets it.")
    if pacing == "search":
        return _searched(evidence)
    if not counts.scheduled_in_measure:
        raise Missing("The trial has no message in its measure phase.")
    share, bound = counts.kept_up_in_measure / counts.scheduled_in_measure, float(bounds["share"])
    sentence = (
        f"{_percent(share)} of the {counts.scheduled_in_measure:,} messages scheduled in the measure phase {_settled(evidence)} "
        f"as they came; the bound is {bound:.1%}. {_behind(evidence)}"
    )
    figures = {
        "share": share,
        "bound": bound,
        "unacknowledged_at_start": counts.behind_at_start,
        "unacknowledged_at_end": counts.behind_at_end,
    }
    return Finding(share >= bound, sentence, figures)


def _searched(evidence: Evidence) -> Finding:
    """The search judged its runs by what it knew of them at their ends; the last one's records are the trial's."""
    search, counts = evidence.observation("search"), evidence.counts
    if search["rate_per_s"] is None:
        reason = search["attempts"][-1]["reason"] if search["attempts"] else ""
        why = f" The last run: {reason}." if reason else ""
        return Finding(False, f"No rate was sustained at full length.{why}", {"search": search})
    if not counts.scheduled_in_measure:
        raise Missing("The trial has no message in its measure phase.")
    share = counts.kept_up_in_measure / counts.scheduled_in_measure
    sentence = (
        f"{search['rate_per_s']:,} messages a second were sustained at full length; {_percent(share)} of those scheduled in the "
        f"measure phase {_settled(evidence)} as they came. {_behind(evidence)}"
    )
    return Finding(True, sentence, {"rate_per_s": search["rate_per_s"], "share": share})


def backlog_read(evidence: Evidence, _bounds: Bounds) -> Finding:
    """The readers of a backlog caught up in the time there was."""
    backlog = evidence.trial.workload["backlog"]
    if not backlog:
        return Finding(True, "The workload leaves no backlog.")
    if not evidence.catch_ups:
        raise Missing("Nothing of the backlog was received, or the trial ended before.")
    behind = [found.subscription for found in evidence.catch_ups if found.caught_up_s is None]
    if behind:
        return Finding(
            False, f"{', '.join(behind)} had not caught up after {backlog['catch_up_s']:g} s.", {"behind": behind}
        )
    slowest = max(found.caught_up_s or 0.0 for found in evidence.catch_ups)
    return Finding(True, f"The backlog was read within {slowest:,.1f} s.", {"caught_up_s": slowest})


def no_loss(evidence: Evidence, _bounds: Bounds) -> Finding:
    """Every acknowledged message reached every subscription."""
    if not evidence.trial.subscriptions:
        return Finding(True, "Nobody was asked to receive; what the broker stored is compared by independent-count.")
    lost = {delivery.subscription: delivery.lost for delivery in _deliveries(evidence)}
    examples = [name for delivery in evidence.deliveries for name in delivery.examples]
    total, acknowledged = sum(lost.values()), evidence.counts.acknowledged
    if total and evidence.trial.document["abort"]:
        raise Missing(
            f"{total:,} of {acknowledged:,} messages that {_settled(evidence)} had not been received when the trial was ended early: "
            "they may have been on their way."
        )
    if total:
        first = f", first: producer/sequence {examples[0]}" if examples else ""
        sentence = f"{total:,} of {acknowledged:,} messages that {_settled(evidence)} were never received{first}."
        excused = [each for each in evidence.impacts if each.losses.lost and not each.promise.must]
        allowed = sum(each.losses.lost for each in excused)
        if allowed:
            why = "; ".join(f"{each.occurrence.words}, {each.promise.sentence}" for each in excused)
            sentence += f" The promise allows {allowed:,} of them: {why}."
        figures = {"lost": lost, "examples": examples} | ({"allowed": allowed} if allowed else {})
        return Finding(allowed == total, sentence, figures)
    return Finding(True, f"All {acknowledged:,} messages that {_settled(evidence)} were received.", {"lost": lost})


def no_duplicates(evidence: Evidence, _bounds: Bounds) -> Finding:
    """No message was received twice in a subscription."""
    repeats = {delivery.subscription: delivery.duplicates for delivery in _deliveries(evidence)}
    total, received = sum(repeats.values()), sum(delivery.received for delivery in evidence.deliveries)
    if total:
        return Finding(False, f"{total:,} of {received:,} receipts were repeats.", {"duplicates": repeats})
    return Finding(True, f"None of {received:,} receipts was a repeat.", {"duplicates": repeats})


def order(evidence: Evidence, _bounds: Bounds) -> Finding:
    """Sequences ascend per subscription, producer and partition."""
    if not evidence.trial.subscriptions:
        return Finding(True, "Nobody was asked to receive, so there is no order to look at.")
    if not evidence.orderings:
        raise Missing("Nothing was received, so there is no order to look at.")
    steps = {ordering.subscription: ordering.steps_back for ordering in evidence.orderings}
    total = sum(steps.values())
    if total:
        worst = max(evidence.orderings, key=lambda ordering: ordering.steps_back)
        steps_back = "1 step" if total == 1 else f"{total:,} steps"
        sentence = f"{steps_back} back in sequence; the most at {worst.worst}, the deepest by {worst.deepest_step:,}."
        return Finding(False, sentence, {"steps_back": steps, "worst": worst.worst})
    return Finding(True, "Every producer's sequence ascends in every partition.", {"steps_back": steps})


def brokers_kept(evidence: Evidence, _bounds: Bounds) -> Finding:
    """No daemon was restarted, vanished or ran out of memory."""
    daemons = evidence.observation("daemons")
    if not daemons:
        raise Missing("The daemons' process ids were not recorded.")
    starved = [f"{daemon['daemon']} on {daemon['host']}" for daemon in daemons if daemon["out_of_memory"]]
    changed = evidence.daemons_lost()
    if starved or changed:
        parts = [f"out of memory: {', '.join(starved)}"] if starved else []
        parts += [f"gone or restarted: {', '.join(changed)}"] if changed else []
        return Finding(False, f"{'; '.join(parts).capitalize()}.", {"out_of_memory": starved, "changed": changed})
    pids = {f"{daemon['host']} {daemon['daemon']}": daemon["pid_at_end"] for daemon in daemons}
    if ended := evidence.daemons_begun_anew():
        sentence = f"No daemon ended of itself; the workload's faults ended {', '.join(ended)}."
        return Finding(True, sentence, {"pids": pids, "ended_by_faults": ended})
    return Finding(
        True, f"All {len(daemons)} daemons ran through with the process id they started with.", {"pids": pids}
    )


def replicas(evidence: Evidence, _bounds: Bounds) -> Finding:
    """Nothing was under-replicated at the end."""
    names = evidence.observation("under_replicated")
    if names is None:
        why = evidence.why_not_counted("under_replicated")
        raise Missing(f"Under-replication could not be read from the system{why}")
    if names and (left := _left_by_faults(evidence)):
        sentence = f"Not judged: {len(names)} under-replicated at the end, when faults had left {', '.join(left)} out."
        return Finding(True, sentence, {"under_replicated": list(names), "left_out": left})
    if names:
        sentence = f"{len(names)} under-replicated at the end, such as {names[0]}."
        return Finding(False, sentence, {"under_replicated": list(names)})
    return Finding(True, "Nothing was under-replicated at the end.", {"under_replicated": []})


def kept_answering(evidence: Evidence, _bounds: Bounds) -> Finding:
    """The system did not stop answering."""
    abort = evidence.trial.document["abort"]
    if abort and abort["axis"] == "outcome":
        return Finding(False, f"Aborted by {abort['rule']}: {abort['reason']}", {"abort": abort})
    if abort:
        raise Missing("The trial was aborted for another reason before its end.")
    return Finding(True, "The system answered to the end.", {"acknowledged": evidence.counts.acknowledged})


def _left_by_faults(evidence: Evidence) -> list[str]:
    """The hosts that a fault wasn't undone on."""
    hits = [hit for fault in evidence.faults if fault.began_ns is not None for hit in fault.hits]
    return list(dict.fromkeys(str(hit["host"]) for hit in hits if hit["ended_ns"] is None))


def _behind(evidence: Evidence) -> str:
    """What was due and not acknowledged at the ends of the measure phase, and how long the schedule takes for so much."""
    counts, bounds_ns = evidence.counts, evidence.trial.measured_ns()
    if bounds_ns is None:
        return ""
    per_s = counts.scheduled_in_measure / ((bounds_ns[1] - bounds_ns[0]) / NANOSECONDS)
    at = (
        f"{behind:,} messages ({number(behind / per_s)} s of load)"
        for behind in (counts.behind_at_start, counts.behind_at_end)
    )
    return f"Due and unacknowledged when it began: {next(at)}; when it ended: {next(at)}."


def _percent(share: float) -> str:
    """Never 100 % of what isn't all."""
    return f"{math.floor(share * 1e4) / 100:.2f}%"


def _deliveries(evidence: Evidence) -> tuple[Any, ...]:
    if not evidence.counts.scheduled:
        raise Missing("The trial has no recorded message.")
    return evidence.deliveries


def _settled(evidence: Evidence) -> str:
    """What a message that counts as acknowledged really did: where no broker answers, only the client has said anything."""
    return "were acknowledged" if is_acknowledged(evidence.trial.durability) else "left the client unacknowledged"
