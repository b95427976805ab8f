"""The sender of a durability proof as the operator sees it: started on a client host, told to begin, listened to."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from bench.worker.sender import SenderJob
from provisioning.errors import HostError
from provisioning.hosts.host import Host, RemoteProcess

_LAST_WORDS_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class Sent:
    """One message: ns since the epoch on the client's wall clock. `acked_ns` None = not acknowledged, with `error`."""

    sequence: int
    sent_ns: int
    acked_ns: int | None
    error: str | None = None


class Sender:
    """A connected sender that has sent nothing yet."""

    def __init__(self, host: Host, process: RemoteProcess, lines: Iterator[str]) -> None:
        self._host, self._process, self._lines = host, process, lines

    def await_ready(self) -> None:
        """Raises HostError if it can't connect."""
        self._next("ready")

    def send(self, on_message: Callable[[int], None]) -> tuple[Sent, ...]:
        """All messages; `on_message` is told how many are settled. Raises HostError when the sender fails."""
        self._process.send_line("begin")
        settled: list[Sent] = []
        while (event := self._next("message", "done")) is not None:
            settled.append(Sent(**event))
            on_message(len(settled))
        return tuple(settled)

    def _next(self, *kinds: str) -> dict[str, Any] | None:
        """The next event's fields; None for `done`."""
        line = next(self._lines, None)
        if line is None:
            said = self._process.wait(timeout_s=_LAST_WORDS_TIMEOUT_S).stderr.strip()[-400:]
            raise HostError(self._host.name, f"the proof's sender ended before its time. {said}".rstrip())
        event: dict[str, Any] = json.loads(line)
        kind = event.pop("event")
        if kind not in kinds:
            raise HostError(self._host.name, f"the proof's sender can't go on: {event.get('error', kind)}")
        return None if kind == "done" else event


@contextmanager
def sender_on(host: Host, python: str, job: SenderJob) -> Iterator[Sender]:
    """A sender on a client host, connected to the topic; gone afterwards. Raises HostError."""
    process = host.spawn(f"exec {python} -m bench.worker.sender")
    try:
        process.send_line(job.to_line())
        sender = Sender(host, process, process.lines())
        sender.await_ready()
        yield sender
    finally:
        process.close()
