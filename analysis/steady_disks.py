"""Were the disks the same through the campaign? What its probes say of a trial, and of all of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.evidence import Evidence, Finding
from analysis.formatting import moment

CHANGED = "warn"  # what vetting calls a disk that is worse than at the first probe


def steady_disks(evidence: Evidence, _bounds: Mapping[str, Any]) -> Finding:
    """No disk had become worse at the probe before the trial or at the one after it, where there were any."""
    compared = [probe for probe in evidence.probes if probe["compared_with"] is not None]
    if not compared:
        sentence = "The disks were not probed again beside this trial."
        return Finding(True, sentence, {"probes": len(evidence.probes)})
    changed = {str(probe["name"]): found for probe in compared if (found := changes(probe))}
    if not changed:
        sentence = (
            f"No disk or client was worse than at the first probe, by {len(compared)} of the probes beside the trial."
        )
        return Finding(True, sentence, {"probes": len(compared)})
    worst = next(iter(changed.values()))
    return Finding(False, f"Probed again beside the trial, {worst[0]}", {"changed": changed})


def changes(probe: Mapping[str, Any]) -> list[str]:
    """What a probe warns about: hosts and device, and its sentence. Hosts that share a disk share one."""
    hosts: dict[tuple[str, str], list[str]] = {}
    for verdict in probe["verdicts"]:
        if verdict["verdict"] == CHANGED:
            hosts.setdefault((str(verdict["device"]), str(verdict["sentence"])), []).append(str(verdict["host"]))
    return [f"{', '.join(names)} {device}: {sentence}" for (device, sentence), names in hosts.items()]


def probe_rows(probes: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One entry per probe: when, what it covers, and what had changed; for the report."""
    return [
        {
            "name": probe["name"],
            "taken": moment(probe["taken_ns"]),
            "before": next(iter(probe["before"]), None),
            "compared_with": probe["compared_with"],
            "probed": len(probe["series"]),
            "changes": changes(probe),
        }
        for probe in probes
    ]
