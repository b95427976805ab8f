"""One trial, from a dirty testbed to files on the operator's disk. What its observations mean is analysis' business."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from bench.campaign.blocks import host_orders
from bench.campaign.estimate import load_s
from bench.campaign.order import TrialSpec
from bench.faults.injector import FaultInjector, clean_up
from bench.load.collect import collect_records
from bench.load.load import LoadResult
from bench.progress import Reporter, Step
from bench.run.attempt import TrialAttempt, TrialLog, failures_end, quietly
from bench.run.equipped import Equipped, share_a_machine
from bench.run.free_space import HostWatch
from bench.run.generator import clear_records, generator_of
from bench.run.snapshot import LoadSnapshots, or_none
from bench.telemetry.collect import Telemetry
from contract.workload import document_of
from provisioning.hosts import daemons
from provisioning.hosts.host import on_all
from provisioning.reset.reset import reset
from systems.processes import collect_logs
from systems.registry import DURABILITY, SYSTEMS

TRIAL_SCHEMA = 1
# Beside its load, a native tool starts twice (producer, consumers) and shuts down slowly.
NATIVE_EXTRA_S = 20.0
# for a partition to be made and for clients to connect to it: 1 ms (Kafka) and 7 ms (Pulsar) on two cores, with 1,000 of them
PARTITION_S = 0.007


class _Trial:
    """A trial under way: what its steps share."""

    def __init__(self, spec: TrialSpec, equipped: Equipped, reporter: Reporter, attempt: TrialAttempt) -> None:
        self.spec, self.equipped, self.folder = spec, equipped, attempt.folder
        self.log = TrialLog(spec, reporter, attempt.step)
        campaign = equipped.campaign
        orders = host_orders(campaign.all_blocks, [host.record for host in equipped.hosts], campaign.seed)
        self.ordered = equipped.in_order(orders[spec.block])
        self.hosts, self.plan = self.ordered.hosts, equipped.plans[spec.trial]
        self.deployment = self.ordered.deployment(spec.contestant)
        self.boot_ids = {name: facts.boot_id for name, facts in equipped.facts.items()}
        self.telemetry = Telemetry(self.hosts, self.boot_ids)
        self.generator = generator_of(spec, self.ordered)
        self.load_result: LoadResult | None = None
        self.faults = self._injector() if spec.workload.faults else None
        self.held = ExitStack()

    def _injector(self) -> FaultInjector:
        return FaultInjector(
            self.spec.workload,
            self.deployment,
            self.hosts,
            seed=self.spec.seed,
            shared=share_a_machine(self.boot_ids.values()),
            say=lambda what: self.log.reporter.notice(f"{self.spec.trial}: {what}"),
        )

    def do(self, step: TrialStep) -> None:
        with self.log.step(step.name):
            step.action(self)

    def reset(self) -> None:
        self.generator.prepare()

        def stop_everything() -> None:
            # a killed orchestrator may have left a fault in effect
            clean_up(self.hosts)
            daemons.kill_everything(self.hosts)

        cleaned = reset(self.hosts, stop_everything, drop_caches=self.equipped.drop_caches)
        self.log.observations["reset"] = cleaned.as_observation()

    def configure(self) -> None:
        self.deployment.install()
        self.intended = self.deployment.configure(self.plan)
        if self.faults is not None:
            self.faults.prepare()
        self.log.configured = True

    def load(self) -> None:
        snapshots = LoadSnapshots(self.deployment, self.intended, self.telemetry, self.hosts, self.log)
        self.snapshots = self.held.enter_context(snapshots)
        endpoints = self.deployment.endpoints()
        on_all("clearing old records", self.ordered.clients, clear_records)
        with HostWatch(self.hosts, full_disk_bytes=self.equipped.prepared.profile.full_disk_bytes) as watch:
            hooks = snapshots.hooks(watch.found)
            if self.faults is not None:
                hooks = self.held.enter_context(self.faults).hooks(hooks)
            result = self.generator.load(endpoints, hooks, stored=lambda: or_none(self.deployment.messages_stored))
        if self.faults is not None:
            self.log.observations["faults"] = self.faults.finish()
        # a broker that ended before the load is what kept clients from connecting, and the reason to give
        snapshots.await_before()
        if result.clients:
            snapshots.note_clients(result.observations["client"], result.clients)
        if result.abort is not None:
            self.log.end(**result.abort)
        self.load_result = result

    def stop(self) -> None:
        self.generator.close()
        quietly(self.log, self.telemetry.stop)
        # no farewells, which take some systems many seconds: nothing of what they save is ever read
        quietly(self.log, lambda: daemons.kill_everything(self.hosts))
        if self.faults is not None:
            quietly(self.log, lambda: clean_up(self.hosts))

    def collect(self) -> None:
        log, load, folder = self.log, self.load_result, self.folder
        self.rows = {"produced": 0, "consumed": 0, "hosts": 0}
        for kind in self.rows:
            (folder / kind).mkdir(parents=True, exist_ok=True)
        lost = {log.abort["host"]} if log.abort is not None and log.abort["rule"] == "host-lost" else set()

        def records() -> None:
            if load is not None:
                # as counted by the writers, also if not all of it can be fetched: the difference must show
                self.rows.update(produced=load.produced_rows, consumed=load.consumed_rows)
                there = [host for host in self.ordered.clients if host.name not in lost]
                if self.equipped.upload is None:
                    collect_records(load, there, folder)
                else:
                    self.equipped.upload.collect(load, there, self.spec.trial)

        def samples() -> None:
            # never those of the trial before
            if log.sampled:
                self.rows["hosts"] = self.telemetry.write(folder / "hosts", lost=lost)

        def logs() -> None:
            if log.configured:
                collect_logs(self.deployment.processes, folder / "logs")

        def output() -> None:
            # never that of the trial before
            if log.sampled:
                self.generator.collect_logs(folder / "logs")

        for action in (records, samples, logs, output):
            quietly(log, action)

    def document(self) -> dict[str, Any]:
        """The trial.json, but for the attempts before."""
        spec, log, load = self.spec, self.log, self.load_result
        observations = dict(log.observations)
        if load is not None:
            observations["workers"] = [dict(worker) for worker in load.workers]
            observations["first_acknowledgement_ms"] = load.first_acknowledgement_ms
            observations["watched_until_ns"] = load.watched_until_ns
            observations.update(load.observations)
        return {
            "schema": TRIAL_SCHEMA,
            "trial": spec.trial,
            "campaign": self.equipped.campaign.name,
            "block": spec.block,
            "block_kind": spec.block_kind,
            "position": spec.position,
            "experiment": spec.experiment,
            "system": spec.system,
            **spec.named,
            "version": self.deployment.version,
            "durability": dataclasses.asdict(DURABILITY[spec.durability]),
            "workload": document_of(spec.workload),
            "generator": spec.generator,
            "ended": "completed" if log.abort is None else "aborted",
            "abort": log.abort,
            "host_order": [host.name for host in self.hosts],
            "hosts": [
                {
                    "name": host.name,
                    "role": host.record.role,
                    "generation": host.record.generation,
                    "instance_id": host.record.instance_id,
                    "instance_type": host.record.instance_type,
                    "boot_id": self.boot_ids[host.name],
                }
                for host in self.equipped.hosts
            ],
            "steps": log.steps,
            "phases": [dict(phase) for phase in load.phases] if load is not None else [],
            "rows": dict(self.rows),
            "records": {file.name: file.bytes for file in load.files} if load is not None else {},
            "settings": dict(log.settings),
            "observations": observations,
        }


@dataclasses.dataclass(frozen=True)
class TrialStep:
    """A step of a trial, with how long it usually takes on two cores."""

    name: str
    estimate_s: Callable[[TrialSpec], float]
    action: Callable[[_Trial], None]


UNTIL_COUNTED = (
    TrialStep("reset", lambda _spec: 3.0, _Trial.reset),
    TrialStep("configure", lambda _spec: 0.5, _Trial.configure),
    TrialStep("start", lambda spec: SYSTEMS[spec.system].start_s - 2.0, lambda trial: trial.deployment.start()),
    TrialStep(
        "topics",
        lambda spec: 2.5 + spec.workload.topics * spec.workload.partitions * PARTITION_S,
        lambda trial: trial.deployment.create_topics(),
    ),
    TrialStep(
        "load",
        lambda spec: load_s(spec.workload) + (NATIVE_EXTRA_S if spec.generator == "native" else 0.0),
        _Trial.load,
    ),
    TrialStep("count", lambda _spec: 1.0, lambda trial: trial.snapshots.take_after()),
)
STOP = TrialStep("stop", lambda _spec: 0.5, _Trial.stop)
COLLECT = TrialStep("collect", lambda _spec: 0.5, _Trial.collect)


def steps_of(spec: TrialSpec) -> tuple[Step, ...]:
    """The steps of `run_trial` as the progress shows them."""
    steps = (*UNTIL_COUNTED, STOP, COLLECT)
    return tuple(Step(f"{spec.trial}: {step.name}", step.estimate_s(spec)) for step in steps)


def run_trial(spec: TrialSpec, equipped: Equipped, reporter: Reporter, attempt: TrialAttempt) -> dict[str, Any]:
    """Runs one trial into the attempt's folder and returns its trial.json, but for the attempts before.

    1. reset: start the load's processes; stop every system, wipe, trim, sync, quiet disks, drop the page caches, verify by canaries
    2. configure, start, topics: whole files from templates; wait until the cluster is complete, then until the topics are
    3. load: while clients connect, read back what the running processes say and note what differs from what was intended; then
       the trial's generator makes it (warm-up, measurement, draining); telemetry beside it
    4. count: the system's own counters and replicas (begun in the drain's last second; not after an aborted load), processes,
       clocks, boot ids
    5. stop: end the system, so that logs no longer change
    6. collect: telemetry and logs onto the operator's disk, records there or into the bucket

    A step that fails ends the trial with its reason; the system is stopped and everything there is gets collected all the same.
    """
    trial = _Trial(spec, equipped, reporter, attempt)
    try:
        with failures_end(trial.log), trial.held:
            for step in UNTIL_COUNTED:
                trial.do(step)
    finally:
        # also after Ctrl-C: a cluster left running would disturb whatever comes next
        trial.do(STOP)
    trial.do(COLLECT)
    return trial.document()
