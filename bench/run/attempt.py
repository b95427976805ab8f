"""One attempt at a trial: noted beside the trial's folder as it goes on, and its log, which becomes trial.json.

Nothing that was cut off is repeated unseen: trial.json lists the attempts before it, and the report counts them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from bench.campaign.order import TrialSpec
from bench.progress import Reporter
from bench.results.folder import Results
from provisioning.errors import DeploymentError, HostError, HostsFailed, HostUnreachable, SameboxError

LOAD = "load"


@dataclass(frozen=True)
class Progress:
    """How far an attempt has got.

    `step`: the trial's step that it is in, None before the first; `load_began_ns`: None if it didn't reach the load. `abort`: as in
    trial.json, where the trial had ended early before the attempt was cut off. `reason`: why it was, None while it lasts and
    where it couldn't be written any more (the program was killed, the machine stopped).
    """

    began_ns: int
    step: str | None = None
    step_began_ns: int | None = None
    load_began_ns: int | None = None
    abort: Mapping[str, Any] | None = None
    reason: str | None = None


class TrialAttempt:
    """An attempt that starts now. `folder`: where the trial's files go."""

    def __init__(self, results: Results, trial: str, now_ns: Callable[[], int] = time.time_ns) -> None:
        self._results, self._trial, self._now_ns = results, trial, now_ns
        self._earlier = results.noted_attempts(trial)
        self._progress, self._cut_off = Progress(began_ns=now_ns()), False
        self.folder: Path = results.begin_trial(trial)
        self._note()

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Notes that the attempt is in this step. If it is cut off inside, this stays its step, whatever is cleaned up afterwards."""
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
        """Notes that the trial ended early; whether it counts isn't known yet."""
        self._progress = replace(self._progress, abort=abort)
        self._note_if_possible()

    def finish(self, document: Mapping[str, Any]) -> None:
        """Writes trial.json and makes the trial's folder whole."""
        self._results.finish_trial(self._trial, {**document, "cut_off_attempts": self._earlier})

    @contextmanager
    def noting_its_end(self) -> Iterator[None]:
        """Notes and re-raises whatever cuts the attempt off inside."""
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
        return "interrupted by Ctrl-C or a signal"
    return str(error) if isinstance(error, SameboxError) else f"{type(error).__name__}: {error}"


@dataclass
class TrialLog:
    """What a trial has done and seen so far; becomes trial.json."""

    spec: TrialSpec
    reporter: Reporter
    on_step: Callable[[str], AbstractContextManager[None]]
    steps: list[dict[str, Any]] = field(default_factory=list)
    settings: Mapping[str, Any] = field(
        default_factory=lambda: {"intended": {}, "effective": {}, "drift": [], "client": {}}
    )
    observations: dict[str, Any] = field(default_factory=dict)
    abort: dict[str, Any] | None = None
    configured: bool = False
    sampled: bool = False
    now_ns: Callable[[], int] = time.time_ns

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Times a step, notes it with the attempt and shows it."""
        with self.on_step(name):
            self.reporter.step(f"{self.spec.trial}: {name}")
            entry = {"name": name, "started_ns": self.now_ns(), "ended_ns": None}
            self.steps.append(entry)
            try:
                yield
            finally:
                entry["ended_ns"] = self.now_ns()

    def end(self, rule: str, axis: str, reason: str, host: str | None = None) -> None:
        """Notes why the trial ended early; the first reason stands."""
        if self.abort is None:
            self.abort = {"rule": rule, "axis": axis, "reason": reason, "host": host}
            self.reporter.notice(f"{self.spec.trial} ended early ({rule}): {reason.splitlines()[0]}")


@contextmanager
def failures_end(log: TrialLog) -> Iterator[None]:
    """Turns a failure of the kit, a host or a deployment into the trial's reason to have ended."""
    try:
        yield
    except SameboxError as error:
        lost = _lost_host(error)
        if lost is not None:
            rule = "host-lost"
        elif isinstance(error, DeploymentError | HostsFailed | HostError):
            rule = "deployment-failed"
        else:
            rule = "kit-failed"
        reason = f"{error} {error.next_step}".rstrip()
        log.end(rule, "validity", reason, lost)


def _lost_host(error: BaseException | None) -> str | None:
    """The host that can't be reached any more, if that is behind the error."""
    if error is None:
        return None
    if isinstance(error, HostUnreachable):
        return error.host
    inner = list(error.errors.values()) if isinstance(error, HostsFailed) else [error.__cause__]
    return next((host for host in map(_lost_host, inner) if host is not None), None)


def quietly(log: TrialLog, action: Callable[[], object]) -> None:
    """Runs a clean-up: its own failure must not hide an earlier one, and is the reason only where there is none."""
    try:
        action()
    except SameboxError as error:
        lost = _lost_host(error)
        log.end("kit-failed" if lost is None else "host-lost", "validity", str(error), lost)
