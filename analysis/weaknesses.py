"""What a reader must know besides the findings: how much was run, what was never answered, excluded, or left open by the design."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from analysis.campaign import Campaign
from analysis.checks import Check
from analysis.comparison import Exclusion
from analysis.evidence import Evidence
from analysis.formatting import listed
from analysis.steady_state import STEADY_STATE, TOO_SHORT
from analysis.words import VALIDITY, WARN

# what ends a search, though the system may sustain more
ENDED_BY = {
    "client-window": "the client's window",
    "rate_per_s": "the workload's bound",
    "steps": "the number of steps",
}
_NAMED = 6  # trials, in one sentence


def size_warnings(manifest: Mapping[str, Any]) -> list[str]:
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


def silence_warnings(trials: Sequence[Evidence]) -> list[str]:
    """What was never acknowledged is in every percentile as later than everything: how much that was, the reader must know."""
    found = []
    for contestant in dict.fromkeys(each.trial.contestant for each in trials):
        counts = [each.counts for each in trials if each.trial.contestant == contestant]
        scheduled = sum(each.scheduled_in_measure for each in counts)
        silent = scheduled - sum(each.acknowledged_in_measure for each in counts)
        if silent:
            found.append(
                f"{silent:,} of {scheduled:,} messages that were to be measured ({silent / scheduled:.2%}) were never acknowledged by "
                f"{contestant}. They count as later than all others: of a percentile that falls among them only a lower bound is known."
            )
    return found


def search_warnings(trials: Sequence[Evidence]) -> list[str]:
    """Whose searches didn't end at what the system sustains, and what ended them."""
    ended: dict[str, Counter[str]] = {}
    for each in trials:
        search = each.trial.document["observations"].get("search") or {}
        if (limit := ENDED_BY.get(str(search.get("bounded_by")))) is not None:
            ended.setdefault(limit, Counter())[each.trial.contestant] += 1
    if not ended:
        return []
    told = [
        f"{limit} ({listed([f'{count} of {name}' for name, count in own.items()])})" for limit, own in ended.items()
    ]
    return [
        f"Rates that searches found are lower bounds where something else than the system ended them: {'; '.join(told)}."
    ]


def warned_sentences(checks: Iterable[Check], trials: Collection[str]) -> list[str]:
    """One per check that warned of any of these trials: of how many, and what it said of the first."""
    found: dict[str, list[Check]] = {}
    for check in checks:
        if check.axis == VALIDITY and check.verdict == WARN and check.trial in trials:
            found.setdefault(check.check, []).append(check)
    return [
        f"{name} warns of {len(warned)} of {len(trials)} trials, which count all the same; of {warned[0].trial}: {warned[0].sentence}"
        for name, warned in found.items()
    ]


def unjudged_warnings(checks: Iterable[Check], trials: Collection[str]) -> list[str]:
    """Of how many of these trials, with a load that could be steady, nothing says whether it was."""
    unjudged = {
        check.trial for check in checks if check.check == STEADY_STATE and check.evidence.get("why") == TOO_SHORT
    }
    count = len(unjudged.intersection(trials))
    sentence = f"Whether the measurement was steady can't be told of {count} of {len(trials)} trials: {TOO_SHORT}."
    return [sentence] if count else []


def excluded_sentence(excluded: Sequence[Exclusion]) -> str:
    """Which trials aren't compared, and why."""
    names = [f"{each.trial} ({', '.join(reason.partition(':')[0] for reason in each.reasons)})" for each in excluded]
    more = f" and {len(names) - _NAMED} more, listed below" if len(names) > _NAMED else ""
    return f"Not compared, because the measurement wasn't shown to be sound: {', '.join(names[:_NAMED])}{more}."


def design_warnings(campaign: Campaign) -> list[str]:
    """What its order, its hosts and its history leave open."""
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
    if repeated := [attempt.loaded for attempt in campaign.cut_off if attempt.repeated]:
        found.append(
            f"Attempts at trials that were cut off and repeated: {len(repeated)}, of them after their load had begun: {sum(repeated)}."
        )
    if (manifest.get("git") or {}).get("dirty"):
        found.append("The kit itself had uncommitted changes.")
    return found
