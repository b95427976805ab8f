"""One attempt at a trial, noted beside its folder as it goes on. Nothing that was cut off is done again unseen: a trial's trial.json
lists the attempts before it, and the report counts them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from bench.results.folder import Results
from provisioning.errors import SameboxError

LOAD = "load"


@dataclass(frozen=True)
class Progress:
    """How far an attempt has come.

    `step`: the trial's step that it is in, None before the first; `load_began_ns`: None if it came to no load. `abort`: as in
    trial.json, where the trial had ended early before the attempt was cut off. `reason`: why it was, None while it lasts and
    where nothing was left to say it (the program was killed, the machine stopped).
    """

    began_ns: int
    step: str | None = None
    step_began_ns: int | None = None
    load_began_ns: int | None = None
    abort: Mapping[str, Any] | None = None
    reason: str | None = None


class TrialAttempt:
    """An attempt that begins now. `folder`: where the trial's files go."""

    def __init__(self, results: Results, trial: str, now_ns: Callable[[], int] = time.time_ns) -> None:
        self._results, self._trial, self._now_ns = results, trial, now_ns
        self._earlier = results.noted_attempts(trial)
        self._progress, self._cut_off = Progress(began_ns=now_ns()), False
        self.folder: Path = results.begin_trial(trial)
        self._note()

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """It is in this step of the trial. One that is cut off inside stays the one it came to, whatever is cleaned up afterwards."""
        if not self._cut_off:
            now_ns = self._now_ns()
            loaded_ns = now_ns if name == LOAD else self._progress.load_began_ns
            self._progress = replace(self._progress, step=name, step_began_ns=now_ns, load_began_ns=loaded_ns)
            self._note_if_possible()
        try:
            yield
        except SameboxError:  # which ends a trial early, and no attempt
            raise
        except BaseException:
            self._cut_off = True
            raise

    def ended_early(self, abort: Mapping[str, Any]) -> None:
        """The trial has; whether it counts is still to be seen."""
        self._progress = replace(self._progress, abort=abort)
        self._note_if_possible()

    def finish(self, document: Mapping[str, Any]) -> None:
        """It was the last: the trial is whole."""
        self._results.finish_trial(self._trial, {**document, "cut_off_attempts": self._earlier})

    @contextmanager
    def noting_its_end(self) -> Iterator[None]:
        """What cuts the attempt off inside is noted, and raised as it was."""
        try:
            yield
        except BaseException as error:
            self._progress = replace(self._progress, reason=_in_words(error))
            self._note_if_possible()
            raise

    def _note(self) -> None:
        self._results.note_attempts(self._trial, [*self._earlier, asdict(self._progress)])

    def _note_if_possible(self) -> None:
        # a full disk here must neither keep a system from being stopped nor hide what happened
        with suppress(OSError):
            self._note()


def _in_words(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "told to end, by Ctrl-C or a signal"
    return str(error) if isinstance(error, SameboxError) else f"{type(error).__name__}: {error}"
