"""Writes the records of many made-up messages as a results folder that the report job reads like a campaign's. It measures nothing.

The rows go through bench's own tables and writer: files of ten seconds of load, in the encodings of real records.
What is made up is how long an acknowledgement takes: a level that wanders for seconds, a skewed spread of single messages, one
in a thousand far out, and a few stalls in which nothing is acknowledged and a full in-flight window keeps messages from being sent.
With consumers every acknowledged message is received once, but for one of each trial that is lost, and one that comes twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from itertools import zip_longest
from multiprocessing import get_context
from pathlib import Path
from shutil import rmtree

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bench.worker.records import NEVER_NS, RecordFiles, RecordWriter, WrittenFile, produced_table
from bench.worker.schedule import SECOND_NS, Phase, Schedule
from tests.analysis.synthetic_results import Plan, trial_document, write_results
from tests.analysis.synthetic_results import Shape as Asked
from tests.benchmarks.receipts import CONSUMERS, Receipts

MARKER = "generated.json"  # written last: a folder with it is whole
PARTITIONS = 6
BYTES_PER_ROW = 7  # at most, of either kind
_MOST_PER_S = 50_000
_FEWEST_S = 4
_MS = 1_000_000
_LEVEL_STEP_NS = 10 * _MS
_LEVEL_KEPT = 0.995  # of the level's deviation, per step: it wanders over about two seconds
_WINDOW_NS = 100 * _MS  # messages intended so soon after a stall began still fit into the in-flight window
_STALL_NS = (200 * _MS, 1_500 * _MS)
_STALLED_SHARE = 0.005  # of the measure phase, at most: more, and the send delay's p99 would make the trial invalid


@dataclass(frozen=True)
class Shape:
    """What is generated; two folders of equal shape hold equal rows. `messages` are of all trials together, warm-up included."""

    messages: int
    trials: int
    is_read: bool = False  # by consumers, who record a receipt for each
    producers: int = 2
    unacknowledged_per_million: int = 40
    stalls: int = 1
    seed: int = 20
    generator: int = 3  # raised when the same shape comes to mean other rows

    @property
    def asked(self) -> Asked:
        """The workload of each trial, in whole seconds."""
        messages = self.messages // self.trials
        rate_per_s = min(_MOST_PER_S, messages // _FEWEST_S)
        seconds = messages // rate_per_s
        warmup_s = max(1, seconds // 10)
        return Asked(rate_per_s, warmup_s, seconds - warmup_s, self.producers, PARTITIONS)

    @property
    def schedule(self) -> Schedule:
        """The schedule of each trial."""
        asked = self.asked
        warmup_ns, measure_ns = asked.warmup_s * SECOND_NS, asked.measure_s * SECOND_NS
        return Schedule(asked.rate_per_s, self.producers, "constant", warmup_ns, measure_ns, self.seed)

    @property
    def plans(self) -> list[Plan]:
        """The trials: two systems in turn, in blocks of two."""
        systems = ("kafka", "pulsar")
        return [
            Plan(f"b{1 + at // 2:02d}-{1 + at % 2}-{systems[at % 2]}", 1 + at // 2, 1 + at % 2, systems[at % 2], only_telemetry=True)
            for at in range(self.trials)
        ]  # fmt: skip

    @property
    def most_bytes(self) -> int:
        """What it takes on disk, at most."""
        return self.messages * (2 if self.is_read else 1) * BYTES_PER_ROW


@dataclass(frozen=True)
class Written:
    """What a folder holds: rows and bytes of its record files, by kind (produced, consumed), and how many files that is."""

    rows: dict[str, int]
    bytes: dict[str, int]
    files: int


def is_whole(folder: Path, shape: Shape) -> bool:
    """Whether the folder holds the rows of this shape, every file in its full length."""
    marker = folder / MARKER
    if not marker.is_file():
        return False
    written = json.loads(marker.read_text())
    files: dict[str, list[int]] = written["files"]
    return bool(written["shape"] == asdict(shape)) and all(
        (folder / name).is_file() and (folder / name).stat().st_size == size for name, (_, size) in files.items()
    )


def written_in(folder: Path) -> Written:
    """What was generated there."""
    files: dict[str, list[int]] = json.loads((folder / MARKER).read_text())["files"]
    rows, sizes = {"produced": 0, "consumed": 0}, {"produced": 0, "consumed": 0}
    for name, (count, size) in files.items():
        kind = Path(name).parent.name
        rows[kind] += count
        sizes[kind] += size
    return Written(rows, sizes, len(files))


def generate(folder: Path, shape: Shape, progress: Callable[[str], None], processes: int = 1) -> None:
    """Writes the results folder anew: documents, the rows of every trial, and the marker last."""
    rmtree(folder, ignore_errors=True)
    write_results(folder, shape.plans, shape.asked)
    files: dict[str, tuple[int, int]] = {}
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:  # pyarrow's threads wouldn't survive a fork
        trials = [pool.submit(_write_trial, folder, shape, number) for number in range(shape.trials)]
        for done, trial in enumerate(as_completed(trials), start=1):
            files |= trial.result()
            progress(f"generated trial {done} of {shape.trials}")
    (folder / MARKER).write_text(json.dumps({"shape": asdict(shape), "files": files}, indent=1))


def _write_trial(folder: Path, shape: Shape, number: int) -> dict[str, tuple[int, int]]:
    """One trial's rows, and what its trial.json says of them: rows and bytes of every file."""
    plan = shape.plans[number]
    place = folder / "trials" / plan.name
    document = json.loads((place / "trial.json").read_text())
    start_ns, rows = document["phases"][0]["start_ns"], document["rows"]
    phases = shape.schedule.phases(start_ns)
    receipts = Receipts(np.random.default_rng([shape.seed, number, 1]), phases)
    files: dict[str, tuple[int, int]] = {}
    acknowledged, loaded_s = 0, 0.0

    def note(written: WrittenFile) -> None:
        files[f"trials/{plan.name}/{written.name}"] = written.rows, written.bytes
        rows[Path(written.name).parent.name] += written.rows

    to = RecordFiles(place, 0, lambda: phases, note, monotonic_s=lambda: loaded_s)
    producers, consumers = ([RecordWriter(to) for _ in range(count)] for count in (shape.producers, CONSUMERS))
    for part, tables in enumerate(_parts(shape, number, phases)):
        for producer, table in tables.items():
            producers[producer].add(table, f"produced/producer-{producer:04d}-{part:08d}.parquet")
            acknowledged += table.num_rows - table["acked_ns"].null_count
        if shape.is_read:
            for consumer, table in zip(range(CONSUMERS), receipts.of(list(tables.values())), strict=True):
                consumers[consumer].add(table, f"consumed/consumer-{consumer:04d}-{part:08d}.parquet")
        loaded_s += sum(table.num_rows for table in tables.values()) / shape.schedule.rate_per_s
    for writer in (*producers, *consumers):
        writer.finish()
    document = trial_document(plan, shape.asked, start_ns, rows, acknowledged)
    (place / "trial.json").write_text(json.dumps(document, indent=1))
    return files


def _parts(shape: Shape, trial: int, phases: Sequence[Phase]) -> Iterator[dict[int, pa.Table]]:
    """The produced rows of one trial, a stretch of its schedule at a time, by producer."""
    random = np.random.default_rng([shape.seed, trial])
    level_ns = _wandering_level_ns(random, shape.schedule.duration_ns)
    stalls = _stalls(random, shape)
    first = [0] * shape.producers
    for chunks in zip_longest(*(shape.schedule.offsets_ns(producer) for producer in range(shape.producers))):
        tables: dict[int, pa.Table] = {}
        for producer, offset_ns in enumerate(chunks):
            if offset_ns is None:
                continue
            sent_ns, acked_ns, is_held = _times(random, offset_ns, level_ns, stalls)
            lost = np.flatnonzero(random.random(len(offset_ns)) < shape.unacknowledged_per_million / 1e6)
            start_ns = phases[0].start_ns
            sent_ns, acked_ns = sent_ns + start_ns, acked_ns + start_ns
            acked_ns[lost] = NEVER_NS
            sent_ns[lost[::4]] = NEVER_NS
            held_until_ns = np.where(is_held, sent_ns, NEVER_NS)
            partition = (np.arange(len(offset_ns)) // 100 % PARTITIONS).astype(np.int32)
            errors = dict.fromkeys(lost[::2].tolist(), "timed out")
            tables[producer] = produced_table(
                producer,
                first[producer],
                offset_ns + start_ns,
                sent_ns,
                acked_ns,
                held_until_ns,
                partition,
                errors,
                phases,
            )
            first[producer] += len(offset_ns)
        yield tables


def _times(
    random: np.random.Generator,
    offset_ns: NDArray[np.int64],
    level_ns: NDArray[np.float64],
    stalls: Sequence[tuple[int, int]],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """When each message was sent and acknowledged (ns from the start), and whether a stall held it until it was sent."""
    messages = len(offset_ns)
    sent_ns = offset_ns + (random.lognormal(np.log(60_000), 0.6, messages)).astype(np.int64)
    service_ns = np.interp(offset_ns, np.arange(len(level_ns)) * _LEVEL_STEP_NS, level_ns)
    service_ns *= random.lognormal(0, 0.25, messages)
    far_out = random.random(messages) < 0.001
    service_ns[far_out] *= 1 + random.pareto(1.5, int(far_out.sum()))
    acked_ns = sent_ns + service_ns.astype(np.int64)
    is_held = np.zeros(messages, np.bool_)
    for begin_ns, end_ns in stalls:
        held_back = (offset_ns >= begin_ns + _WINDOW_NS) & (offset_ns < end_ns)
        is_held |= held_back
        sent_ns[held_back] = end_ns + (offset_ns[held_back] - begin_ns) // 20  # caught up in a burst
        waiting = (acked_ns >= begin_ns) & (offset_ns < end_ns)
        acked_ns[waiting] = np.maximum(sent_ns[waiting], end_ns) + service_ns[waiting].astype(np.int64)
    return sent_ns, acked_ns, is_held


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
    longest_ns = _STALLED_SHARE * shape.schedule.measure_ns
    return [(int(begin), int(begin + min(random.uniform(*_STALL_NS), longest_ns))) for begin in np.sort(begins)]
