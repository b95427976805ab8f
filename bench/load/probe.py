"""One acknowledged message on a topic of its own: the evidence that the system answers. The measured topic stays untouched."""

from __future__ import annotations

import dataclasses
import threading
import time

from bench.clients.client import ClientError, ClientModule
from bench.load.job import Job


class _FirstAnswer:
    """Implements Acknowledgements for a single message."""

    def __init__(self) -> None:
        self.came = threading.Event()
        self.error: str | None = None

    def acknowledged(self, sequence: int, partition: int) -> None:
        del sequence, partition
        self.came.set()

    def failed(self, sequence: int, error: str) -> None:
        del sequence
        self.error = error
        self.came.set()


def probe(job: Job, module: ClientModule) -> float:
    """Milliseconds from connecting to the acknowledgement of one message on the probe topic. Raises ClientError."""
    spec = dataclasses.replace(job.client, topic=job.probe_topic or "")
    answer = _FirstAnswer()
    began = time.monotonic()
    producer = module.connect_producer(spec, answer)
    try:
        producer.send(0, bytes(spec.message_bytes))
        if not answer.came.wait(spec.connect_timeout_s):
            raise ClientError("no acknowledgement", f"of a probe message within {spec.connect_timeout_s:g} s")
        if answer.error is not None:
            raise ClientError(answer.error, "for a probe message")
        return (time.monotonic() - began) * 1e3
    finally:
        producer.close()
