"""Makes evidence/raw.csv: what the raw result files published beside the 2020 report say for each of its printed figures.

    python -m analysis.claims.raw_figures CHECKOUT > analysis/claims/evidence/raw.csv

CHECKOUT: streamnative/openmessaging-benchmark, branch `blog`, or a folder with some of its results/. Every figure goes the way of any
import (analysis/omb) and of any claim judged by one (analysis/claims/imported.py); nothing is typed in.
"""

from __future__ import annotations

import csv
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from analysis.claims.claim import packaged_documents
from analysis.claims.figures import KEYS, PRINTED_FILE, packaged_figures
from analysis.claims.imported import read_imported
from analysis.omb.import_task import import_files

SOURCE = "streamnative-2020"
COLUMNS = (*(name for name in KEYS if name != "unit"), "value", "unit", "note")
_RULES = {
    "publish_throughput": ": mean of publishRate without the first window, which counts the warm-up",
    "catch_up_throughput": ": highest window of 10 s of consumeRate",
}


def raw_rows(checkout: Path) -> Iterator[dict[str, str]]:
    """The rows of raw.csv, in the order of the printed figures; none for a figure that no file has.

    Raises ValueError where two runs of the same have different latencies.
    """
    # folders whose JSON files are something else (dashboards) aren't results
    files = [file for file in checkout.rglob("*.json") if "results" in file.relative_to(checkout).parts]
    # of files with the same bytes the first counts: the one that is least deep
    files.sort(key=lambda file: (len(file.parts), file))
    with tempfile.TemporaryDirectory() as scratch:
        import_files([str(file) for file in files], out=Path(scratch) / "imported")
        imported = read_imported(Path(scratch) / "imported")
    (document,) = (each for each in packaged_documents() if each.source == SOURCE)
    for figure in packaged_figures(PRINTED_FILE):
        if figure.columns["source"] != SOURCE:
            continue
        sources = sorted(imported.sources(figure, document.cell_of(figure), 1), key=lambda source: source.value)
        rule = _RULES.get(figure.columns["metric"])
        if rule is None and len({source.value for source in sources}) > 1:
            raise ValueError(f"{figure.place}: {', '.join(source.file.file for source in sources)}")
        if sources:
            note = f"{Path(sources[-1].file.file).relative_to(checkout)}{rule or ''}"
            yield {**figure.columns, "value": f"{round(sources[-1].value, 3):.15g}", "note": note}


def main() -> int:
    """Writes the table to standard output."""
    writer = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(raw_rows(Path(sys.argv[1])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
