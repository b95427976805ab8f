"""Waiting for something to come true: looks until a limit, and one more when it has passed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator


def looks(
    limit_s: float,
    *,
    every_s: float = 0.0,
    now_s: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[None]:
    """For a loop that looks whether something has come true, returns if so, and says after the loop that it hasn't.

    The last look begins when `limit_s` have passed: on a busy machine a process may be held up between a look and its clock, and
    what came true meanwhile isn't late. What is said after the loop is what the last look found. `every_s`: the pause between two
    looks; 0 where a look waits by itself.
    """
    deadline_s = now_s() + limit_s
    while (left_s := deadline_s - now_s()) > 0:
        yield
        if every_s:
            sleep(min(every_s, left_s))
    yield
