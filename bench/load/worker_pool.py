"""Drives one load from the operator's side: places workers, starts them together, follows them, ends them. It judges nothing.

1. start a worker process per producer and consumer, round robin over the client hosts, unless they are there from the run
   before; wait until each is ready
2. call `before_start`; give all of them one start instant (in the clients' own clock)
3. follow the progress; a live rule (bench.load.abort) may end the run early
4. when the producers are done, wait until consumers have received all that was acknowledged, call `all_received`, wait to see
   that nothing more comes, then stop them
"""

from __future__ import annotations

import dataclasses
import secrets
from collections import deque
from collections.abc import Mapping, Sequence

from bench.load.jobs import jobs_of
from bench.load.load import NO_HOOKS, RECORDS, Hooks, LoadResult, LoadSpec, schedule_of
from bench.load.run import Run
from bench.load.workers import Workers
from bench.worker.job import Job
from contract.workload import Workload
from provisioning.errors import InvalidInput
from provisioning.hosts.host import Host, RemoteProcess


class WorkerPool:
    """Workers for one or several loads on `hosts` (clients); `pythons` maps host name to the shell words that run Python there.

    Workers stay connected from one run to the next if that has the same workers. After the `with`, whatever was raised within
    it (also KeyboardInterrupt), and after `close`, none is left behind. `client_module`: which client they load as they start;
    None = it isn't known before their job.
    """

    def __init__(self, hosts: Sequence[Host], pythons: Mapping[str, str], client_module: str | None = None) -> None:
        if not hosts:
            raise InvalidInput(
                "no client hosts to place workers on.", next_step="Give the testbed at least one client host."
            )
        self._hosts, self._pythons, self._client_module = hosts, pythons, client_module
        self._idle: deque[RemoteProcess] = deque()
        self._workers = Workers()

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends every worker. Idempotent, bounded in time, never raises."""
        self._workers.close()
        while self._idle:
            self._idle.popleft().close()

    def start_ahead(self, workload: Workload) -> None:
        """Starts the first run's workers ahead of it: they load their libraries meanwhile. Raises HostError."""
        for number in range(len(self._idle), workload.workers):
            self._idle.append(self._spawn(number))

    def run(self, spec: LoadSpec, hooks: Hooks = NO_HOOKS) -> LoadResult:
        """Runs one load. Raises HostError when a worker can't be started.

        A run that a live rule ends has `abort` set; it isn't an exception.
        """
        run_id = secrets.randbits(32)
        directory = f"{RECORDS}/{run_id:08x}"
        schedule = schedule_of(spec)
        self._assign(jobs_of(spec, schedule, run_id), directory)
        run = Run(spec, schedule, self._workers, hooks)
        abort = run.follow()
        return LoadResult(
            directory=directory,
            phases=tuple(dataclasses.asdict(phase) for phase in run.phases()),
            workers=self._workers.observations(),
            files=tuple(file for worker in self._workers.all for file in worker.files),
            samples=tuple(self._workers.samples),
            caught_up=run.caught_up(),
            unread=self._workers.unread(),
            first_acknowledgement_ms=self._workers.first_acknowledgement_ms(),
            watched_until_ns=run.watched_until_ns(),
            clients=self._workers.clients(),
            observations=run.observations(),
            abort=abort.to_json() if abort is not None else None,
        )

    def _assign(self, jobs: Sequence[Job], directory: str) -> None:
        """Reuses the workers of the run before if they are the same ones and done; starts new ones otherwise."""
        placed = [
            dataclasses.replace(job, output_dir=f"{self._host(number).record.root}/{directory}")
            for number, job in enumerate(jobs)
        ]
        workers = self._workers.all
        if (
            workers
            and all(one.state == "done" for one in workers)
            and [one.job.worker for one in workers] == [job.worker for job in jobs]
        ):
            self._workers.assign(placed)
            return
        self._workers.close()
        self._workers = Workers()
        for number, job in enumerate(placed):
            process = self._idle.popleft() if self._idle else self._spawn(number)
            self._workers.add(job, self._host(number), process)

    def _host(self, number: int) -> Host:
        """Where the worker of that number is: round robin."""
        return self._hosts[number % len(self._hosts)]

    def _spawn(self, number: int) -> RemoteProcess:
        host = self._host(number)
        worker = f"exec {self._pythons[host.name]} -m bench.worker.main"
        return host.spawn(worker if self._client_module is None else f"{worker} {self._client_module}")


def run_load(spec: LoadSpec, hosts: Sequence[Host], pythons: Mapping[str, str], hooks: Hooks = NO_HOOKS) -> LoadResult:
    """Runs one load with a pool of its own; see WorkerPool."""
    with WorkerPool(hosts, pythons) as crew:
        return crew.run(spec, hooks)
