"""The receiving loop: notes every message the moment the client hands it over, until it is stopped or its deadline has passed."""

from __future__ import annotations

import time
from collections.abc import Callable

from bench.worker.control import Control
from bench.worker.receive_log import Batch, ReceiveLog
from systems.client import Consumer

_RECEIVE_TIMEOUT_S = 0.1


def receive_until_started(client: Consumer, log: ReceiveLog, control: Control, *, timeout_s: float) -> int | None:
    """The start instant, or None when aborted. It receives while it waits: a consumer that doesn't ask for messages
    doesn't take part in assigning the partitions either, and would hold up the others of its subscription.
    """
    deadline_ns = time.monotonic_ns() + round(timeout_s * 1e9)
    while control.start_ns is None and not control.stopped and time.monotonic_ns() < deadline_ns:
        messages = client.receive(_RECEIVE_TIMEOUT_S)
        if messages:
            log.note(messages, time.monotonic_ns())
    return control.await_start(timeout_s, waited_s=timeout_s)


def release_at(client: Consumer, control: Control, release_ns: int) -> None:
    """Releases a held-back consumer at `release_ns` (monotonic). Until then it asks and gets nothing, so it stays a group member."""
    while time.monotonic_ns() < release_ns and not control.stopped:
        client.receive(min(_RECEIVE_TIMEOUT_S, max(0.001, (release_ns - time.monotonic_ns()) / 1e9)))
    client.release()


def receive_until_told(
    client: Consumer, log: ReceiveLog, control: Control, write: Callable[[Batch], None], *, deadline_ns: int
) -> None:
    """`write` takes full batches (on another thread, so that a file doesn't delay the next receipt)."""
    while not control.stopped and time.monotonic_ns() < deadline_ns:
        messages = client.receive(_RECEIVE_TIMEOUT_S)
        if messages:
            log.note(messages, time.monotonic_ns())
            full = log.full()
            if full is not None:
                write(full)
