"""The worker process on a client host: `python -m bench.worker.main [CLIENT_MODULE ...]`, which are loaded before the first job.

Jobs and orders come by standard input, events go out. It never outlives its operator: the end of its input ends it, by force if
a client library hangs. Libraries can't write into the stream of events.
"""

from __future__ import annotations

import faulthandler
import gc
import importlib
import os
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any, TextIO

from bench.worker.connection import Connection
from bench.worker.control import Inbox
from bench.worker.job import event, job_of
from bench.worker.work import Emit, work

# A thread held up longer than a scheduler hiccup by one that computes would be late with an acknowledgement's time.
_SWITCH_INTERVAL_S = 0.001
_END_BY_FORCE_AFTER_S = 20.0
# No heartbeat for so long: the interpreter itself is stuck inside a library (faulthandler needs no interpreter to end it).
_STUCK_AFTER_S = 90.0
_STRAY_BYTES = 64 * 1024


class Events:
    """The stream of events: whole lines, from any thread. If nobody reads them any more, the end of our input will tell."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def emit(self, name: str, fields: Mapping[str, Any]) -> None:
        """Writes one event."""
        with self._lock:
            try:
                self._stream.write(event(name, fields) + "\n")
                self._stream.flush()
            except (OSError, ValueError):
                return


def take_over_output() -> TextIO:
    """Reserves standard output for events: what libraries print there goes to standard error instead, and only its beginning.

    (A client in trouble has been seen to print millions of lines.)
    """
    own = os.fdopen(os.dup(1), "w")
    reading, writing = os.pipe()
    os.dup2(writing, 1)
    os.close(writing)
    threading.Thread(target=_pass_on, args=(reading,), name="stray-output", daemon=True).start()
    return own


def _pass_on(reading: int) -> None:
    left = _STRAY_BYTES
    while piece := os.read(reading, 65_536):
        if left > 0:
            os.write(2, piece[:left])
            left -= len(piece)


def serve(inbox: Inbox, emit: Emit, alive: Callable[[float | None], None] = lambda _within_s: None) -> int:
    """Does one job after another and returns the exit status. `alive` gets the seconds until its next call at the latest, if known."""
    connection = Connection()
    while (given := inbox.next_job()) is not None:
        line, control = given
        try:
            job = job_of(line)
        except ValueError as error:
            emit("failed", {"cause": "worker", "error": str(error)})
            return 2
        # until the first heartbeat; connecting and waiting for the start have deadlines of their own
        alive(job.start_timeout_s + 2 * job.client.connect_timeout_s + _STUCK_AFTER_S)
        if not work(job, control, connection, emit, heartbeat=lambda: alive(_STUCK_AFTER_S)):
            return 1
        if control.abort_reason is not None:
            break
        alive(None)
    connection.close()
    return 0


def main() -> None:
    """Serves, then ends the process without giving libraries a chance to hang in their destructors."""
    events = Events(take_over_output())
    sys.setswitchinterval(_SWITCH_INTERVAL_S)
    # Everything here is freed by its last reference. The cycle collector would find nothing, walk through all that is in
    # flight over and over (a fifth of the client's CPU), and its pauses would be send delay.
    gc.disable()
    inbox = Inbox(on_abort=lambda: _end_by_force(events))
    threading.Thread(target=inbox.follow, args=(sys.stdin,), name="orders", daemon=True).start()
    for client_module in sys.argv[1:]:
        importlib.import_module(client_module)
    _end(serve(inbox, events.emit, _watch))


def _watch(within_s: float | None) -> None:
    if within_s is None:
        faulthandler.cancel_dump_traceback_later()
    else:
        faulthandler.dump_traceback_later(within_s, exit=True)


def _end_by_force(events: Events) -> None:
    def end() -> None:
        events.emit(
            "failed",
            {"cause": "worker", "error": f"still busy {_END_BY_FORCE_AFTER_S:g} s after its end: killed"},
        )
        faulthandler.dump_traceback()
        _end(3)

    timer = threading.Timer(_END_BY_FORCE_AFTER_S, end)
    timer.daemon = True
    timer.start()
    faulthandler.dump_traceback_later(_END_BY_FORCE_AFTER_S + 10, exit=True)


def _end(status: int) -> None:
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
