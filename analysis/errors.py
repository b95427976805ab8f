"""What analysis refuses, as one exception type; it never prints or exits."""

from __future__ import annotations


class AnalysisError(Exception):
    """Input that can't be analysed: what, where, and what to do next. The job prints it and exits 1."""

    def __init__(self, message: str, *, next_step: str = "") -> None:
        super().__init__(message)
        self.next_step = next_step
