"""The report job's start: the same file is run by a local spark-submit and as an EMR step. It only finds the package and calls it.

spark-submit --py-files analysis.zip analysis/job.py RESULTS [--out REPORT]
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path


def main() -> int:
    """Runs analysis/application.py with a folder of its own for temporary files."""
    # spark-submit puts the folder of this file first on the path, where our modules would pass for top-level ones
    here = Path(__file__).resolve().parent
    if (here / "__init__.py").is_file():
        sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != here]
    with tempfile.TemporaryDirectory(prefix="samebox-report-") as scratch:
        os.environ.setdefault("MPLCONFIGDIR", scratch)  # matplotlib writes its list of fonts while it is imported
        from analysis.application import run

        return run(sys.argv[1:], Path(scratch))


if __name__ == "__main__":
    sys.exit(main())
