"""Was the measurement sound? One small rule per validity check of docs/records.md; those about clients and machines are in
disturbance_rules.py, whether it was steady in steady_state.py. None of them asks whether a system's latency is good.

Where a system itself has ended a trial, or one of its daemons, what can't be observed any more is its doing: that is an outcome
and no defect of the measurement. Calling it unknown would exclude just those trials in which a system failed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from analysis.campaign import NANOSECONDS
from analysis.evidence import HOSTS, Evidence, Finding, Missing

_MS = 1e6  # nanoseconds
_TO_LOCAL_SERVICES = "ena_linklocal_allowance_exceeded"
Bounds = Mapping[str, Any]


def settings(evidence: Evidence, _bounds: Bounds) -> Finding:
    """The running processes had the settings that were intended."""
    recorded = evidence.trial.document["settings"]
    if not recorded["effective"]:
        raise Missing("The effective settings were not read back from the running processes.")
    drift = list(recorded["drift"])
    compared = sum(len(keys) for keys in recorded["intended"].values())
    if drift:
        first = drift[0]
        differs = f"{first['component']} {first['key']}: intended {first['intended']}, running {first['effective']}"
        return Finding(False, f"{len(drift)} of {compared} settings drifted; {differs}.", {"drift": drift})
    return Finding(True, f"All {compared} intended settings were read back unchanged.", {"compared": compared})


def cold_caches(evidence: Evidence, bounds: Bounds) -> Finding:
    """The canary files were in memory before the reset and gone after it."""
    canaries = evidence.observation("reset")["canaries"]
    if not canaries:
        raise Missing("No canary was read before the reset, so nothing proves that caches were cold.")
    brokers = {host["name"] for host in evidence.trial.document["hosts"] if host["role"] == "broker"}
    bare = sorted(brokers - {canary["host"] for canary in canaries})
    before = min(float(canary["resident_before"]) for canary in canaries)
    after = max(float(canary["resident_after"]) for canary in canaries)
    passed = not bare and before >= float(bounds["resident_before"]) and after <= float(bounds["resident_after"])
    sentence = (
        f"{len(canaries)} canaries: at least {before:.1%} resident before the reset, at most {after:.1%} after it"
    )
    sentence += f"; none on {', '.join(bare)}." if bare else "."
    return Finding(passed, sentence, {"resident_before": before, "resident_after": after, "without_canary": bare})


def steal(evidence: Evidence, bounds: Bounds) -> Finding:
    """The hypervisor gave the machines the CPU they were promised; a machine that was promised none is not judged."""
    own = bounds.get(HOSTS, {})
    left_out = {host: str(rule["why"]) for host, rule in own.items() if not rule["judged"]}
    shares = {
        use.host: use.cpu_shares["steal"]
        for use in evidence.machines
        if "steal" in use.cpu_shares and use.host not in left_out
    }
    if not shares:
        return evidence.unobserved("No CPU telemetry was recorded in the measure phase.")
    host, worst = max(shares.items(), key=lambda item: item[1])
    bound = float(bounds["share"])
    sentence = f"CPU steal was at most {worst:.2%} of the measure phase ({host}); the bound is {bound:.2%}."
    sentence += "".join(f" Not judged: {name} ({why})." for name, why in left_out.items())
    return Finding(worst <= bound, sentence, {"shares": shares, "bound": bound, "not_judged": left_out})


def network_allowance(evidence: Evidence, bounds: Bounds) -> Finding:
    """No network card held packets back because its instance type's allowance was used up.

    What was dropped on the way to DNS, time and metadata services carried no message: of clocks the check `clock` tells.
    """
    counted = {use.host: use.allowances_exceeded for use in evidence.machines}
    if not counted:
        return evidence.unobserved("No telemetry was recorded in the measure phase.")
    uncounted = sorted(host for host, counters in counted.items() if not counters)
    exceeded = {
        (host, name): growth
        for host, counters in counted.items()
        for name, growth in counters.items()
        if growth and name != _TO_LOCAL_SERVICES
    }
    packets, counters = sum(exceeded.values()), sum(len(each) for each in counted.values())
    sentence = (
        f"{packets:,.0f} packets were held back, by {counters} counters on {len(counted) - len(uncounted)} machines"
    )
    if exceeded:
        host, name = max(exceeded, key=lambda key: exceeded[key])
        why = bounds.get(HOSTS, {}).get(host, {}).get("why")
        sentence += f", most of them {host} {name}" + (f" ({why})" if why else "")
    sentence += f"; no card counts them on {', '.join(uncounted)}." if uncounted else "."
    passed = packets <= float(bounds["packets"]) and len(uncounted) <= int(bounds["uncounted_machines"])
    shown = {f"{host} {name}": growth for (host, name), growth in exceeded.items()}
    return Finding(passed, sentence, {"exceeded": shown, "uncounted": uncounted})


def clock(evidence: Evidence, bounds: Bounds) -> Finding:
    """Times taken on different hosts can be subtracted."""
    measured = evidence.observation("clocks")
    if not measured:
        raise Missing("The clocks' offset bounds were not measured.")
    nanoseconds = [(entry[when], entry["host"]) for entry in measured for when in ("bound_before_ns", "bound_after_ns")]
    if any(bound is None for bound, _ in nanoseconds):
        raise Missing("A host's clock bound could not be measured.")
    worst_ns, host = max(nanoseconds)
    bound = float(bounds["bound_ms"])
    sentence = f"Clocks agreed to within {worst_ns / _MS:.3g} ms (worst: {host}); the bound is {bound:g} ms."
    sources = {entry["host"]: entry["source"] for entry in measured if entry.get("source")}
    sentence += f" Followed: {', '.join(dict.fromkeys(sources.values()))}." if sources else ""
    shown = {"worst_ms": worst_ns / _MS, "host": host, "bound_ms": bound, "sources": sources}
    return Finding(worst_ns / _MS <= bound, sentence, shown)


def hosts_kept(evidence: Evidence, _bounds: Bounds) -> Finding:
    """Neither kit nor machines ended the trial."""
    abort = evidence.trial.document["abort"]
    if abort and abort["axis"] == "validity":
        where = f" on {abort['host']}" if abort.get("host") else ""
        return Finding(False, f"Aborted by {abort['rule']}{where}: {abort['reason']}", {"abort": abort})
    hosts = [host["name"] for host in evidence.trial.document["hosts"]]
    return Finding(True, "No host, worker or disk failed.", {"hosts": hosts})


def same_boot(evidence: Evidence, _bounds: Bounds) -> Finding:
    """The machines were the same, and not restarted, through the trial and over its block."""
    boots = evidence.observation("boot_ids")
    before, after = dict(boots["before"]), dict(boots["after"])
    if not before:
        raise Missing("The boot ids were not read.")
    restarted = sorted(host for host, boot_id in before.items() if after.get(host) != boot_id)
    if restarted:
        return Finding(
            False, f"Restarted or not reachable at the end: {', '.join(restarted)}.", {"before": before, "after": after}
        )
    own = _machines(evidence.trial.document)
    others = [other.name for other in evidence.block if _machines(other.document) != own]
    if others:
        sentence = (
            f"Block {evidence.trial.block} did not keep its machines: other hosts or boots in {', '.join(others)}."
        )
        return Finding(False, sentence, {"differs_from": others})
    compared = [other.name for other in evidence.block]
    sentence = f"{len(before)} hosts kept their boot id, the same ones in all of block {evidence.trial.block}."
    return Finding(True, sentence, {"boot_ids": before, "trials": compared})


def rows_complete(evidence: Evidence, _bounds: Bounds) -> Finding:
    """What was read back is what was written, and what was written is the whole schedule."""
    written = {kind: int(count) for kind, count in evidence.trial.document["rows"].items()}
    read = {kind: int(evidence.counts.rows.get(kind, 0)) for kind in written}
    shown = {"written": written, "read": read}
    short = [f"{kind} {read[kind]:,} of {written[kind]:,}" for kind in written if read[kind] != written[kind]]
    if short:
        return Finding(False, f"Rows read back differ from rows written: {', '.join(short)}.", shown)
    holed = sorted(name for name, (rows, highest) in evidence.counts.per_producer.items() if rows != highest + 1)
    if holed:
        return Finding(False, f"Sequence numbers have holes at producer {', '.join(map(str, holed))}.", shown)
    if not evidence.trial.completed:
        return Finding(True, f"All {sum(read.values()):,} rows written before the abort were read back.", shown)
    if evidence.trial.workload["pacing"] == "closed-loop":
        return Finding(True, f"All {sum(read.values()):,} rows were read back; a closed loop has no schedule.", shown)
    scheduled, slack = _schedule(evidence)
    if abs(read["produced"] - scheduled) > slack:
        return Finding(False, f"{read['produced']:,} messages were recorded, the schedule has {scheduled:,.0f}.", shown)
    return Finding(
        True, f"All {sum(read.values()):,} rows were read back; produced rows are the whole schedule's.", shown
    )


def independent_count(evidence: Evidence, _bounds: Bounds) -> Finding:
    """The broker's own count of stored messages agrees with what clients saw."""
    stored = evidence.observation("messages_stored")
    gone = evidence.daemons_gone()
    if stored is None:
        if rule := evidence.ended_by_the_system():
            return Finding(True, f"The system ended the trial ({rule}), so it was not asked for its own count.")
        if gone:
            sentence = f"The broker's own count could not be read, for it had lost {', '.join(gone)}: there is no second witness."
            return Finding(True, sentence, {"gone": gone})
        why = evidence.why_not_counted("messages_stored")
        raise Missing(f"The broker's own count of stored messages could not be read{why}")
    counts = evidence.counts
    # a message that one subscription got was stored; only what none got may be missing at the broker
    lost = min((delivery.lost for delivery in evidence.deliveries), default=0)
    before = _stored_before(evidence)
    low = before + counts.acknowledged - lost
    high = before + counts.acknowledged + evidence.stored_besides
    sentence = f"The broker stored {stored:,} messages; the clients' records allow {low:,} to {high:,}."
    figures = {"messages_stored": stored, "lowest": low, "highest": high}
    if stored < low and gone:
        sentence += f" The rest is no contradiction: a counter may have ended with {', '.join(gone)}."
        return Finding(True, sentence, {**figures, "gone": gone})
    return Finding(low <= stored <= high, sentence, figures)


def _offered_per_s(evidence: Evidence) -> float:
    """The rate that the recorded load offered: the workload's, or that of a search's last run."""
    if evidence.trial.workload["pacing"] == "search":
        return float(evidence.observation("search")["attempts"][-1]["rate_per_s"])
    return float(evidence.trial.workload["rate_per_s"])


def _stored_before(evidence: Evidence) -> int:
    """What the topics held already when the recorded load began: the steps of a search."""
    if evidence.trial.workload["pacing"] != "search":
        return 0
    before = evidence.observation("messages_stored_before")
    if before is None:
        raise Missing("The broker's own count could not be read before the search's last run.")
    return int(before)


def _schedule(evidence: Evidence) -> tuple[float, float]:
    """Messages of the whole schedule, and by how much the recorded number may differ from it."""
    workload, phases = evidence.trial.workload, evidence.trial.document["phases"]
    seconds = (max(phase["end_ns"] for phase in phases) - min(phase["start_ns"] for phase in phases)) / NANOSECONDS
    messages = _offered_per_s(evidence) * seconds
    if workload["arrivals"] == "constant":
        return messages, float(workload["producers"])  # the rate need not divide evenly
    return messages, 6 * math.sqrt(messages)  # random arrivals: six standard deviations


def _machines(document: Mapping[str, Any]) -> set[tuple[str, str, str]]:
    return {(host["name"], host["instance_id"], host["boot_id"]) for host in document["hosts"]}
