"""How a task of the job runs: it prints, and turns an error into an exit code. Tasks that need Spark run it inside analysis/task.py."""

from __future__ import annotations

import sys
from collections.abc import Callable

from analysis.errors import AnalysisError


def run_plain_task(task: Callable[[], object]) -> int:
    """Runs the task. Returns 0, or 1 after an AnalysisError, which it prints."""
    try:
        task()
    except AnalysisError as error:
        print(f"error: {error}", file=sys.stderr)
        if error.next_step:
            print(f"next: {error.next_step}", file=sys.stderr)
        return 1
    return 0
