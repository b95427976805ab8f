"""The task export-omb: a results folder in, a folder with one result file of OpenMessaging Benchmark per trial out.

The files are of its newest generation (g3). No key is added to the format, whose own readers refuse unknown ones. How the
figures differ from its definitions is said in ABOUT.

Exit code 0: at least one trial was exported; 1: none was, and nothing was written.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from analysis.campaign import Campaign, Trial, read_campaign
from analysis.documents import write_json
from analysis.errors import AnalysisError
from analysis.omb.layout import END_TO_END as END_TO_END_KEYS
from analysis.omb.layout import PUBLISH as PUBLISH_KEYS
from analysis.omb.layout import PUBLISH_DELAY as SEND_DELAY_KEYS
from analysis.omb.layout import STATISTICS, Family, OwnLabel
from analysis.omb.windows import (
    ACKNOWLEDGED,
    EVENTS,
    FAILED,
    LATENCIES,
    RECEIVED,
    WHOLE_RUN,
    Span,
    countings,
)
from analysis.percentiles import CURVE_QUANTILES, MAXIMUM, MILLION, TABLE_QUANTILES
from analysis.records.files import records_of
from analysis.records.latencies import END_TO_END, PUBLISH, SEND_DELAY
from analysis.records.scan import Counted, scan
from analysis.schema import WARMUP
from analysis.session import Progress, run_task
from analysis.storage import SUCCESS, Storage

ABOUT = """\
Trials of samebox as result files of OpenMessaging Benchmark. They differ from its own files as follows:

- publishLatency is from the return of the send call to the acknowledgement; in its own files it is from the start of the call.
- publishDelayLatency (microseconds) is from the intended time to the return of the send call; there it is to the call's start.
  Both together are the response latency, from the intended time to the acknowledgement.
- endToEndLatency is from the intended time to the receipt; there it is from the time stamp that the message got when it was sent.
- A window's latencies are those of the messages whose intended time lies in it, so that the run's figures are those of its windows
  together. Rates count what happened in it. The last window may be shorter than ten seconds; its rates are over its own length.
- A message that was never acknowledged is in no latency, as there; samebox's own report ranks it behind all others.
- Percentiles are exact (nearest rank, whole microseconds). The warm-up is in no figure but the backlog.
- System, durability, block, target rate and subscriptions are in the driver's name, which `samebox import-omb` understands.
  Versions, settings and checks have no place in the format: they are in the trial's trial.json and report.
"""
ABOUT_FILE = "about.txt"
FAMILIES: Mapping[str, Family] = {
    PUBLISH: PUBLISH_KEYS,
    SEND_DELAY: SEND_DELAY_KEYS,
    END_TO_END: END_TO_END_KEYS,
}
_SCALARS = {
    "50pct": 500_000,
    "75pct": 750_000,
    "95pct": 950_000,
    "99pct": 990_000,
    "999pct": 999_000,
    "9999pct": 999_900,
}
QUANTILES = tuple(sorted({*TABLE_QUANTILES, *CURVE_QUANTILES, *_SCALARS.values()} - {MAXIMUM}))
_NOTHING = {"samples": 0, "mean_us": 0.0, "max_us": 0, **{f"q{quantile}": 0 for quantile in QUANTILES}}


@dataclass(frozen=True)
class Figures:
    """A trial's counts and latencies by window."""

    events: Mapping[tuple[str, int], int]
    latencies: Mapping[tuple[str, int], Mapping[str, Any]]


def run(arguments: Sequence[str], scratch: Path, session: Callable[[], SparkSession]) -> int:
    """Parses the arguments and exports."""
    parser = argparse.ArgumentParser(
        prog="job.py export-omb", description="Exports trials for OpenMessaging Benchmark."
    )
    parser.add_argument("results", help="results folder: a path, or any URI that Spark reads")
    parser.add_argument("--trial", action="append", default=[], help="only this trial; repeatable")
    parser.add_argument("--out", required=True, help="the folder to write")
    options = parser.parse_args(arguments)
    return run_task(
        session,
        lambda spark, progress: export_trials(
            spark, options.results, options.trial, out=options.out, scratch=scratch, progress=progress
        ),
    )


def export_trials(
    spark: SparkSession, results: str, names: Sequence[str], *, out: str, scratch: Path, progress: Progress
) -> list[str]:
    """Writes `out` and returns the trials in it; without `names`, all that have records. `scratch` is an empty local folder."""
    storage = Storage(spark)
    progress(f"reading {results}")
    campaign = _only(read_campaign(storage, results), names)
    records = records_of(storage, campaign)
    loaded = [trial for trial in campaign.trials if (trial.name, "produced") in records.folders]
    spans = {trial.name: span for trial in loaded if (span := span_of(trial)) is not None}
    progress("counting every record")
    counted = scan(spark, records, {name: tuple(countings(span, QUANTILES)) for name, span in spans.items()})
    folder = scratch / "export"
    folder.mkdir()
    for trial in campaign.trials:
        if trial.name in spans:
            document = result_document(trial, spans[trial.name], figures(counted, trial.name))
            write_json(folder / f"{trial.name}.json", document)
    written = [trial.name for trial in campaign.trials if trial.name in spans]
    without = [trial.name for trial in campaign.trials if trial.name not in spans]
    missing = f"no load was recorded of {', '.join(without)}" if without else ""
    if not written:
        raise AnalysisError(f"{results}: {missing or 'it has no trial'}, so there is nothing to export.")
    note = f"Not exported: {missing}.\n" if missing else ""
    (folder / ABOUT_FILE).write_text(f"{ABOUT}{note}", encoding="utf-8")
    replaceable = {f"{trial.name}.json" for trial in read_campaign(storage, results).trials} | {ABOUT_FILE, SUCCESS}
    storage.publish(folder, out, kind="export", replaces=replaceable)
    progress(f"exported: {out}")
    return written


def _only(campaign: Campaign, names: Sequence[str]) -> Campaign:
    """The campaign with the trials named. Raises AnalysisError for one that it doesn't have."""
    known: dict[str, Trial] = {trial.name: trial for trial in campaign.trials}
    for name in names:
        if name not in known:
            raise AnalysisError(
                f"{campaign.results}: no trial {name!r}.", next_step=f"Its trials are: {', '.join(known) or 'none'}."
            )
    return replace(campaign, trials=tuple(known[name] for name in names)) if names else campaign


def span_of(trial: Trial) -> Span | None:
    """All phases after the warm-up; None if the trial never got so far."""
    phases = [phase for phase in trial.document["phases"] if phase["name"] != WARMUP]
    if not phases:
        return None
    start_ns, end_ns = min(int(phase["start_ns"]) for phase in phases), max(int(phase["end_ns"]) for phase in phases)
    return Span(start_ns, end_ns) if end_ns > start_ns else None


def figures(counted: Counted, trial: str) -> Figures:
    """A trial's, of what the countings of analysis.omb.windows came to."""
    events, latencies = (
        counted[name, trial].to_pylist() if (name, trial) in counted else [] for name in (EVENTS, LATENCIES)
    )
    return Figures(
        events={(row["event"], row["window"]): row["messages"] for row in events},
        latencies={(row["metric"], row["window"]): row for row in latencies},
    )


def result_document(trial: Trial, span: Span, found: Figures) -> dict[str, Any]:
    """The result file. Windows without a sample have latencies of 0, as there."""
    workload = trial.workload
    topics = int(workload["topics"])
    reading = (
        workload if workload["consumers"] else workload["backlog"]
    )  # the backlog's readers, where it has the only ones
    document: dict[str, Any] = {
        "workload": str(workload["name"]),
        # charts tell runs apart by this alone
        "driver": str(label_of(trial)),
        "messageSize": int(workload["message_bytes"]),
        "topics": topics,
        "partitions": int(workload["partitions"]),
        "producersPerTopic": int(workload["producers"]) // topics,
        # of each subscription, whatever the key says: that is what it is filled with there
        "consumersPerTopic": int(reading["consumers"]) // (topics * int(reading["subscriptions"])) if reading else 0,
        "publishRate": _rates(found, span, ACKNOWLEDGED),
        "publishErrorRate": _rates(found, span, FAILED),
        "consumeRate": _rates(found, span, RECEIVED),
        "backlog": _backlogs(found, span, trial.subscriptions),
    }
    for metric, family in FAMILIES.items():
        document |= _latency(family, metric, span, found)
    return document


def label_of(trial: Trial) -> OwnLabel:
    """What the format has no place for, said in the driver's name."""
    return OwnLabel(
        system=trial.called,
        durability=str(trial.durability["name"]),
        block=trial.block,
        is_aa=trial.is_aa,
        rate_per_s=float(trial.workload["rate_per_s"]) if trial.has_offered_rate else None,
        subscriptions=trial.subscriptions,
    )


def _rates(found: Figures, span: Span, event: str) -> list[float]:
    return [found.events.get((event, window), 0) / span.seconds(window) for window in range(span.windows)]


def _backlogs(found: Figures, span: Span, subscriptions: int) -> list[int]:
    """What was acknowledged and not yet received at the end of each window, counted from the start of the load."""
    up_to: defaultdict[str, int] = defaultdict(int)
    for (event, window), messages in found.events.items():
        if window < 0:
            up_to[event] += messages
    backlogs = []
    for window in range(span.windows):
        for event in (ACKNOWLEDGED, RECEIVED):
            up_to[event] += found.events.get((event, window), 0)
        backlogs.append(max(0, subscriptions * up_to[ACKNOWLEDGED] - up_to[RECEIVED]))
    return backlogs


def _latency(family: Family, metric: str, span: Span, found: Figures) -> dict[str, Any]:
    windows = [found.latencies.get((metric, window), _NOTHING) for window in range(span.windows)]
    run = found.latencies.get((metric, WHOLE_RUN), _NOTHING)
    made: dict[str, Any] = {}
    for end in STATISTICS:
        column = {"Avg": "mean_us", "Max": "max_us"}.get(end) or f"q{_SCALARS[end]}"
        made[f"{family.stem}{end}"] = [_in_unit(family, row[column]) for row in windows]
        made[f"{family.aggregate}{end}"] = _in_unit(family, run[column])
    made[family.quantiles] = {
        str(quantile / 10_000): _in_unit(family, run[f"q{quantile}"]) for quantile in _told_apart(run["samples"])
    } | {"100.0": _in_unit(family, run["max_us"])}
    return made


def _told_apart(samples: int) -> Iterable[int]:
    """The quantiles that so many samples can tell from the maximum."""
    return (quantile for quantile in QUANTILES if (MILLION - quantile) * samples >= MILLION)


def _in_unit(family: Family, value_us: float) -> float | int:
    """Milliseconds, or of the one latency that is in microseconds there, microseconds."""
    return value_us if family.to_ms != 1 else value_us / 1000
