"""The first screen in words: what the campaign asked, what came out, how certain that is. It claims nothing the blocks can't carry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.campaign import Campaign
from analysis.certainty.correction import reach_of
from analysis.certainty.interval import FEWEST_BLOCKS, TOO_FEW_BLOCKS
from analysis.certainty.noise_band import why_no_band
from analysis.certainty.verdict import SHOWN
from analysis.comparison import Comparison, ContestantOutcome, Exclusion
from analysis.formatting import interval, ratio, words

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
    aa_outcomes: Sequence[ContestantOutcome] = (),
) -> Answer:
    """Puts the outcomes first, then the headline ratios. `aa_outcomes`: of A/A blocks, told only where something wasn't met."""
    findings = [_outcome_sentence(outcome) for outcome in outcomes]
    findings += [_ratio_sentence(c) for metric in _SPOKEN for c in comparisons if c.metric == metric]
    warnings = _size_warnings(campaign.manifest)
    warnings += [_excluded_sentence(excluded)] if excluded else []
    warnings += [f"In A/A blocks, {_outcome_sentence(o)}" for o in aa_outcomes if o.not_met or o.unknown]
    warnings += _design_warnings(campaign)
    return Answer(tuple(findings), _certainty(comparisons), tuple(warnings))


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
    """A ratio with its interval, or that no difference is shown, or, without an interval, the values."""
    workload, level = found.cell
    where, metric = f"Workload {workload}, durability level {level}", words(found.metric)
    limits, shown = (
        found.certainty.interval,
        f"{found.first}'s {metric} was {ratio(found.median)} that of {found.second}",
    )
    if limits is None:
        values = ", ".join(ratio(entry.ratio) for entry in found.ratios)
        return (
            f"{where}: {shown} ({f'median of {found.blocks} blocks: {values}' if found.blocks > 1 else 'one block'})."
        )
    certain = f"median of {found.blocks} blocks; {interval(limits.low, limits.high, limits.attained)}"
    if found.certainty.verdict == SHOWN:
        return f"{where}: {shown} ({certain})."
    return (
        f"{where}: no difference shown in {metric}. {found.first}'s was {ratio(found.median)} that of {found.second} "
        f"({certain}); {found.certainty.why}."
    )


def _certainty(comparisons: Sequence[Comparison]) -> str:
    if not comparisons:
        return "Nothing can be compared: no block has sound trials of two systems."
    most = max(comparisons, key=lambda found: found.blocks)
    counted = f"{most.blocks} block{'s' if most.blocks > 1 else ''}"
    if most.blocks < FEWEST_BLOCKS:
        said = f"{counted}: {TOO_FEW_BLOCKS}. What is shown are the blocks' values and their range."
    else:
        called = sum(found.certainty.verdict == SHOWN for found in comparisons)
        said = f"{counted}, a difference shown in {called} of {len(comparisons)} comparisons. "
        said += reach_of([found.blocks for found in comparisons]).sentence
    return f"{said} {_noise_sentence(most)}"


def _noise_sentence(found: Comparison) -> str:
    """About the A/A blocks, those of the pair with most blocks standing for all."""
    band, blocks = found.certainty.band, len(found.aa_ratios)
    if band is None:
        said = why_no_band(blocks, found.blocks)
        return f"{said[:1].upper()}{said[1:]}."
    return f"{blocks} A/A blocks, in which a system ran against itself, give the noise band that a difference must lie outside of."


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
