"""`make bench-memory`: does the memory of the load generator or of the orchestrator grow with the length of a trial?

Runs whole trials of one minute and of five on the local testbed, each by an operator's process of its own: a closed loop of small
messages without a bound that matters, so the highest rate there is here. Prints the peak of memory of every process at both
lengths and ends with one line of JSON; exit code 1 if any grew by more than a fifth.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import shutil
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from bench.campaign.campaign import Campaign
from bench.campaign.prepared import prepare
from bench.checkout import CHECKOUT
from bench.progress import reporter_for
from bench.results.folder import Results
from bench.run.runner import run_campaign, steps_to_run
from bench.run.vetted import VETTED_SCHEMA, Vetted
from bench.worker.usage import rss_peak_bytes
from contract.workload import Workload
from provisioning.testbeds.local.testbed import LocalTestbed
from systems.registry import SYSTEMS
from tests.benchmarks.rounds import console
from tests.given import added_archives, systems_here

STATE = CHECKOUT / ".samebox" / "bench-memory"
MINUTES = (1.0, 5.0)
AT_MOST = 1.2  # times the shortest trial's
MESSAGE_BYTES = 128  # memory is held per message, and five minutes of large ones would fill the disk
UNREACHABLE_PER_S = 1_000_000
MIB = 1024**2


@dataclass(frozen=True)
class Peaks:
    """What one trial came to. `messages`: rows produced; `peak_bytes`: by process, "orchestrator" or a worker's name."""

    minutes: float
    messages: int
    peak_bytes: dict[str, int]


def campaign_of(system: str, minutes: float) -> Campaign:
    """One trial."""
    workload = Workload(
        name="memory", rate_per_s=UNREACHABLE_PER_S, expected_rate_per_s=60_000, message_bytes=MESSAGE_BYTES,
        partitions=6, producers=1, consumers=1, pacing="closed-loop", in_flight=10_000, warmup_s=10,
        measure_s=60 * minutes, drain_s=120,
    )  # fmt: skip
    return Campaign(
        schema=1, name=f"memory-{system}-{minutes:g}", question="Does memory grow with the length of a trial?", seed=1,
        systems=(system,), blocks=1, durability=("2",), workloads=(workload,),
    )  # fmt: skip


def run_trial(system: str, minutes: float) -> Peaks:
    """Runs it on the testbed that is up; to be called in a process of its own."""
    campaign = campaign_of(system, minutes)
    file = STATE / f"{campaign.name}.toml"
    file.write_text(f"# written by {Path(__file__).name}, never read\n")
    results = Results(STATE / "results" / campaign.name)
    results.set_aside()
    inventory = LocalTestbed(STATE / "testbed", notice=console.print).up()
    archives = added_archives(campaign.systems)
    prepared = prepare(campaign, file, inventory.testbed.kind, given=archives)
    vetting = Vetted(VETTED_SCHEMA, {}, (), (), {"verdict": "not vetted", "rejected": []}, {})
    reporter = reporter_for(console, plain=True)
    reporter.plan(steps_to_run(prepared, ()))
    try:
        run_campaign(prepared, inventory, vetting, results, reporter, tarballs=archives, repeat=["make bench-memory"])
    finally:
        reporter.close()
    [trial] = results.finished()
    document = json.loads((results.trial_dir(trial) / "trial.json").read_text())
    if document["abort"] is not None:
        raise RuntimeError(f"{campaign.name}: {document['abort']['reason']}")
    peaks = {worker["worker"]: worker["rss_peak_bytes"] for worker in document["observations"]["workers"]}
    return Peaks(minutes, document["rows"]["produced"], {"orchestrator": rss_peak_bytes(), **peaks})


def print_peaks(system: str, found: Sequence[Peaks]) -> dict[str, float]:
    """One line per process: its peak at every length. Returns the longest trial's by process, as a ratio to the shortest's."""
    table = Table(title=f"{system}: peak of memory, MiB", title_justify="left", box=None, header_style="bold")
    table.add_column("process", no_wrap=True)
    for one in found:
        table.add_column(f"{one.minutes:g} min, {one.messages:,} messages", justify="right")
    table.add_column("ratio", justify="right")
    ratios = {name: found[-1].peak_bytes[name] / bytes_ for name, bytes_ in found[0].peak_bytes.items()}
    for name, ratio in ratios.items():
        table.add_row(name, *(f"{one.peak_bytes[name] / MIB:.0f}" for one in found), f"{ratio:.2f}")
    console.print(table)
    return ratios


def main(arguments: Sequence[str]) -> int:
    """Prints what was measured; the only place that turns growth into an exit code."""
    parser = argparse.ArgumentParser(prog="make bench-memory", description=__doc__)
    parser.add_argument("--systems", nargs="+", choices=sorted(SYSTEMS), default=systems_here())
    parser.add_argument(
        "--minutes", nargs="+", type=float, default=MINUTES, help="lengths of the trials, the shortest first"
    )
    options = parser.parse_args(arguments)
    STATE.mkdir(parents=True, exist_ok=True)
    testbed = LocalTestbed(STATE / "testbed", notice=console.print)
    ratios: dict[str, float] = {}
    testbed.up()
    try:
        for system in options.systems:
            # an operator's process for each trial, as a user's would be
            with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"), max_tasks_per_child=1) as pool:
                found = [pool.submit(run_trial, system, minutes).result() for minutes in options.minutes]
            ratios |= {f"{system}, {name}": round(ratio, 2) for name, ratio in print_peaks(system, found).items()}
    finally:
        testbed.down()
        shutil.rmtree(STATE / "results", ignore_errors=True)
    print(json.dumps({"benchmark": "memory", "ratios": ratios, "at_most": AT_MOST}))
    return 1 if max(ratios.values()) > AT_MOST else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
