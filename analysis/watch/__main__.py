"""python -m analysis.watch judge HISTORY | export FORMAT HISTORY | round RESULTS [SUSPICIONS]: prints JSON, or the exported text.

`round` prints what a campaign of a watch measured, as the history has it; SUSPICIONS is what it was run to confirm, as JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from analysis.documents import read_document
from analysis.errors import run_plain_task
from analysis.watch.document import judged_document
from analysis.watch.exports import EXPORTS
from analysis.watch.judge import Judged, judge
from analysis.watch.recorded import round_in
from contract.watch_history import Suspicion, history_of


def main(arguments: Sequence[str]) -> int:
    """Parses the arguments and prints what is asked for."""
    parser = argparse.ArgumentParser(prog="watch", description=__doc__)
    tasks = parser.add_subparsers(dest="task", required=True)
    tasks.add_parser("judge").add_argument("history", type=Path)
    export = tasks.add_parser("export")
    export.add_argument("format", choices=EXPORTS)
    export.add_argument("history", type=Path)
    one = tasks.add_parser("round")
    one.add_argument("results", type=Path)
    one.add_argument("suspicions", nargs="?", default="[]")
    return run_plain_task(lambda: print(_printed(parser.parse_args(arguments)), end=""))


def _printed(options: Any) -> str:
    if options.task == "export":
        return EXPORTS[options.format](_judged(options.history))
    if options.task == "judge":
        return _json(judged_document(_judged(options.history)))
    confirms = [Suspicion(**each) for each in json.loads(options.suspicions)]
    return _json(asdict(round_in(options.results, confirms)))


def _judged(history: Path) -> Judged:
    return judge(history_of(read_document(history, next_step="It is written by `samebox watch`.")))


def _json(document: Any) -> str:
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
