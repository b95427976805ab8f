"""A worker's job as one line of JSON, and its protocol.

To the worker: the job; then {"start_ns": ...} (epoch, the start barrier); where the length of a phase shows during the run,
{"phase_ends_ns": ..., "end_ns": ...} (both still to come: from when on a backlog counts as read, or the system as warm, and when the
load ends); then {"stop": true} (consumers:
all has arrived) or {"abort": "reason"}. After its `done`, another job, or {"leave": true}. The end of its input means abort.
From the worker, one JSON object a line, `event` first: `ready`, `progress` (twice a second), `file` (a record file is whole),
`done`, or `failed`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeVar

from bench.worker.schedule import SECOND_NS, Schedule
from systems.client import ClientSpec, client_spec_of

T = TypeVar("T")
Role = Literal["producer", "consumer"]
# Why a worker failed: what its client met, its disk being full, or anything else.
Cause = Literal["client", "disk-full", "worker"]


@dataclass(frozen=True)
class Job:
    """One worker's part of a run. `run` marks the run's messages; `subscription` is a consumer's, `probe_topic` a producer's.

    `first_partition`: the number that its topic's partition 0 has in the records, where partitions of several topics are
    numbered through. A closed loop sends when its window has room, at most at the schedule's rate. A consumer that is
    `held_back` begins when the backlog is built.

    `output_dir` is a path on the worker's host. `start_timeout_s` bounds the wait for the barrier, `drain_s` everything after
    the schedule's end: a worker that is told nothing more ends by itself.
    """

    worker: str
    role: Role
    index: int
    subscription: str | None
    run: int
    client: ClientSpec
    schedule: Schedule
    start_timeout_s: float
    probe_topic: str | None
    output_dir: str
    first_partition: int = 0
    held_back: bool = False

    def to_line(self) -> str:
        """The job as one line of JSON."""
        return json.dumps(asdict(self))

    @property
    def closed_loop(self) -> bool:
        """Whether its producer sends when its window has room, at most at the schedule's rate."""
        return self.client.workload.pacing == "closed-loop"

    @property
    def drain_ns(self) -> int:
        """The workload's `drain_s` in nanoseconds."""
        return round(self.client.workload.drain_s * SECOND_NS)


def job_of(line: str) -> Job:
    """Reads `Job.to_line`. Raises ValueError for anything else, such as a job of another version."""
    return read_job(line, lambda fields: Job(**{**fields, "schedule": Schedule(**fields["schedule"])}))


def read_job(line: str, make: Callable[[dict[str, Any]], T]) -> T:
    """What `make` makes of a line's fields, `client` read already. Raises ValueError where it can't."""
    try:
        fields: dict[str, Any] = json.loads(line)
        return make({**fields, "client": client_spec_of(fields["client"])})
    except (TypeError, KeyError, ValueError) as error:
        raise ValueError(f"not a job for this version: {error}") from None


def event(name: str, fields: Mapping[str, Any]) -> str:
    """One line of the worker's output."""
    return json.dumps({"event": name, **fields})
