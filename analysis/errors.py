"""What analysis refuses, as one exception type, and how a task of the job ends with it."""

from __future__ import annotations

import sys
from collections.abc import Callable


class AnalysisError(Exception):
    """Input that can't be analysed: what, where, and what to do next. The job prints it and exits 1."""

    def __init__(self, message: str, *, next_step: str = "") -> None:
        super().__init__(message)
        self.next_step = next_step


def run_plain_task(task: Callable[[], object]) -> int:
    """Runs a task that needs no Spark. Returns 0, or 1 after an AnalysisError, which it prints."""
    try:
        task()
    except AnalysisError as error:
        print(f"error: {error}", file=sys.stderr)
        if error.next_step:
            print(f"next: {error.next_step}", file=sys.stderr)
        return 1
    return 0
