"""Runs on the orchestrator's host: the campaign, from the files brought there to its records there. It makes no report.

    python -m bench.orchestrator.process FOLDER

Finished trials are kept when it is started again. How it ended is in outcome.json, whatever the reason but a kill.
"""

from __future__ import annotations

import dataclasses
import signal
import sys
import time
import traceback
from pathlib import Path
from types import FrameType

from bench.campaign.campaign_file import load_campaign
from bench.campaign.prepared import prepare
from bench.checkout import RESULTS
from bench.orchestrator.place import TASK_SCHEMA, Place, Task, place_in
from bench.orchestrator.state import Progress, now_text
from bench.progress import Ledger, PlainReporter
from bench.results.folder import Results, write_json
from bench.run.runner import run_campaign, steps_to_run
from bench.run.vetted import load_vetted
from provisioning.document import parse_document
from provisioning.errors import SameboxError
from provisioning.hosts.inventory import load_inventory

DETAIL_EVERY_S = 2.0


@dataclasses.dataclass
class ProgressFile:
    """Keeps a file at the current step of a reporter, for whoever asks how far the campaign is."""

    file: Path
    written_s: float = 0.0

    def watch(self, ledger: Ledger, detail: str) -> None:
        """Writes every step, and a detail where the last write is some time ago."""
        if detail and time.monotonic() - self.written_s < DETAIL_EVERY_S:
            return
        self.written_s = time.monotonic()
        steps, left_s = len(ledger.steps), round(ledger.left_s(), 1)
        progress = Progress(ledger.done, steps, ledger.title, detail, left_s, now_text())
        write_json(self.file, dataclasses.asdict(progress))


def main() -> None:
    """Runs the campaign of the folder."""
    place = place_in(sys.argv[1])
    signal.signal(signal.SIGTERM, _interrupt)
    outcome = {"error": "", "next_step": ""}
    try:
        _run(place)
    except SameboxError as error:
        outcome = {"error": str(error), "next_step": error.next_step}
    except KeyboardInterrupt:
        outcome = {"error": "it was told to end.", "next_step": ""}
    except BaseException as error:
        outcome = {"error": f"{type(error).__name__}: {error}", "next_step": f"The full log is {place.log_file}"}
        traceback.print_exc()
    if outcome["error"]:
        _say(f"ended: {outcome['error']}")
    write_json(Path(place.outcome_file), outcome)
    sys.exit(1 if outcome["error"] else 0)


def _run(place: Place) -> None:
    task = parse_document(Task, Path(place.task_file), schema=TASK_SCHEMA)
    inventory = load_inventory(Path(place.inventory_file))
    campaign_file = Path(task.campaign_file)
    campaign = load_campaign(campaign_file)
    results = Results(RESULTS / campaign.name)
    prepared = prepare(campaign, campaign_file, inventory.testbed.kind, task.choice, task.tarballs)
    reporter = PlainReporter(_say, ProgressFile(Path(place.progress_file)).watch)
    reporter.plan(steps_to_run(prepared, results.finished(), results.probed()))
    run_campaign(
        prepared,
        inventory,
        load_vetted(Path(place.vetting_file)),
        results,
        reporter,
        tarballs={system: Path(path) for system, path in task.tarballs.items()},
        repeat=task.repeat,
        origin=task.origin,
    )


def _say(line: str) -> None:
    print(line, flush=True)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """SIGTERM ends a run as Ctrl-C does: with the systems stopped."""
    del number, frame
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
