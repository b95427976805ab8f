"""Snapshots of brokers and hosts just before a load and just after it, timed so that none disturbs what is measured."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any

from bench.load.abort import Abort
from bench.load.load import Hooks
from bench.run.attempt import TrialLog
from bench.telemetry.collect import Telemetry
from provisioning.errors import DeploymentError, HostError, HostsFailed, SameboxError
from provisioning.hosts import facts
from provisioning.hosts.clocks import ClockBound, clock_bounds
from provisioning.hosts.daemons import DaemonState
from provisioning.hosts.host import Host
from systems.deployment import Deployment
from systems.processes import states
from systems.settings import Settings, drift

NOTHING_COUNTED: Mapping[str, Any] = {"messages_stored": None, "under_replicated": None, "not_counted": {}}
COUNTED_AT_MOST = (
    2  # times: brokers on a busy machine may not answer in time once, and what they have stored doesn't change any more
)


class LoadSnapshots:
    """Starts telemetry, takes a snapshot before and one after; what it finds goes into the trial's log as soon as it is known.

    A context manager around one load that is given `hooks`:

    - on entry: telemetry and the first snapshot start, while clients connect
    - before the first message: waits for both, so that no query runs beside what is measured
    - when everything was received: the system's own count begins, while the drain waits to see that nothing more comes
    """

    def __init__(
        self, deployment: Deployment, intended: Settings, telemetry: Telemetry, hosts: Sequence[Host], log: TrialLog
    ) -> None:
        self._deployment, self._intended, self._telemetry = deployment, intended, telemetry
        self._hosts, self._log = hosts, log
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="load-snapshots")
        self._daemons: Sequence[DaemonState] = ()
        self._clocks: Mapping[str, ClockBound] | None = None
        self._counting: Future[dict[str, Any]] | None = None

    def __enter__(self) -> LoadSnapshots:
        self._before = self._pool.submit(self._take_before)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is not None and not isinstance(error, SameboxError):
            # Ctrl-C: closing the connections ends the queries, whose deadlines would otherwise be waited for
            for host in self._hosts:
                host.close()
        self._pool.shutdown()

    def hooks(self, watch: Callable[[], Abort | None]) -> Hooks:
        """The load's hooks; `watch` may end it, and so does a first snapshot that fails."""

        def watch_both() -> Abort | None:
            if self._before.done():
                self._before.result()
            return watch()

        return Hooks(
            on_progress=self._log.reporter.detail,
            watch=watch_both,
            before_start=self._before_start,
            all_received=self._count_ahead,
        )

    def await_before(self) -> None:
        """Waits for the first snapshot, which may still be going on if the load never started. Raises DeploymentError, HostsFailed."""
        self._before.result()

    def note_clients(self, intended: Settings, effective: Settings) -> None:
        """What clients give their library and what it runs with, by role, beside the brokers' settings."""
        settings = self._log.settings
        wanted = {f"client/{role}": intended[role] for role in effective}
        found = {f"client/{role}": each for role, each in effective.items()}
        self._log.settings = {
            **settings,
            "intended": {**settings["intended"], **wanted},
            "effective": {**settings["effective"], **found},
            "drift": [*settings["drift"], *(dataclasses.asdict(each) for each in drift(wanted, found))],
        }

    def take_after(self) -> None:
        """Looks at processes, clocks and hosts again, and asks for the system's own count unless the trial has ended early.

        Raises HostsFailed.
        """
        if self._log.abort is not None:
            # one that has stopped answering would only let minutes pass
            self._log.observations |= NOTHING_COUNTED
        else:
            self._count_ahead()
        before = self._clocks_once()
        ended = {(state.host, state.daemon): state for state in states(self._deployment.processes)}
        self._log.observations["boot_ids"]["after"] = facts.boot_ids(self._hosts)
        self._log.observations["daemons"] = [
            {
                "host": state.host,
                "daemon": state.daemon,
                "pid_at_start": state.pid,
                "pid_at_end": ended[state.host, state.daemon].pid,
                "rss_peak_bytes": ended[state.host, state.daemon].rss_peak_bytes,
                "out_of_memory": ended[state.host, state.daemon].out_of_memory,
            }
            for state in self._daemons
        ]
        after = clock_bounds(self._hosts)
        self._log.observations["clocks"] = [
            {
                "host": host,
                "bound_before_ns": bound.bound_ns,
                "bound_after_ns": after[host].bound_ns,
                "source": after[host].source,
            }
            for host, bound in before.items()
        ]
        if self._log.abort is None and self._counting is not None:
            self._log.observations |= self._counting.result()

    def _take_before(self) -> None:
        self._telemetry.start()
        self._log.sampled = True
        self._daemons = states(self._deployment.processes)
        self._log.observations["boot_ids"] = {"before": facts.boot_ids(self._hosts)}
        effective = self._deployment.effective_settings()
        self._log.observations["leaders"] = or_none(self._deployment.leaders)
        self._log.settings = {
            "intended": self._intended,
            "effective": effective,
            "drift": [dataclasses.asdict(each) for each in drift(self._intended, effective)],
            "client": dict(self._deployment.endpoints().client_settings),
        }

    def _before_start(self) -> None:
        self.await_before()
        self._clocks_once()

    def _clocks_once(self) -> Mapping[str, ClockBound]:
        """As they were before the first of the load's runs."""
        if self._clocks is None:
            self._clocks = clock_bounds(self._hosts)
        return self._clocks

    def _count_ahead(self) -> None:
        if self._counting is None:
            self._counting = self._pool.submit(_count, self._deployment)


def _count(deployment: Deployment) -> dict[str, Any]:
    reads: dict[str, Callable[[], Any]] = {
        "messages_stored": deployment.messages_stored,
        "under_replicated": lambda: list(deployment.under_replicated()),
    }
    with ThreadPoolExecutor(len(reads)) as pool:
        found = dict(zip(reads, pool.map(_counted, reads.values()), strict=True))
    return {
        **{name: value for name, (value, _) in found.items()},
        "not_counted": {name: why for name, (_, why) in found.items() if why},
    }


def _counted(read: Callable[[], Any]) -> tuple[Any, str]:
    """What it reads, and ""; or None, and why it couldn't in the end."""
    why = ""
    for _ in range(COUNTED_AT_MOST):
        try:
            return read(), ""
        except DeploymentError as error:
            why = str(error)
        except (HostError, HostsFailed) as error:  # also how an interrupt ends the question, which isn't put again then
            return None, str(error)
    return None, why


def or_none(read: Callable[[], Any]) -> Any:
    """None for a counter that a broken system can't give any more; no check takes that for a pass."""
    try:
        return read()
    except (DeploymentError, HostError, HostsFailed):
        return None
