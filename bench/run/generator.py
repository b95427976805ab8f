"""What makes a trial's load on the client hosts: our own workers, or the system's own load tools."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any

from bench.campaign.order import TrialSpec
from bench.load.jobs import client_of
from bench.load.load import RECORDS, Hooks, LoadResult, load_spec
from bench.load.native import NativeTools
from bench.load.search import find_highest
from bench.load.worker_pool import WorkerPool
from bench.run.equipped import Equipped
from provisioning.hosts.host import Host, on_all
from systems.deployment import Endpoints, Plan
from systems.registry import SYSTEMS


@dataclass(frozen=True)
class WorkerGenerator:
    """Our own load generator, on the client hosts `hosts`."""

    spec: TrialSpec
    plan: Plan
    hosts: Sequence[Host]
    pool: WorkerPool

    def prepare(self) -> None:
        """Starts the workers: that takes time and needs no system, so it goes on while the testbed is reset. Raises HostError."""
        self.pool.start_ahead(self.spec.workload)

    def close(self) -> None:
        """Leaves no process behind, also without `load`. Idempotent, bounded in time, never raises."""
        self.pool.close()

    def load(self, endpoints: Endpoints, hooks: Hooks, *, stored: Callable[[], int | None]) -> LoadResult:
        """Runs the load to its end. `stored`: the system's own count of messages.

        A load that ends early has `abort` set; it isn't an exception. A search can't know which of its runs will be the one that is
        kept, so that none says that it received everything. Raises HostError when a host fails.
        """
        system = SYSTEMS[self.spec.system]
        load = load_spec(
            system,
            self.spec.workload,
            endpoints,
            tuple(topic.name for topic in self.plan.topics),
            seed=self.spec.seed,
            probe_topic=self.plan.probe.name,
        )
        observations: dict[str, Any] = {"client": system.client.configuration(client_of(load, load.topics[0]))}

        def discard(_step: LoadResult) -> None:
            on_all("clearing a step's records", self.hosts, clear_records)

        def count_before() -> None:
            observations["messages_stored_before"] = stored()

        step = ""

        def begin(text: str) -> None:
            nonlocal step
            step = text
            hooks.on_progress(text)

        with self.pool:
            if load.workload.pacing == "search":
                of_a_run = dataclasses.replace(
                    hooks,
                    on_progress=lambda text: hooks.on_progress(f"{step}: {text}"),
                    all_received=lambda: None,
                )
                found = find_highest(
                    load,
                    lambda one: self.pool.run(one, of_a_run),
                    discard,
                    begin,
                    count_before,
                    octaves_below=octaves_below(self.spec.seed, self.spec.trial),
                )
                result, observations["search"] = found.load, found.to_json()
            else:
                result = self.pool.run(load, hooks)
        if result.caught_up is not None:
            observations["caught_up"] = result.caught_up
        return dataclasses.replace(result, observations={**result.observations, **observations})

    def collect_logs(self, target: Path) -> None:
        """Does nothing: the workers' last words are in their observations."""


Generator = WorkerGenerator | NativeTools


def generator_of(spec: TrialSpec, equipped: Equipped) -> Generator:
    """The generator that a trial asks for, over the client hosts."""
    system, plan, clients = SYSTEMS[spec.system], equipped.plans[spec.trial], equipped.clients
    if spec.generator == "native":
        [topic] = plan.topics  # native trials are planned for loads of one topic only
        assert system.native_tool is not None  # a system without one has no native trials
        return NativeTools(system.native_tool, spec.workload, topic.name, clients, equipped.store_of(spec.contestant))
    return WorkerGenerator(spec, plan, clients, WorkerPool(clients, equipped.pythons, system.client_module))


def octaves_below(seed: int, trial: str) -> float:
    """Where a trial's search begins, from 0 to 1: by the seed, so that a trial that is done again begins there again, and each at
    another rate. Else all searches would step on the same rates, and their errors would repeat in every block.
    """
    return random.Random(f"{seed} {trial}").random()


def clear_records(host: Host) -> None:
    """What a load that was cut off left there must not fill the client's disk. The folder stays: it may be a disk of its own."""
    folder = quote(f"{host.record.root}/{RECORDS}")
    host.run(f"mkdir -p {folder} && find {folder} -mindepth 1 -delete")
