"""Runs on a client host, `python -m bench.proof.sender`: one message at a time, the next when the one before is acknowledged.

In: a line of JSON (`SenderJob`), then a line to begin. Out, lines of JSON: `ready`, a `message` each, `done`, or `failed`. Times are
the wall clock's, ns since the epoch: `sent_ns` just before the client's send call, `acked_ns` first thing in its callback.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, cast

from bench.clients.client import ClientError, ClientModule, ClientSpec
from bench.load.worker import Events, take_over_output
from bench.proof.marked import marked_payload

# Beyond the client's own timeout, after which it must have said what became of the message.
_SETTLED_AFTER_S = 30.0


@dataclass(frozen=True)
class SenderJob:
    """What to send: `messages` of `client.message_bytes` bytes each, marked by `run`."""

    client: ClientSpec
    messages: int
    run: str

    def to_line(self) -> str:
        """As one line of JSON."""
        return json.dumps(asdict(self))


def sender_job_of(line: str) -> SenderJob:
    """Reads `SenderJob.to_line`. Raises ValueError when it is not one of this version."""
    try:
        fields: dict[str, Any] = json.loads(line)
        return SenderJob(**{**fields, "client": ClientSpec(**fields["client"])})
    except (TypeError, KeyError, ValueError) as error:
        raise ValueError(f"not a job of this version: {error}") from None


class OneAnswer:
    """Implements Acknowledgements for the one message that is under way."""

    def __init__(self) -> None:
        self._settled = threading.Event()
        self._acked_ns: int | None = None
        self._error: str | None = None

    def acknowledged(self, sequence: int, partition: int) -> None:
        self._acked_ns = time.time_ns()
        del sequence, partition
        self._settled.set()

    def failed(self, sequence: int, error: str) -> None:
        del sequence
        self._error = error
        self._settled.set()

    def await_it(self, timeout_s: float) -> tuple[int | None, str | None]:
        """When it was acknowledged, or why it never was; ready for the next message afterwards."""
        if not self._settled.wait(timeout_s):
            return None, f"neither acknowledged nor given up within {timeout_s:g} s"
        outcome = self._acked_ns, self._error
        self._settled.clear()
        self._acked_ns = self._error = None
        return outcome


def send_one_by_one(
    job: SenderJob,
    module: ClientModule,
    emit: Callable[[str, Mapping[str, Any]], None],
    await_begin: Callable[[], bool],
) -> None:
    """Sends all messages, or until one isn't acknowledged: what follows it would show nothing. Raises ClientError."""
    answer = OneAnswer()
    producer = module.connect_producer(job.client, answer)
    emit("ready", {})
    begun = await_begin()
    for sequence in range(job.messages if begun else 0):
        payload = marked_payload(job.run, sequence, job.client.message_bytes)
        sent_ns = time.time_ns()
        producer.send(sequence, payload)
        acked_ns, error = answer.await_it(job.client.delivery_timeout_s + _SETTLED_AFTER_S)
        emit("message", {"sequence": sequence, "sent_ns": sent_ns, "acked_ns": acked_ns, "error": error})
        if error is not None:
            break
    emit("done", {})
    producer.close()


def main() -> None:
    """Does one job and ends the process without giving libraries a chance to hang in their destructors."""
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
