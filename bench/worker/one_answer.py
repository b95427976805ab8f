"""One message at a time: handed over, and its acknowledgement awaited."""

from __future__ import annotations

import dataclasses
import threading
import time
from dataclasses import dataclass

from bench.worker.job import Job
from systems.client import ClientError, ClientModule


@dataclass(frozen=True)
class Answer:
    """`acked_ns`: when the client called back (wall clock, since the epoch); None = it gave up, for the reason in `error`."""

    acked_ns: int | None
    error: str | None


class OneAnswer:
    """Implements Acknowledgements for one message after another."""

    def __init__(self) -> None:
        self._settled = threading.Event()
        self._answer = Answer(None, None)

    def acknowledged(self, sequence: int, partition: int) -> None:
        self._answer = Answer(time.time_ns(), None)
        del sequence, partition
        self._settled.set()

    def failed(self, sequence: int, error: str) -> None:
        del sequence
        self._answer = Answer(None, error)
        self._settled.set()

    def await_it(self, timeout_s: float) -> Answer | None:
        """The answer, or None if none came in time. Ready for the next message afterwards."""
        if not self._settled.wait(timeout_s):
            return None
        self._settled.clear()
        return self._answer


def probe(job: Job, module: ClientModule) -> float:
    """Milliseconds from connecting to the acknowledgement of one message on the probe topic, which proves that the system answers.

    The measured topic stays untouched. Raises ClientError.
    """
    spec = dataclasses.replace(job.client, topic=job.probe_topic or "")
    answer = OneAnswer()
    began = time.monotonic()
    producer = module.connect_producer(spec, answer)
    try:
        producer.send(0, bytes(spec.workload.message_bytes))
        came = answer.await_it(spec.connect_timeout_s)
        if came is None:
            raise ClientError("no acknowledgement", f"of a probe message within {spec.connect_timeout_s:g} s")
        if came.error is not None:
            raise ClientError(came.error, "for a probe message")
        return (time.monotonic() - began) * 1e3
    finally:
        producer.close()
