"""The analysis job's start: the same file is run by a local spark-submit and as an EMR step.

spark-submit --py-files analysis.zip analysis/job.py RESULTS [--out REPORT]
spark-submit --py-files analysis.zip analysis/job.py export-omb RESULTS [--trial NAME...] --out FOLDER

These need no Spark, and are started by Python alone:

python -m analysis.job import-omb FILE... --out FOLDER
python -m analysis.job claims VERDICTS.json [--results RESULTS | --imported FOLDER]
"""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ON_SPARK = {"": "analysis.application", "export-omb": "analysis.omb.export"}  # "": the report
PLAIN = {"import-omb": "analysis.omb.import_task", "claims": "analysis.claims.application"}


def main() -> int:
    """Runs the task that the first argument names, and the report if it names none."""
    # spark-submit puts the folder of this file first on the path, where our modules would pass for top-level ones
    here = Path(__file__).resolve().parent
    if (here / "__init__.py").is_file():
        sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != here]
    named = sys.argv[1] if len(sys.argv) > 1 else ""
    task, arguments = (named, sys.argv[2:]) if named in {*ON_SPARK, *PLAIN} else ("", sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="samebox-report-") as scratch:
        os.environ.setdefault("MPLCONFIGDIR", scratch)  # matplotlib writes its list of fonts while it is imported
        if task in PLAIN:
            return int(importlib.import_module(PLAIN[task]).run(arguments, Path(scratch)))
        return _run_on_spark(ON_SPARK[task], arguments, Path(scratch))


def _run_on_spark(module: str, arguments: list[str], scratch: Path) -> int:
    """The JVM gets ready while everything else is imported, which takes as long."""
    from analysis.session import start_session

    with ThreadPoolExecutor(1) as beside:
        session = beside.submit(start_session, "samebox")
        return int(importlib.import_module(module).run(arguments, scratch, session.result))


if __name__ == "__main__":
    sys.exit(main())
