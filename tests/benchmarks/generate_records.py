"""Writes the `produced` records of many made-up messages as a results folder that the report job can read. It measures nothing.

The rows go through bench's own tables and writer: one file per 65,536 messages of a producer, in the encodings of real records.
What is made up is how long an acknowledgement takes: a level that wanders for seconds, a skewed spread of single messages, one
in a thousand far out, and a few stalls in which nothing is acknowledged and a full in-flight window keeps messages from being sent.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bench.records import NEVER_NS, produced_table, write_records
from bench.schedule import CHUNK_MESSAGES, SECOND_NS, Phase, Schedule

EPOCH_NS = 1_700_000_000 * SECOND_NS
BETWEEN_TRIALS_NS = 3_600 * SECOND_NS
MARKER = "generated.json"  # written last: a folder with it is whole
_MS = 1_000_000
_LEVEL_STEP_NS = 10 * _MS
_LEVEL_KEPT = 0.995  # of the level's deviation, per step: it wanders over about two seconds
_WINDOW_NS = 100 * _MS  # messages intended so soon after a stall began still fit into the in-flight window
_STALL_NS = (200 * _MS, 1_500 * _MS)


@dataclass(frozen=True)
class Shape:
    """What is generated; two folders of equal shape hold equal rows. `rows` are of all trials together, warm-up included."""

    rows: int
    trials: int
    producers: int = 2
    rate_per_s: int = 50_000
    warmup_share: float = 0.1
    unacknowledged_per_million: int = 40
    stalls: int = 3
    seed: int = 20
    generator: int = 1  # raised when the same shape comes to mean other rows

    @property
    def schedule(self) -> Schedule:
        """The schedule of each trial."""
        duration_ns = self.rows // self.trials * SECOND_NS // self.rate_per_s
        warmup_ns = int(duration_ns * self.warmup_share)
        return Schedule(self.rate_per_s, self.producers, "constant", warmup_ns, duration_ns - warmup_ns, self.seed)


def is_whole(folder: Path, shape: Shape) -> bool:
    """Whether the folder holds the rows of this shape, every file in its full length."""
    marker = folder / MARKER
    if not marker.is_file():
        return False
    written = json.loads(marker.read_text())
    files: dict[str, int] = written["files"]
    return bool(written["shape"] == asdict(shape)) and all(
        (folder / name).is_file() and (folder / name).stat().st_size == size for name, size in files.items()
    )


def generate(folder: Path, shape: Shape, progress: Callable[[str], None]) -> None:
    """Writes the results folder anew: documents, the rows of every trial, and the marker last."""
    rmtree(folder, ignore_errors=True)
    names = [f"b01-{number + 1}-generated-l1-steady" for number in range(shape.trials)]
    _write_json(folder / "manifest.json", {"schema": 1, "order": [{"trial": name} for name in names]})
    files: dict[str, int] = {}
    for number, name in enumerate(names):
        progress(f"generating trial {number + 1} of {len(names)}")
        phases = shape.schedule.phases(EPOCH_NS + number * BETWEEN_TRIALS_NS)
        for table, file in _tables(shape, number, phases):
            written = write_records(table, folder / "trials" / name, file)
            files[f"trials/{name}/{file}"] = written.bytes
        _write_json(folder / "trials" / name / "trial.json", _trial_document(name, number + 1, phases))
    _write_json(folder / MARKER, {"shape": asdict(shape), "files": files})


def _tables(shape: Shape, trial: int, phases: Sequence[Phase]) -> Iterator[tuple[pa.Table, str]]:
    """The tables of one trial, each with the name of its file."""
    random = np.random.default_rng([shape.seed, trial])
    level_ns = _wandering_level_ns(random, shape.schedule.duration_ns)
    stalls = _stalls(random, shape)
    for producer in range(shape.producers):
        for part, offset_ns in enumerate(shape.schedule.offsets_ns(producer)):
            first_sequence = part * CHUNK_MESSAGES
            sent_ns, acked_ns = _times(random, offset_ns, level_ns, stalls)
            lost = np.flatnonzero(random.random(len(offset_ns)) < shape.unacknowledged_per_million / 1e6)
            start_ns = phases[0].start_ns
            sent_ns, acked_ns = sent_ns + start_ns, acked_ns + start_ns
            acked_ns[lost] = NEVER_NS
            sent_ns[lost[::4]] = NEVER_NS
            partition = (np.arange(len(offset_ns)) // 100 % 6).astype(np.int32)
            errors = dict.fromkeys(lost[::2].tolist(), "timed out")
            table = produced_table(
                producer, first_sequence, offset_ns + start_ns, sent_ns, acked_ns, partition, errors, phases
            )
            yield table, f"produced/producer-{producer:04d}-{first_sequence:014d}.parquet"


def _times(
    random: np.random.Generator,
    offset_ns: NDArray[np.int64],
    level_ns: NDArray[np.float64],
    stalls: Sequence[tuple[int, int]],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """When each message was sent and acknowledged (ns from the start)."""
    messages = len(offset_ns)
    sent_ns = offset_ns + (random.lognormal(np.log(60_000), 0.6, messages)).astype(np.int64)
    service_ns = np.interp(offset_ns, np.arange(len(level_ns)) * _LEVEL_STEP_NS, level_ns)
    service_ns *= random.lognormal(0, 0.25, messages)
    far_out = random.random(messages) < 0.001
    service_ns[far_out] *= 1 + random.pareto(1.5, int(far_out.sum()))
    acked_ns = sent_ns + service_ns.astype(np.int64)
    for begin_ns, end_ns in stalls:
        held_back = (offset_ns >= begin_ns + _WINDOW_NS) & (offset_ns < end_ns)
        sent_ns[held_back] = end_ns + (offset_ns[held_back] - begin_ns) // 20  # caught up in a burst
        waiting = (acked_ns >= begin_ns) & (offset_ns < end_ns)
        acked_ns[waiting] = np.maximum(sent_ns[waiting], end_ns) + service_ns[waiting].astype(np.int64)
    return sent_ns, acked_ns


def _wandering_level_ns(random: np.random.Generator, duration_ns: int) -> NDArray[np.float64]:
    """The latency around which messages lie, per step of 10 ms: a warm-up that fades, then autocorrelated ups and downs."""
    steps = duration_ns // _LEVEL_STEP_NS + 2
    deviation = np.zeros(steps)
    pushes = random.normal(0, 0.3 * np.sqrt(1 - _LEVEL_KEPT**2), steps)
    for step in range(1, steps):
        deviation[step] = _LEVEL_KEPT * deviation[step - 1] + pushes[step]
    cold = 1 + 3 * np.exp(-np.arange(steps) / (steps / 40))
    level_ns: NDArray[np.float64] = 4 * _MS * cold * np.exp(deviation)
    return level_ns


def _stalls(random: np.random.Generator, shape: Shape) -> list[tuple[int, int]]:
    """Begin and end of each stall (ns from the start), inside the measure phase."""
    begins = shape.schedule.warmup_ns + random.random(shape.stalls) * shape.schedule.measure_ns * 0.9
    return [(int(begin), int(begin + random.uniform(*_STALL_NS))) for begin in np.sort(begins)]


def _trial_document(name: str, position: int, phases: Sequence[Phase]) -> dict[str, Any]:
    """What the report job reads of a trial.json before it looks at rows."""
    return {
        "schema": 1,
        "trial": name,
        "block": 1,
        "position": position,
        "workload": {"backlog": None},  # what analysis needs to know which phase counts
        "phases": [asdict(phase) for phase in phases],
    }


def _write_json(path: Path, document: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1))
