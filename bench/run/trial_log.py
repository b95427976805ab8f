"""What a trial has done and seen so far, and how failures become the reason that it ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

from bench.campaign.campaign import TrialSpec
from bench.progress import Reporter
from provisioning.errors import DeploymentError, HostError, HostsFailed, HostUnreachable, SameboxError


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
        """Times a step and shows it; told of before it is shown."""
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
    """Cleaning up after a failure must not hide the failure; what it meets is noted as a reason of its own."""
    try:
        action()
    except SameboxError as error:
        lost = _lost_host(error)
        log.end("kit-failed" if lost is None else "host-lost", "validity", str(error), lost)
