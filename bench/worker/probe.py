"""One acknowledged message on a topic of its own: the evidence that the system answers. The measured topic stays untouched."""

from __future__ import annotations

import dataclasses
import time

from bench.worker.job import Job
from bench.worker.one_answer import OneAnswer
from systems.client import ClientError, ClientModule


def probe(job: Job, module: ClientModule) -> float:
    """Milliseconds from connecting to the acknowledgement of one message on the probe topic. Raises ClientError."""
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
