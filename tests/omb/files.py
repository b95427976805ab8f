"""Workload files of OpenMessaging Benchmark as tests write them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

STEADY: dict[str, Any] = {
    "name": "Small and steady",
    "topics": 2,
    "partitionsPerTopic": 4,
    "keyDistributor": "NO_KEY",
    "messageSize": 1024,
    "useRandomizedPayloads": True,
    "randomBytesRatio": 0.7,
    "randomizedPayloadPoolSize": 100,
    "subscriptionsPerTopic": 3,
    "consumerPerSubscription": 5,
    "producersPerTopic": 7,
    "producerRate": 500,
    "consumerBacklogSizeGB": 0,
    "backlogDrainRatio": 1.0,
    "testDurationMinutes": 2,
    "warmupDurationMinutes": 3,
}


def write(folder: Path, file_name: str = "steady.yaml", without: tuple[str, ...] = (), **changes: Any) -> Path:
    """A workload file in `folder`: STEADY with changes, and without some keys."""
    fields = {key: value for key, value in {**STEADY, **changes}.items() if key not in without}
    path = folder / file_name
    path.write_text(yaml.safe_dump(fields, sort_keys=False))
    return path
