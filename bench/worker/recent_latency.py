"""Response latency of late, for an operator who waits until it is steady."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from bench.worker.send_log import SendLog


class RecentLatency:
    """Of what was acknowledged since the last look. To be looked at before the log writes what it knows everything of."""

    def __init__(self, log: SendLog, now_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self._log, self._now_ns = log, now_ns
        self._since_ns = now_ns()

    def look(self) -> dict[str, int | None]:
        """`answered`: how many messages; `answered_p50_ns`: their median (the lower one of two); None of none."""
        since_ns, self._since_ns = self._since_ns, self._now_ns()
        latencies_ns = np.sort(self._log.latencies_between(since_ns, self._since_ns))
        messages = len(latencies_ns)
        return {
            "answered": messages,
            "answered_p50_ns": int(latencies_ns[(messages - 1) // 2]) if messages else None,
        }
