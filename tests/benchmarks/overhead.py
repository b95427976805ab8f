"""`make bench-overhead`: where the time between two trials goes, from the end of one's load to the start of the next one's.

Runs a campaign of short trials per system on the local testbed, without a report, and reads the steps of its trial.json files.
`--results FOLDER` reads those of a campaign that has run instead. Prints a table per system and ends with one line of JSON.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from bench.campaign.campaign import Campaign
from bench.campaign.prepared import prepare
from bench.checkout import CHECKOUT
from bench.progress import reporter_for
from bench.results.folder import Results
from bench.run.priming import PAYS_FROM_TRIALS
from bench.run.runner import run_campaign, steps_to_run
from bench.run.vetted import VETTED_SCHEMA, Vetted
from contract.workload import Workload
from provisioning.testbeds.local.testbed import LocalTestbed
from systems.registry import SYSTEMS
from tests.benchmarks.rounds import console
from tests.given import added_archives, systems_here

STATE = CHECKOUT / ".samebox" / "bench-overhead"
NS_PER_S = 1e9
AFTER_LOAD, BEFORE_LOAD = "load: drain and end", "load: connect, settings"
# A load that brokers keep up with right after their start: what they are behind at its end would be counted as overhead.
WORKLOAD = Workload(
    name="overhead",
    rate_per_s=100,
    message_bytes=1024,
    partitions=100,
    producers=2,
    consumers=2,
    warmup_s=15,
    measure_s=4,
)


def gap(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, float]:
    """Seconds by step between two trials of one campaign (their trial.json), in the order in which they pass."""
    ended_ns = max(phase["end_ns"] for phase in before["phases"])
    started_ns = min(phase["start_ns"] for phase in after["phases"])
    parts: dict[str, float] = {}
    last_ns = ended_ns
    for step in [*before["steps"], *after["steps"]]:
        begins_ns, ends_ns = max(step["started_ns"], ended_ns), min(step["ended_ns"], started_ns)
        if ends_ns <= begins_ns:
            continue
        name = step["name"]
        if name == "load":
            name = AFTER_LOAD if step in before["steps"] else BEFORE_LOAD
        parts["between steps"] = parts.get("between steps", 0.0) + (begins_ns - last_ns) / NS_PER_S
        parts[name] = parts.get(name, 0.0) + (ends_ns - begins_ns) / NS_PER_S
        last_ns = ends_ns
    return parts


def gaps_of(results: Results) -> dict[str, list[dict[str, float]]]:
    """System, or "one after another" -> what passed before each trial that has one before it.

    Not before a search: its phases are those of its last run, and its first one has left no time.
    """
    documents = [
        json.loads((results.trial_dir(entry["trial"]) / "trial.json").read_text())
        for entry in results.manifest()["order"]
        if entry["trial"] in results.finished()
    ]
    found: dict[str, list[dict[str, float]]] = {}
    for before, after in itertools.pairwise(documents):
        if before["phases"] and after["phases"] and after["workload"]["pacing"] != "search":
            names = dict.fromkeys([after["system"], before["system"]])
            found.setdefault(" after ".join(names), []).append(gap(before, after))
    return found


def print_gaps(system: str, gaps: Sequence[Mapping[str, float]]) -> float:
    """One line per step: its median and every gap's seconds. Returns the median of the whole."""
    wholes = [sum(each.values()) for each in gaps]
    table = Table(title=f"{system}: from load to load, s", title_justify="left", box=None, header_style="bold")
    table.add_column("step", no_wrap=True)
    table.add_column("median", justify="right")
    table.add_column("each")
    for name in dict.fromkeys(name for each in gaps for name in each):
        seconds = [each.get(name, 0.0) for each in gaps]
        table.add_row(name, f"{statistics.median(seconds):.1f}", " ".join(f"{value:.1f}" for value in seconds))
    table.add_row("all", f"{statistics.median(wholes):.1f}", " ".join(f"{value:.1f}" for value in wholes))
    console.print(table)
    return statistics.median(wholes)


def run_trials(system: str, trials: int, partitions: int) -> Results:
    """A campaign of one system; its records are left under STATE."""
    workload = dataclasses.replace(WORKLOAD, partitions=partitions)
    campaign = Campaign(
        schema=1, name=f"overhead-{system}", question="Where does the time between trials go?", seed=1,
        systems=(system,), blocks=trials, durability=("2",), workloads=(workload,),
    )  # fmt: skip
    file = STATE / f"{campaign.name}.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"# written by {Path(__file__).name}, never read\n")
    results = Results(STATE / "results" / campaign.name)
    results.set_aside()
    testbed = LocalTestbed(STATE / "testbed", notice=console.print)
    reporter = reporter_for(console, plain=True)
    try:
        inventory, archives = testbed.up(), added_archives(campaign.systems)
        prepared = prepare(campaign, file, inventory.testbed.kind, given=archives)
        reporter.plan(steps_to_run(prepared, ()))
        vetting = Vetted(VETTED_SCHEMA, {}, (), (), {"verdict": "not vetted", "rejected": []}, {})
        run_campaign(prepared, inventory, vetting, results, reporter, tarballs=archives, repeat=["make bench-overhead"])
    finally:
        reporter.close()
        testbed.down()
    return results


def main(arguments: Sequence[str]) -> int:
    """Prints what was measured."""
    parser = argparse.ArgumentParser(prog="make bench-overhead", description=__doc__)
    parser.add_argument("--systems", nargs="+", choices=sorted(SYSTEMS), default=systems_here())
    # as many as have a system start from its class data, as in a campaign of any length
    parser.add_argument("--trials", type=int, default=PAYS_FROM_TRIALS)
    parser.add_argument("--partitions", type=int, default=WORKLOAD.partitions)
    parser.add_argument("--results", type=Path, help="a results folder to read instead of running trials")
    options = parser.parse_args(arguments)
    if options.results is not None:
        gaps = gaps_of(Results(options.results))
    else:
        gaps = {}
        for system in options.systems:
            gaps |= gaps_of(run_trials(system, options.trials, options.partitions))
    seconds = {f"{system}_s": round(print_gaps(system, of_system), 1) for system, of_system in gaps.items()}
    print(json.dumps({"benchmark": "overhead", "ratios": {}, "seconds": seconds}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
