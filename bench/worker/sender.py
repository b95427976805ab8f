"""Runs on a client host, `python -m bench.worker.sender`: one message at a time, the next when the one before is acknowledged.

In: a line of JSON (`SenderJob`), then a line to begin. Out, lines of JSON: `ready`, a `message` each, `done`, or `failed`. Times are
the wall clock's, ns since the epoch: `sent_ns` just before the client's send call, `acked_ns` first thing in its callback.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, cast

from bench.worker.job import read_job
from bench.worker.main import Events, take_over_output
from bench.worker.one_answer import Answer, OneAnswer
from systems.client import ClientError, ClientModule, ClientSpec

# Beyond the client's own timeout, after which it must have said what became of the message.
_SETTLED_AFTER_S = 30.0
_MARKS = 10**6


@dataclass(frozen=True)
class SenderJob:
    """What to send: `messages` of `client.workload.message_bytes` bytes each, marked by `run`."""

    client: ClientSpec
    messages: int
    run: str

    def to_line(self) -> str:
        """As one line of JSON."""
        return json.dumps(asdict(self))


def sender_job_of(line: str) -> SenderJob:
    """Reads `SenderJob.to_line`. Raises ValueError for anything else, such as a job of another version."""
    return read_job(line, lambda fields: SenderJob(**fields))


def marker(run: str, sequence: int) -> str:
    """What identifies a message wherever its bytes turn up."""
    return f"samebox-proof-{run}-{sequence:06d};"


def marked_payload(run: str, sequence: int, message_bytes: int) -> bytes:
    """A message: its marker, repeated to the end, so that a buffer that is printed or read in part still shows it.

    Raises ValueError for a sequence or size that a marker doesn't fit into.
    """
    text = marker(run, sequence).encode()
    if sequence >= _MARKS or len(text) > message_bytes:
        raise ValueError(f"the marker of sequence {sequence} doesn't fit into {message_bytes} bytes")
    return (text * (message_bytes // len(text) + 1))[:message_bytes]


def sequences_in(text: str, run: str) -> set[int]:
    """The messages of the run of which a printed buffer has at least a part."""
    return {int(found) for found in re.findall(rf"samebox-proof-{re.escape(run)}-(\d{{6}});", text)}


def send_one_by_one(
    job: SenderJob,
    module: ClientModule,
    emit: Callable[[str, Mapping[str, Any]], None],
    await_begin: Callable[[], bool],
) -> None:
    """Sends all messages, or until one isn't acknowledged: what follows it would show nothing. Raises ClientError."""
    answer, timeout_s = OneAnswer(), job.client.delivery_timeout_s + _SETTLED_AFTER_S
    producer = module.connect_producer(job.client, answer)
    emit("ready", {})
    begun = await_begin()
    for sequence in range(job.messages if begun else 0):
        payload = marked_payload(job.run, sequence, job.client.workload.message_bytes)
        sent_ns = time.time_ns()
        producer.send(sequence, payload)
        came = answer.await_it(timeout_s) or Answer(None, f"neither acknowledged nor given up within {timeout_s:g} s")
        emit("message", {"sequence": sequence, "sent_ns": sent_ns, **asdict(came)})
        if came.error is not None:
            break
    emit("done", {})
    producer.close()


def main() -> None:
    """Does one job, then ends the process without giving libraries a chance to hang in their destructors."""
    events = Events(take_over_output())
    status = 0
    try:
        job = sender_job_of(sys.stdin.readline())
        module = cast(ClientModule, importlib.import_module(job.client.module))
        send_one_by_one(job, module, events.emit, lambda: bool(sys.stdin.readline()))
    except (ClientError, ValueError, ImportError) as error:
        events.emit("failed", {"error": f"{type(error).__name__}: {error}"})
        status = 1
    os._exit(status)


if __name__ == "__main__":
    main()
