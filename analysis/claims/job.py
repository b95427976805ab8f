"""The claims job's start, by spark-submit. It only finds the package and calls it.

spark-submit --py-files analysis.zip analysis/claims/job.py VERDICTS.json [--results RESULTS]
"""

from __future__ import annotations

import sys
from pathlib import Path


def main() -> int:
    """Runs analysis/claims/application.py."""
    # spark-submit puts the folder of this file first on the path, where our modules would pass for top-level ones
    here = Path(__file__).resolve().parent
    if (here / "__init__.py").is_file():
        sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != here]
    from analysis.claims.application import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
