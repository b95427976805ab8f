"""What one producer sent, as far as its records must agree with its schedule, and what its consumers received with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bench.verify.phases import phase_names
from bench.verify.trials import Recorded
from bench.worker.schedule import SECOND_NS, Schedule

NO_PARTITION = -1
SLACK = 1_000
BEYOND_NS = 3600 * SECOND_NS


@dataclass(frozen=True)
class Due:
    """What producer `number` was to send, by workload and seed. `began_ns`: since the epoch; `schedule`: as long as it lasted."""

    number: int
    began_ns: int
    schedule: Schedule

    def intended(self) -> Iterator[NDArray[np.int64]]:
        """Its messages' times since the epoch, in chunks; on beyond the end, which a load that was ended early can miss by a little."""
        longer = replace(self.schedule, measure_ns=self.schedule.measure_ns + BEYOND_NS)
        return (self.began_ns + offsets for offsets in longer.offsets_ns(self.number))

    @property
    def about(self) -> int:
        """How many messages these are, give or take chance: some schedules are too long to be gone through."""
        return self.schedule.rate_per_s * self.schedule.duration_ns // SECOND_NS // self.schedule.producers


def due(trial: Recorded, producer: int, seed: int) -> Due | None:
    """The schedule of a producer; None: in a closed loop nothing says it beforehand. `seed`: the campaign's."""
    workload, phases = trial.document["workload"], trial.document["phases"]
    pacing = workload.get("pacing")
    if pacing == "closed-loop":
        return None
    search = trial.document["observations"].get("search") or {}
    rate_per_s = search["attempts"][-1]["rate_per_s"] if pacing == "search" else workload["rate_per_s"]
    began_ns, ended_ns = int(phases[0]["start_ns"]), int(phases[-1]["end_ns"])
    block_seed = seed + int(trial.document["block"])
    arrivals, producers = workload["arrivals"], int(workload["producers"])
    return Due(producer, began_ns, Schedule(int(rate_per_s), producers, arrivals, 0, ended_ns - began_ns, block_seed))


class Producer:
    """The messages of one producer, told in their order; 12 bytes are kept of each."""

    def __init__(self, number: int, trial: Recorded, seed: int) -> None:
        self._number, self._phases = number, trial.document["phases"]
        self._watched_until_ns = trial.watched_until_ns("producers")
        # where no broker answers, no client knows for sure where a message went
        self._knows_partitions = trial.document["durability"].get("replication") != "none"
        self._due = due(trial, number, seed)
        self._schedule = self._due.intended() if self._due is not None else None
        self._ahead: NDArray[np.int64] = np.empty(0, np.int64)  # of the schedule, not compared yet
        self._intended: list[NDArray[np.int64]] = []
        self._partition: list[NDArray[np.int32]] = []
        self._rows, self._last_intended_ns, self._last_sent_ns = 0, 0, 0
        self._joined: tuple[NDArray[np.int64], NDArray[np.int32]] | None = None

    def wrong(self, rows: pa.Table) -> str | None:
        """Takes the next rows; returns what can't be in them, one sentence."""
        count, first = rows.num_rows, self._rows
        intended, sent = rows["intended_ns"].to_numpy(), rows["sent_ns"].drop_null().to_numpy()
        partition = rows["partition"].fill_null(pa.scalar(NO_PARTITION, pa.int32())).to_numpy().astype(np.int32)
        self._rows += count
        self._intended.append(intended)
        self._partition.append(partition)
        if not count:
            return None
        if np.any(rows["producer"].to_numpy() != self._number):
            return f"it holds rows of another producer than {self._number}"
        if not np.array_equal(rows["sequence"].to_numpy(), np.arange(first, first + count)):
            return f"its sequence numbers don't go on from {first:,} one by one"
        if intended[0] < self._last_intended_ns or np.any(np.diff(intended) < 0):
            return "its intended times don't ascend"
        if self._schedule is not None and not np.array_equal(intended, self._scheduled(count)):
            return "its intended times aren't those of the schedule that follows from workload and seed"
        if len(sent) and (sent[0] < self._last_sent_ns or np.any(np.diff(sent) < 0)):
            return "its messages weren't sent one after another"
        if not rows["acked_ns"].is_null().equals(rows["partition"].is_null()):
            return "acknowledged messages lack a partition, or others have one"
        if np.any(rows["acked_ns"].drop_null().to_numpy() > self._watched_until_ns):
            return "messages were acknowledged after its trial had stopped to listen"
        if not np.array_equal(rows["phase"].to_numpy(), phase_names(intended, self._phases)):
            return "rows have another phase than that of their intended times"
        self._last_intended_ns = int(intended[-1])
        self._last_sent_ns = int(sent[-1]) if len(sent) else self._last_sent_ns
        return None

    def incomplete(self) -> str | None:
        """How its records and its schedule differ in length, once all rows were taken."""
        if self._due is None:
            return None
        # one that is far longer isn't gone through: it may be without end
        scheduled = self._due.about
        if scheduled <= 2 * self._rows + SLACK:
            scheduled = self._due.schedule.count(self._number)
        return (
            f"its schedule has {scheduled:,} messages, and its records {self._rows:,}"
            if scheduled != self._rows
            else None
        )

    def has(self, sequence: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of these numbers are those of its messages."""
        return np.asarray((sequence >= 0) & (sequence < self._rows))

    def contradiction(
        self,
        sequence: NDArray[np.int64],
        intended: NDArray[np.int64],
        partition: NDArray[np.int32],
    ) -> str | None:
        """What of receipts can't be of these messages; they are messages that there are."""
        if not len(sequence):
            return None
        if self._joined is None:
            self._joined = np.concatenate(self._intended), np.concatenate(self._partition)
        intended_ns, partitions = self._joined
        if np.any(intended_ns[sequence] != intended):
            return (
                f"messages of producer {self._number} were received with other intended times than they were sent with"
            )
        sent_to = partitions[sequence]
        if self._knows_partitions and np.any((sent_to != partition) & (sent_to != NO_PARTITION)):
            return f"messages of producer {self._number} were received from other partitions than they were sent to"
        return None

    def _scheduled(self, count: int) -> NDArray[np.int64]:
        """The next intended times of the schedule, fewer where it ends."""
        assert self._schedule is not None
        chunks: list[NDArray[np.int64]] = [self._ahead]
        have = len(self._ahead)
        while have < count and (chunk := next(self._schedule, None)) is not None:
            chunks.append(chunk)
            have += len(chunk)
        ahead = np.concatenate(chunks)
        self._ahead = ahead[count:]
        return ahead[:count]
