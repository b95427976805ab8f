"""python -m analysis.digest FOLDER: prints one JSON object for each folder in FOLDER, a line each, in the order of their names.

Such a folder holds a report.json, or the import.json and summary.csv of an import. A line is {"digest": ...}, or {"refused": why,
"next_step": what to do}: what can't be read stops no other.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from analysis.digest.campaign import digest_of
from analysis.digest.imported import IMPORT, imported_digest
from analysis.documents import read_document
from analysis.errors import AnalysisError, run_plain_task

REPORT = "report.json"


def main(arguments: Sequence[str]) -> int:
    """Parses the arguments and prints the digests."""
    parser = argparse.ArgumentParser(prog="digest", description=__doc__)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args(arguments)
    return run_plain_task(lambda: _print_all(options.folder))


def _print_all(folder: Path) -> None:
    for each in sorted(folder.iterdir()):
        print(json.dumps(_line(each), allow_nan=False, separators=(",", ":")))


def _line(folder: Path) -> dict[str, Any]:
    try:
        if (folder / IMPORT).is_file():
            return {"digest": imported_digest(folder, IMPORT)}
        return {"digest": digest_of(read_document(folder / REPORT, next_step=""), REPORT)}
    except AnalysisError as error:
        return {"refused": str(error).removeprefix(f"{folder}/"), "next_step": error.next_step}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
