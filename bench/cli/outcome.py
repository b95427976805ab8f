"""How a command came out, and the exit code of each way: nothing else in this folder names a code."""

from __future__ import annotations

from enum import IntEnum


class Outcome(IntEnum):
    """What a command returns; one that can only succeed or raise returns nothing. The number is the exit code."""

    DONE = 0  # also when a system failed to do what was asked: that is a result
    ERROR = 1  # of the operator or the infrastructure; or something is missing, declined, or left on AWS
    UNSOUND = 2  # it ran, but something is invalid, unknown, rejected or not proven
    REGRESSION = 3  # a watch shows that a version is worse than the one before it
    INTERRUPTED = 130
