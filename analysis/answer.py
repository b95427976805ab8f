"""The first screen in words: what the campaign asked, what came out, how certain that is. It claims nothing the blocks can't carry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.campaign import Campaign
from analysis.comparison import BLOCKS_FOR_AN_INTERVAL, Comparison, ContestantOutcome, Exclusion
from analysis.formatting import ratio, words

_SPOKEN = ("response_latency_p99", "response_latency_p50", "throughput_achieved", "drain_rate")


@dataclass(frozen=True)
class Answer:
    """`findings`: one sentence each; `certainty`: what they may be taken for; `warnings`: what else weakens them."""

    findings: tuple[str, ...]
    certainty: str
    warnings: tuple[str, ...]


def answer(
    campaign: Campaign,
    comparisons: Sequence[Comparison],
    outcomes: Sequence[ContestantOutcome],
    excluded: Sequence[Exclusion],
) -> Answer:
    """Puts the outcomes first, then the headline ratios."""
    findings = [_outcome_sentence(outcome) for outcome in outcomes]
    findings += [_ratio_sentence(c) for metric in _SPOKEN for c in comparisons if c.metric == metric]
    warnings = _size_warnings(campaign.manifest)
    warnings += [_excluded_sentence(excluded)] if excluded else []
    warnings += _design_warnings(campaign)
    return Answer(tuple(findings), _certainty(campaign, comparisons), tuple(warnings))


def _outcome_sentence(outcome: ContestantOutcome) -> str:
    sentence = f"{outcome.contestant} did all that was asked in {outcome.all_met} of {outcome.trials} trials."
    if outcome.not_met:
        sentence += f" Not met: {_counted(outcome.not_met)}."
    if outcome.unknown:
        sentence += f" Unknown: {_counted(outcome.unknown)}."
    return sentence


def _counted(trials_by_check: Mapping[str, int]) -> str:
    return ", ".join(f"{check} ({count} trial{'s' if count > 1 else ''})" for check, count in trials_by_check.items())


def _ratio_sentence(found: Comparison) -> str:
    workload, level = found.cell
    values = ", ".join(ratio(entry.ratio) for entry in found.ratios)
    shown = f"median of {found.blocks} blocks: {values}" if found.blocks > 1 else "one block"
    return (
        f"Workload {workload}, durability level {level}: {found.first}'s {words(found.metric)} was "
        f"{ratio(found.median)} that of {found.second} ({shown})."
    )


def _certainty(campaign: Campaign, comparisons: Sequence[Comparison]) -> str:
    if not comparisons:
        return "Nothing can be compared: no block has sound trials of two systems."
    blocks = max(found.blocks for found in comparisons)
    counted = f"{blocks} block{'s' if blocks > 1 else ''}"
    if blocks < BLOCKS_FOR_AN_INTERVAL:
        sentence = f"{counted}: {comparisons[0].certainty}. What is shown are the blocks' values and their range."
    else:
        sentence = f"{counted}: {comparisons[0].certainty}."
    if not _has_same_system_twice(campaign):
        sentence += " No block ran one system twice, so nothing here says how far two equal systems would differ."
    return sentence


def _has_same_system_twice(campaign: Campaign) -> bool:
    cells = [(trial.block, trial.cell, trial.contestant) for trial in campaign.trials]
    return len(cells) != len(set(cells))


def _size_warnings(manifest: Mapping[str, Any]) -> list[str]:
    """How much of the campaign that the file describes was run."""
    found = []
    scale = manifest.get("scale")
    if scale:
        found.append(
            f"Scaled down ({scale['name']}), so no figure here is one of the full load: {'; '.join(scale['rules'])}."
        )
    if manifest.get("representative"):
        found.append("Only what represents each experiment was run: one workload at one promise.")
    return found


def _excluded_sentence(excluded: Sequence[Exclusion]) -> str:
    names = ", ".join(exclusion.trial for exclusion in excluded)
    return f"Not compared, because the measurement wasn't shown to be sound: {names}."


def _design_warnings(campaign: Campaign) -> list[str]:
    manifest: Mapping[str, Any] = campaign.manifest
    found = []
    if manifest["order_kind"] == "fixed":
        found.append(
            "The systems ran in a fixed order, so a drift of the machines over time would look like a difference of systems."
        )
    brokers = {
        host["name"] for trial in campaign.trials for host in trial.document["hosts"] if host["role"] == "broker"
    }
    models = {str(facts.get("cpu_model")) for name, facts in manifest["facts"].items() if name in brokers}
    if len(models) > 1:
        found.append(f"The broker hosts have different CPUs: {', '.join(sorted(models))}.")
    if campaign.not_recorded:
        found.append(f"Planned but not recorded: {', '.join(campaign.not_recorded)}.")
    if (manifest.get("git") or {}).get("dirty"):
        found.append("The kit itself had uncommitted changes.")
    return found
