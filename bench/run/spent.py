"""What a finished campaign used that costs money: which hosts, from when to when, which trials, how much payload.

The acknowledged payload is counted by analysis alone, so it is read from the report's summary.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass

from bench.results.folder import Results
from contract import results_folder as layout
from provisioning.document import build, read_document
from provisioning.errors import InvalidInput
from provisioning.hosts.inventory import Inventory
from provisioning.testbeds.aws.cost import TrialRun
from provisioning.testbeds.aws.time_to_live import utc

ACKNOWLEDGED = "messages_acknowledged"
NS_PER_S = 1e9


@dataclass(frozen=True)
class Run:
    """What a campaign used. `began_s` is when its testbed was asked for, `ended_s` when its last finished trial ended."""

    inventory: Inventory
    trials: tuple[TrialRun, ...]
    began_s: float
    ended_s: float


def run_of(results: Results) -> Run:
    """Reads manifest, trials and the report's summary. Raises InvalidInput where one is missing or it didn't run on AWS."""
    manifest = results.manifest("testbed")
    inventory = build(Inventory, {**manifest["testbed"], "identity_file": ""}, where=str(results.manifest_file))
    if inventory.testbed.kind != "aws":
        raise InvalidInput(
            f"{results.root} ran on testbed {inventory.testbed.name!r} of kind {inventory.testbed.kind!r}: AWS charged nothing for it."
        )
    finished = results.finished()
    if not finished:
        raise InvalidInput(f"{results.root} has no finished trial yet.", next_step=f"samebox resume {results.root}")
    acknowledged = _acknowledged(results)
    trials, ended_s = [], []
    for name in finished:
        document = read_document(results.trial_dir(name) / layout.TRIAL)
        steps = document["steps"]
        ended_s.append(steps[-1]["ended_ns"] / NS_PER_S)
        if document.get("generator") == "native":
            continue  # it checks another trial and has no records: its time is shared
        if name not in acknowledged:
            raise InvalidInput(
                f"{results.root}'s report doesn't have trial {name}: it is older than the trial.",
                next_step=f"samebox report {results.root}",
            )
        trials.append(
            TrialRun(
                document.get("contestant", document["system"]),
                started_s=steps[0]["started_ns"] / NS_PER_S,
                ended_s=ended_s[-1],
                acknowledged_bytes=acknowledged[name] * document["workload"]["message_bytes"],
            )
        )
    began = utc(inventory.created, where=f"{results.manifest_file}: key 'testbed.created'")
    return Run(inventory, tuple(trials), began.timestamp(), max(ended_s))


def _acknowledged(results: Results) -> Mapping[str, int]:
    """Messages acknowledged, warm-up included, by trial."""
    summary = results.report_dir / "summary.csv"
    if not summary.is_file():
        raise InvalidInput(
            f"{results.root} has no report yet, and the report counts what was acknowledged.",
            next_step=f"samebox report {results.root}",
        )
    with summary.open(newline="") as file:
        return {row["trial"]: int(float(row["value"])) for row in csv.DictReader(file) if row["metric"] == ACKNOWLEDGED}
