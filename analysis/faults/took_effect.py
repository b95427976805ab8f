"""Was broken what the workload asked to be broken? A rule of validity, of trials whose workload has faults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analysis.campaign import NANOSECONDS
from analysis.evidence import Evidence, Finding
from analysis.faults.occurrence import Occurrence

FAULTS_TOOK_EFFECT = "faults-took-effect"


def faults_took_effect(evidence: Evidence, _bounds: Mapping[str, Any]) -> Finding:
    """What the workload asked to be broken was broken: else what was measured is fair weather under another name."""
    asked = evidence.trial.workload.get("faults") or ()
    if not asked:
        return Finding(True, "The workload has no faults.")
    seen = {each.number: each for each in evidence.faults}
    missing = [
        f"{number + 1} ({fault['do']} {fault['target']})" for number, fault in enumerate(asked) if number not in seen
    ]
    if missing:
        return evidence.unobserved(f"Nothing was recorded of fault {', '.join(missing)}.", before="its faults were due")
    never = [each for each in seen.values() if each.window_ns is None]
    if never:
        sentence = " ".join(f"{_never(each)}." for each in never)
        return Finding(False, sentence, {"problems": {each.number: each.problem for each in never}})
    late_s = [(each.began_ns - each.planned_ns) / NANOSECONDS for each in seen.values() if each.began_ns is not None]
    sentence = f"All {len(asked)} faults took effect, at most {max(map(abs, late_s)):.3f} s beside their time."
    left = [f"{each.words}: {each.problem}" for each in seen.values() if each.problem]
    sentence += f" Not as planned: {'; '.join(left)}." if left else ""
    return Finding(True, sentence, {"beside_s": late_s, "problems": left})


def _never(fault: Occurrence) -> str:
    """Why it is none of the measurement."""
    when = "never took effect" if fault.began_ns is None else "took effect only after the measurement"
    said = f"{fault.words} {when}" + (f": {fault.problem.rstrip('.')}" if fault.problem else "")
    return f"{said[:1].upper()}{said[1:]}"
