"""The receiving loop: notes every message the moment the client hands it over. Ends when told, aborted, or past its deadline."""

from __future__ import annotations

import time
from collections.abc import Callable

from bench.clients.client import Consumer
from bench.load.consumed import Batch, ConsumedBook
from bench.load.control import Control

_RECEIVE_TIMEOUT_S = 0.1


def receive_until_told(
    client: Consumer, book: ConsumedBook, control: Control, write: Callable[[Batch], None], *, deadline_ns: int
) -> None:
    """`write` takes full batches (on another thread, so that a file doesn't delay the next receipt)."""
    while not control.stopped and time.monotonic_ns() < deadline_ns:
        messages = client.receive(_RECEIVE_TIMEOUT_S)
        if messages:
            book.note(messages, time.monotonic_ns())
            full = book.full()
            if full is not None:
                write(full)
