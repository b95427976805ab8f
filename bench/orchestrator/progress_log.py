"""A campaign's progress as files on its own host: a log of lines, and where it is now. Nobody needs to be watching."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.orchestrator.state import Progress, now_text
from bench.progress import Ledger, PlainReporter, Step
from bench.results.folder import write_json

DETAIL_EVERY_S = 2.0


class ProgressLog:
    """A Reporter that writes plain lines and keeps `progress_file` at the current step."""

    def __init__(self, progress_file: Path, write: Callable[[str], None]) -> None:
        self._file = progress_file
        self._plain = PlainReporter(write)
        self._ledger = Ledger()
        self._title = ""
        self._written_s = 0.0

    def plan(self, steps: Sequence[Step]) -> None:
        self._ledger = Ledger(steps)
        self._plain.plan(steps)

    def step(self, title: str) -> None:
        self._ledger.advance()
        self._title = title
        self._plain.step(title)
        self._keep("")

    def skip(self, count: int) -> None:
        self._ledger.skip(count)
        self._plain.skip(count)

    def detail(self, text: str) -> None:
        if time.monotonic() - self._written_s >= DETAIL_EVERY_S:
            self._keep(text)

    def notice(self, text: str) -> None:
        self._plain.notice(text)

    def close(self) -> None:
        self._plain.close()

    def _keep(self, detail: str) -> None:
        self._written_s = time.monotonic()
        ledger = self._ledger
        progress = Progress(ledger.done, len(ledger.steps), self._title, detail, round(ledger.left_s(), 1), now_text())
        write_json(self._file, dataclasses.asdict(progress))
