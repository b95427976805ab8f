"""The first screen in words: what the campaign asked, what came out, how certain that is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from analysis.bounded import range_of
from analysis.campaign import Campaign
from analysis.certainty.interval import FEWEST_BLOCKS, TOO_FEW_BLOCKS, why_no_band
from analysis.certainty.needed import FEWEST_SEEN, MOST_BLOCKS, POWER, blocks_needed
from analysis.certainty.reach import dependence_of, reach_of
from analysis.certainty.verdict import SHOWN
from analysis.checks import Check
from analysis.client_cpu import ClientCpu, client_cpu_warnings
from analysis.comparison import BlockRatio, Cell, Comparison, ContestantOutcome, Exclusion, compared_trials
from analysis.contestants import ContestantDifference
from analysis.curves.document import Ladder
from analysis.evidence import Evidence
from analysis.faults.document import FaultOfCell
from analysis.faults.findings import fault_findings, fault_warnings
from analysis.formatting import (
    bounded,
    bounded_number,
    bounded_quantity,
    interval,
    listed,
    number,
    ratios,
    size,
    words,
)
from analysis.percentiles import Percentile
from analysis.ranking import Ranking, headlines, several
from analysis.records.latencies import RESPONSE
from analysis.weaknesses import (
    design_warnings,
    excluded_sentence,
    search_warnings,
    silence_warnings,
    size_warnings,
    unjudged_warnings,
    warned_sentences,
)
from analysis.words import RATE

_SPOKEN = ("response_latency_p99", "response_latency_p50", RATE, "drain_rate")
_NEEDED = ("response_latency_p99", "response_latency_p50")
_FEWEST_GROUPED = 3  # contestants
_CELLS_SPOKEN = 3  # of more, each one's ratio would fill the first screen


@dataclass(frozen=True)
class Answer:
    """`findings`: one sentence each; `certainty`: what they may be taken for; `warnings`: what else weakens them."""

    findings: tuple[str, ...]
    certainty: str
    warnings: tuple[str, ...]


def answer(
    campaign: Campaign,
    trials: Sequence[Evidence],
    comparisons: Sequence[Comparison],
    outcomes: Sequence[ContestantOutcome],
    excluded: Sequence[Exclusion],
    aa_outcomes: Sequence[ContestantOutcome] = (),
    checks: Sequence[Check] = (),
    client_cpu: Sequence[ClientCpu] = (),
    rankings: Sequence[Ranking] = (),
    differences: Sequence[ContestantDifference] = (),
    ladders: Sequence[Ladder] = (),
    faults: Sequence[FaultOfCell] = (),
) -> Answer:
    """Puts first in what contestants of one system differ, then what faults did, the outcomes, the curves of ladders, and the headline
    ratios, or rankings where there are more than two contestants. `aa_outcomes`: of A/A blocks, told only where something wasn't met.
    `checks`: what they only warned of is told, and so is what of `client_cpu` the brokers had to do without.
    """
    findings = [each.sentence for each in differences]
    findings += fault_findings(faults, trials)
    findings += _outcome_sentences(outcomes)
    unsound = {exclusion.trial for exclusion in excluded}
    sound = compared_trials(trials, excluded)
    findings += [each.sentence for each in ladders]
    rungs = {each.trial.cell for each in sound if each.trial.ladder}
    # of three contestants or more, a sentence of each pair would fill the first screen
    of_several = several(rankings)
    ranked = {cell: own for cell, own in headlines(rankings).items() if cell in of_several}
    findings += _search_sentences([each for each in sound if each.trial.cell not in ranked])
    findings += [f"{_where(cell)}: {own.sentence}" for cell, own in ranked.items() if cell not in rungs]
    found = [each for each in comparisons if each.metric != RATE or each.cell not in _offered(sound)]
    found = [each for each in found if each.cell not in ranked]
    untold = [each for each in sound if each.trial.cell not in rungs]
    findings += _ratio_sentences(found) if comparisons else _value_sentences(untold)
    if differences:
        findings += _needed_sentences(found, len(comparisons))
    warnings = size_warnings(campaign.manifest)
    warnings += silence_warnings(sound)
    warnings += search_warnings(sound)
    warnings += fault_warnings(faults)
    counted = {each.trial.name for each in trials} - unsound
    warnings += warned_sentences(checks, counted)
    warnings += unjudged_warnings(checks, counted)
    warnings += client_cpu_warnings(client_cpu)
    warnings += [excluded_sentence(excluded)] if excluded else []
    warnings += [f"In A/A blocks, {_outcome_sentence(o)}" for o in aa_outcomes if o.not_met or o.unknown]
    warnings += design_warnings(campaign)
    return Answer(tuple(findings), _certainty(comparisons), tuple(warnings))


def _offered(trials: Sequence[Evidence]) -> set[Cell]:
    """The cells whose rate was given: whether it was reached is an outcome."""
    return {each.trial.cell for each in trials if each.trial.has_offered_rate}


def _outcome_sentences(outcomes: Sequence[ContestantOutcome]) -> list[str]:
    """One each; of three contestants or more, one of all that did what was asked in as many trials."""
    if len(outcomes) < _FEWEST_GROUPED:
        return [_outcome_sentence(outcome) for outcome in outcomes]
    by_trials: dict[int, list[str]] = {}
    for each in outcomes:
        if each.all_met == each.trials:
            by_trials.setdefault(each.trials, []).append(each.contestant)
    told = [
        f"{listed(names)} did all that was asked in {trials} of {trials} trials" for trials, names in by_trials.items()
    ]
    each_of = [
        f"{said} each." if len(names) > 1 else f"{said}." for said, names in zip(told, by_trials.values(), strict=True)
    ]
    return each_of + [_outcome_sentence(each) for each in outcomes if each.all_met != each.trials]


def _outcome_sentence(outcome: ContestantOutcome) -> str:
    sentence = f"{outcome.contestant} did all that was asked in {outcome.all_met} of {outcome.trials} trials."
    if outcome.not_met:
        sentence += f" Not met: {_counted(outcome.not_met)}."
    if outcome.unknown:
        sentence += f" Unknown: {_counted(outcome.unknown)}."
    return sentence


def _counted(trials_by_check: Mapping[str, int]) -> str:
    return ", ".join(f"{check} ({count} trial{'s' if count > 1 else ''})" for check, count in trials_by_check.items())


def _search_sentences(trials: Sequence[Evidence]) -> list[str]:
    """Per cell, the highest rates that searches confirmed, and whose searches confirmed none."""
    found: dict[Cell, dict[str, list[int | None]]] = {}
    sizes = {}
    for each in trials:
        search = each.trial.document["observations"].get("search")
        if search:
            found.setdefault(each.trial.cell, {}).setdefault(each.trial.contestant, []).append(search["rate_per_s"])
            sizes[each.trial.cell] = int(each.trial.workload["message_bytes"])
    if len(found) > _CELLS_SPOKEN:
        return [f"The highest sustained rates of {len(found)} cells (workload and durability level) are listed below."]
    return [f"{_where(cell)}: {_of_searches(own, sizes[cell])}." for cell, own in found.items()]


def _of_searches(found: Mapping[str, Sequence[int | None]], message_bytes: int) -> str:
    confirmed = {contestant: [rate for rate in own if rate is not None] for contestant, own in found.items()}
    told = [f"{_rates(rates, message_bytes)} of {contestant}" for contestant, rates in confirmed.items() if rates]
    none = [f"{missing} of {contestant}" for contestant, own in found.items() if (missing := own.count(None))]
    said = [f"the highest sustained rate was {', '.join(told)}"] if told else []
    return "; ".join([*said, *([f"searches that could confirm no rate: {', '.join(none)}"] if none else [])])


def _rates(rates: Sequence[int], message_bytes: int) -> str:
    low, high = min(rates), max(rates)
    if low == high:
        return f"{low:,} msg/s ({size(low * message_bytes)}/s)"
    return f"{low:,} to {high:,} msg/s (up to {size(high * message_bytes)}/s, {len(rates)} searches)"


def _value_sentences(trials: Sequence[Evidence]) -> list[str]:
    """What was measured, where there is nothing to compare it with: per contestant and cell, up to so many cells."""
    found = []
    cells = list(dict.fromkeys((each.trial.cell, each.trial.contestant) for each in trials))
    for cell, contestant in cells[:_CELLS_SPOKEN]:
        own = [each for each in trials if (each.trial.cell, each.trial.contestant) == (cell, contestant)]
        said = [
            f"{name} {' and '.join(values)}"
            for name, quantile in (("p50", 500_000), ("p99", 990_000))
            if (values := [text for each in own if (text := _told(each.percentile(RESPONSE, quantile)))])
        ]
        if said:
            found.append(f"{_where(cell)}: {contestant}'s response latency was {', '.join(said)}.")
    return found


def _told(found: Percentile | None) -> str | None:
    """A percentile in milliseconds; None if it isn't shown."""
    if found is None:
        return None
    if found.value_ns is not None:
        return f"{number(found.value_ns / 1e6)} ms"
    return None if found.more_than_ns is None else f"more than {number(found.more_than_ns / 1e6)} ms"


def _where(cell: Cell) -> str:
    return f"Workload {cell[0]}, durability level {cell[1]}"


def _ratio_sentences(comparisons: Sequence[Comparison]) -> list[str]:
    """Cell by cell; where there are many cells, one sentence for all cells of a metric and two contestants."""
    spoken = [found for metric in _SPOKEN for found in comparisons if found.metric == metric]
    if len({found.cell for found in spoken}) <= _CELLS_SPOKEN:
        return [_ratio_sentence(found) for found in spoken]
    groups: dict[tuple[str, str, str], list[Comparison]] = {}
    for found in sorted(spoken, key=lambda found: (_SPOKEN.index(found.metric), found.first, found.second)):
        groups.setdefault((found.metric, found.first, found.second), []).append(found)
    return [_ratio_sentence(*own) if len(own) == 1 else _sentence_of_cells(own) for own in groups.values()]


def _sentence_of_cells(found: Sequence[Comparison]) -> str:
    one, medians = found[0], [each.median for each in found]
    larger, smaller = sum(each.low > 1 for each in medians), sum(each.high < 1 for each in medians)
    shown, most = sum(each.certainty.verdict == SHOWN for each in found), range_of(medians)
    return (
        f"{one.first}'s {words(one.metric)} was {ratios(most.low, most.high)} that of {one.second} over "
        f"{len(found)} cells (workload and durability level): "
        f"larger in {larger}, smaller in {smaller}; a difference is shown in {shown or 'none'}."
    )


def _ratio_sentence(found: Comparison) -> str:
    """A ratio with its interval, or that no difference is shown, or, without an interval, the values."""
    where, metric, limits = _where(found.cell), words(found.metric), found.certainty.interval
    was = f"was {bounded(found.median.to_json())} that of {found.second}"
    if limits is None:
        return f"{where}: {found.first}'s {metric} {was} ({_block_by_block(found)})."
    counted = f"median of {found.blocks} blocks"
    if found.typical is not None:
        counted += f", as in block {found.typical.block}: {_pair(found.typical, found.unit)}"
    certain = f"{counted}; {interval(limits.low, limits.high, limits.attained)}"
    if found.certainty.verdict == SHOWN:
        return f"{where}: {found.first}'s {metric} {was} ({certain})."
    return f"{where}: no difference shown in {metric}. {found.first}'s {was} ({certain}); {found.certainty.why}."


def _needed_sentences(comparisons: Sequence[Comparison], metrics: int) -> Iterator[str]:
    """How many blocks would do, for the latencies that weren't told apart."""
    for found in comparisons:
        if found.metric in _NEEDED and found.certainty.verdict != SHOWN:
            exact = [entry.ratio.low for entry in found.ratios if entry.ratio.is_exact]
            if len(exact) < len(found.ratios) or len(exact) < FEWEST_SEEN:
                continue
            needed = blocks_needed(exact, metrics)
            many = f"about {needed} blocks would show" if needed else f"not even {MOST_BLOCKS} blocks would show"
            yield (
                f"{_where(found.cell)}: by the scatter of these {found.blocks} blocks, {many} a difference in {words(found.metric)} "
                f"like {bounded(found.median.to_json())} in {POWER:.0%} of campaigns."
            )


def _block_by_block(found: Comparison) -> str:
    """The values of each of a few blocks: medians of either system's own needn't have the ratio that is told."""
    if found.blocks == 1:
        return f"one block: {_pair(found.ratios[0], found.unit)}"
    each = (f"{bounded(entry.ratio.to_json())}, {_pair(entry, found.unit)}" for entry in found.ratios)
    return f"median of {found.blocks} blocks: {'; '.join(each)}"


def _pair(entry: BlockRatio, unit: str) -> str:
    """Both values of a block."""
    return f"{bounded_number(entry.first.to_json())} against {bounded_quantity(entry.second.to_json(), unit)}"


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
        said += f"{reach_of([found.blocks for found in comparisons]).sentence} "
        said += dependence_of([found.certainty for found in comparisons], most.blocks).sentence
    return f"{said} {_noise_sentence(most)}"


def _noise_sentence(found: Comparison) -> str:
    """About the A/A blocks, those of the pair with most blocks standing for all."""
    band, blocks = found.certainty.band, len(found.aa_ratios)
    if band is None:
        said = why_no_band(blocks, found.blocks)
        return f"{said[:1].upper()}{said[1:]}."
    return f"{blocks} A/A blocks, in which a system ran against itself, give the noise band that a difference must lie outside of."
