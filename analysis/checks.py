"""Turns declared checks into verdicts: one rule per check, from an explicit registry. A rule that crashes is unknown, never valid.

The rules are in validity_rules.py, disturbance_rules.py, outcome_rules.py, steady_disks.py, steady_state.py
and faults/took_effect.py; their bounds are the
manifest's, declared before the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from analysis import disturbance_rules, outcome_rules, validity_rules
from analysis.evidence import HOSTS, Evidence, Finding, Missing
from analysis.faults.took_effect import FAULTS_TOOK_EFFECT, faults_took_effect
from analysis.steady_disks import steady_disks
from analysis.steady_state import STEADY_STATE, steady_state
from analysis.words import INVALID, MET, NOT_MET, OUTCOME, UNKNOWN, VALID, VALIDITY, WARN, WORST_FIRST

Rule = Callable[[Evidence, Mapping[str, Any]], Finding]

RULES: Mapping[str, Rule] = {
    "send-delay": disturbance_rules.send_delay,
    "settings": validity_rules.settings,
    "cold-caches": validity_rules.cold_caches,
    "steal": validity_rules.steal,
    "network-allowance": validity_rules.network_allowance,
    "clock": validity_rules.clock,
    "client-cpu": disturbance_rules.client_cpu,
    "foreign-load": disturbance_rules.foreign_load,
    "cpu-pressure": disturbance_rules.cpu_pressure,
    "possible-times": disturbance_rules.possible_times,
    "hosts-kept": validity_rules.hosts_kept,
    FAULTS_TOOK_EFFECT: faults_took_effect,
    "same-boot": validity_rules.same_boot,
    "steady-disks": steady_disks,
    STEADY_STATE: steady_state,
    "rows-complete": validity_rules.rows_complete,
    "independent-count": validity_rules.independent_count,
    "offered-rate": outcome_rules.offered_rate,
    "backlog-read": outcome_rules.backlog_read,
    "no-loss": outcome_rules.no_loss,
    "no-duplicates": outcome_rules.no_duplicates,
    "order": outcome_rules.order,
    "brokers-kept": outcome_rules.brokers_kept,
    "replicas": outcome_rules.replicas,
    "kept-answering": outcome_rules.kept_answering,
}


@dataclass(frozen=True)
class Check:
    """One verdict on one trial, as report/checks.json holds it."""

    trial: str
    check: str
    axis: str
    verdict: str
    sentence: str
    evidence: Mapping[str, Any] = field(default_factory=dict)


def judge(
    trials: Iterable[Evidence], declared: Sequence[Mapping[str, Any]], rules: Mapping[str, Rule] = RULES
) -> list[Check]:
    """Every declared check on every trial, in the order declared."""
    return [_judge_one(evidence, declaration, rules) for evidence in trials for declaration in declared]


def validity_of(checks: Iterable[Check], trial: str) -> str:
    """A trial's validity: the worst of its verdicts. Without any check nothing is known."""
    verdicts = {check.verdict for check in checks if check.trial == trial and check.axis == VALIDITY}
    return next((verdict for verdict in WORST_FIRST if verdict in verdicts), UNKNOWN)


def _judge_one(evidence: Evidence, declaration: Mapping[str, Any], rules: Mapping[str, Rule]) -> Check:
    name, axis, trial = str(declaration["check"]), str(declaration["axis"]), evidence.trial.name
    rule = rules.get(name)
    if rule is None:
        return Check(trial, name, axis, UNKNOWN, "This version of samebox has no rule of this name.")
    try:
        finding = rule(evidence, {**(declaration.get("bounds") or {}), HOSTS: declaration.get("hosts") or {}})
    except Missing as missing:
        return Check(trial, name, axis, UNKNOWN, f"{missing}")
    except KeyError as key:
        return Check(trial, name, axis, UNKNOWN, f"What the rule needs is not recorded: {key}.")
    except Exception as error:  # whatever a rule trips over, its trial isn't shown to be sound
        return Check(trial, name, axis, UNKNOWN, f"The rule failed: {type(error).__name__}: {error}.")
    verdict = _verdict(finding.passed, axis, str(declaration.get("on_failure", "")))
    why_warn = str(declaration.get("why_warn", "")) if verdict == WARN else ""
    return Check(trial, name, axis, verdict, f"{finding.sentence} {why_warn}".rstrip(), finding.evidence)


def _verdict(passed: bool, axis: str, on_failure: str) -> str:
    if axis == OUTCOME:
        return MET if passed else NOT_MET
    if passed:
        return VALID
    return WARN if on_failure == WARN else INVALID
