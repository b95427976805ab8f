"""What a producer says of its latency of late."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bench.worker.recent_latency import RecentLatency
from bench.worker.records import RecordFiles
from bench.worker.schedule import CHUNK_MESSAGES
from bench.worker.send_log import SendLog

ANCHOR_NS = 10**18


def test_the_median_of_what_was_acknowledged_since_the_last_look(tmp_path: Path) -> None:
    """Response latency, of every message once, over all blocks that aren't written yet; of none there is none."""
    log = SendLog(0, RecordFiles(tmp_path, ANCHOR_NS, lambda: (), lambda _: None))
    now = iter([1_000, 2_000, 3_000, 4_000])
    recent = RecentLatency(log, lambda: next(now))
    blocks = [log.open(first, ANCHOR_NS + np.full(4, 100)) for first in (0, CHUNK_MESSAGES)]
    for block, acked_ns in zip(blocks, ((999, 1_000, 1_999, 2_500), (1_500, 0, 0, 0)), strict=True):
        block.acked[:] = type(block.acked)("q", acked_ns)
    assert recent.look() == {"answered": 3, "answered_p50_ns": 1_400}
    assert recent.look() == {"answered": 1, "answered_p50_ns": 2_400}
    assert recent.look() == {"answered": 0, "answered_p50_ns": None}


def test_what_was_cut_off_counts_in_no_look(tmp_path: Path) -> None:
    """The messages after the end of a run were never due."""
    log = SendLog(0, RecordFiles(tmp_path, ANCHOR_NS, lambda: (), lambda _: None))
    now = iter([0, 1_000])
    recent = RecentLatency(log, lambda: next(now))
    block = log.open(0, ANCHOR_NS + np.full(4, 100))
    block.acked[:] = type(block.acked)("q", (200, 300, 900, 900))
    block.cut(2)
    assert recent.look() == {"answered": 2, "answered_p50_ns": 100}
