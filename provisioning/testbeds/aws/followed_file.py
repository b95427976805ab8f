"""A file that another process writes, followed line by line while it grows."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import BinaryIO

LOOK_EVERY_S = 0.05
READ_BYTES = 1 << 20


class FollowedFile(threading.Thread):
    """Hands every line of `file` to `take`, in a thread where Ctrl-C never arrives: no line is lost between two steps.

    A line is handed over once its end has been written; the last one, which may lack it, when nobody writes any more. The file's own
    position isn't used: the writer may share it.
    """

    def __init__(self, file: BinaryIO, take: Callable[[str], None]) -> None:
        super().__init__(name="followed-file", daemon=True)
        self._file = file
        self._take = take
        self._over = threading.Event()
        self._error: BaseException | None = None
        self.start()

    def run(self) -> None:
        """Until nobody writes any more and everything has been read."""
        offset, held = 0, b""
        while True:
            over = self._over.is_set()  # asked first: what was written before the end is read after it
            while read := os.pread(self._file.fileno(), READ_BYTES, offset):
                offset += len(read)
                *lines, held = (held + read).split(b"\n")
                for line in lines:
                    self._take_one(line)
            if over:
                break
            self._over.wait(LOOK_EVERY_S)
        if held:
            self._take_one(held)

    def finish(self) -> None:
        """To be called when nobody writes any more: reads what is left. Raises what taking a line raised, if anything."""
        self._over.set()
        self.join()
        if self._error is not None:
            raise self._error

    def _take_one(self, line: bytes) -> None:
        try:
            if self._error is None:
                self._take(line.decode(errors="replace"))
        except BaseException as error:  # raised in the thread that waits, once the writer has ended
            self._error = error
