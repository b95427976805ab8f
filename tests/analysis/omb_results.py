"""Result files of OpenMessaging Benchmark as tests make them: every generation, sound unless a test spoils them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from analysis.omb.result_file import read_result
from analysis.omb.rows import Imported, import_result

PUBLISHED = Path(__file__).resolve().parents[1] / "data" / "omb"
ENDS = ("Avg", "50pct", "75pct", "95pct", "99pct", "999pct", "9999pct", "Max")
WINDOWS = (1.0, 1.2, 1.1, 1.0, 1.2, 1.1)  # how high the latencies of each window are
AT = {"Avg": 3.0, "50pct": 2.5, "75pct": 3.0, "95pct": 6.0, "99pct": 8.0, "999pct": 20.0, "9999pct": 30.0, "Max": 40.0}
MAP = {
    "10.0": 1.0,
    "50.0": 2.75,
    "75.0": 3.3,
    "90.2": 5.5,
    "95.0": 6.6,
    "99.0": 8.8,
    "99.9": 22.0,
    "99.99": 33.0,
    "99.99905": 45.0,
    "100.0": 48.0,
}


def document(generation: str = "g3", **changes: Any) -> dict[str, Any]:
    """A whole result, as TestResult.java of that generation writes it; a change to None takes a key away."""
    made: dict[str, Any] = {"workload": "Steady", "driver": "Kafka"}
    if generation >= "g1":
        made |= {"messageSize": 1024, "topics": 2, "partitions": 16, "producersPerTopic": 3, "consumersPerTopic": 4}
    rates = [1100.0, 1000.0, 1010.0, 1000.0, 1010.0, 1005.0]
    made |= {"publishRate": rates, "consumeRate": rates, "backlog": [-2, 0, 7, 0, 0, 3]}
    if generation >= "g3":
        made["publishErrorRate"] = [9.0, 0.5, 1.5, 1.0, 1.0, 1.0]
    made |= latency("publishLatency") | latency("endToEndLatency")
    if generation >= "g2":
        made |= latency("publishDelayLatency", scale=1000)
    made |= changes
    return {key: value for key, value in made.items() if value is not None}


def latency(stem: str, scale: float = 1) -> dict[str, Any]:
    """The keys of one latency: windows, the run's figures, the quantile map."""
    aggregate = f"aggregated{stem[0].upper()}{stem[1:]}"
    windows = {f"{stem}{end}": [AT[end] * height * scale for height in WINDOWS] for end in ENDS}
    run = {f"{aggregate}{end}": AT[end] * 1.1 * scale for end in ENDS} | {f"{aggregate}Max": 48.0 * scale}
    return {**windows, **run, f"{aggregate}Quantiles": {at: value * scale for at, value in MAP.items()}}


def write(folder: Path, name: str = "result.json", made: dict[str, Any] | None = None) -> Path:
    """The file of a document."""
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(made or document()))
    return file


def import_file(file: Path) -> Imported:
    """All the way from the bytes of a file to its rows."""
    return import_result(read_result(file.read_bytes(), str(file)))


def values(one: Imported) -> dict[str, float]:
    """The summary of a file as metric -> value."""
    return {row["metric"]: row["value"] for row in one.summary}
