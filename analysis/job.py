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
from pathlib import Path

REPORT = "analysis.application"
TASKS = {
    "import-omb": "analysis.omb.import_task",
    "export-omb": "analysis.omb.export",
    "claims": "analysis.claims.application",
}


def main() -> int:
    """Runs the task that the first argument names, and the report if it names none."""
    # spark-submit puts the folder of this file first on the path, where our modules would pass for top-level ones
    here = Path(__file__).resolve().parent
    if (here / "__init__.py").is_file():
        sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != here]
    task, arguments = TASKS.get(sys.argv[1] if len(sys.argv) > 1 else ""), sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="samebox-report-") as scratch:
        os.environ.setdefault("MPLCONFIGDIR", scratch)  # matplotlib writes its list of fonts while it is imported
        module = importlib.import_module(task or REPORT)
        return int(module.run(arguments[1:] if task else arguments, Path(scratch)))


if __name__ == "__main__":
    sys.exit(main())
