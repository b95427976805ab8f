"""One trial, from a dirty testbed to files on the operator's disk. It observes; what the observations mean is analysis' business."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.campaign.campaign import Campaign, TrialSpec
from bench.campaign.estimate import load_s
from bench.campaign.host_order import host_orders
from bench.campaign.system_settings import profile_of
from bench.campaign.testbed_profile import Profile
from bench.load.collect import Collector, Fetch
from bench.load.load import LoadResult
from bench.progress import Reporter, Step
from bench.run.attempt import TrialAttempt
from bench.run.free_space import HostWatch
from bench.run.generator import Generator, clear_records, generator_of
from bench.run.snapshot import AroundLoad, or_none
from bench.run.trial_log import TrialLog, failures_end, quietly
from bench.telemetry.collect import Telemetry
from contract.workload import Workload
from provisioning.hosts import daemons
from provisioning.hosts.host import Host, on_all
from provisioning.hosts.inventory import Inventory
from provisioning.reset.reset import DropCaches, drop_page_caches, reset
from systems.deployment import Deployment, Plan, SoftwareStore, Topic
from systems.processes import collect_logs
from systems.registry import DURABILITY, SYSTEMS
from systems.settings import merged

TRIAL_SCHEMA = 1
TOPIC, PROBE_TOPIC = "samebox", "samebox-probe"
# Beside its load, a native tool starts twice (producer, consumers) and shuts down slowly.
NATIVE_EXTRA_S = 20.0
# for a partition to be made and for clients to connect to it: 1 ms (Kafka) and 7 ms (Pulsar) on two cores, with 1,000 of them
PARTITION_S = 0.007


@dataclass(frozen=True)
class Bench:
    """What trials run on: connected hosts, software, the client hosts' Python, which machine each host is (boot id). And where
    records go."""

    inventory: Inventory
    hosts: tuple[Host, ...]
    store: SoftwareStore
    pythons: Mapping[str, str]
    boot_ids: Mapping[str, str]
    profile: Profile
    collector: Collector = dataclasses.field(default_factory=Fetch)
    drop_caches: DropCaches = drop_page_caches

    def in_order(self, names: Sequence[str]) -> Bench:
        """The same hosts in another order."""
        return dataclasses.replace(self, hosts=tuple(sorted(self.hosts, key=lambda host: names.index(host.name))))

    def with_role(self, role: str) -> tuple[Host, ...]:
        """The connected hosts of one role."""
        return tuple(host for host in self.hosts if host.record.role == role)


def steps_of(spec: TrialSpec) -> tuple[Step, ...]:
    """The steps of `run_trial` as the progress shows them, with how long each usually takes on two cores."""
    partitions = spec.workload.topics * spec.workload.partitions
    estimates = {
        "reset": 3.0,
        "configure": 0.5,
        "start": SYSTEMS[spec.system].start_s - 2.0,
        "topics": 2.5 + partitions * PARTITION_S,
        "load": load_s(spec.workload) + (NATIVE_EXTRA_S if spec.generator == "native" else 0.0),
        "count": 1.0,
        "stop": 0.5,
        "collect": 0.5,
    }
    return tuple(Step(f"{spec.trial}: {name}", estimate) for name, estimate in estimates.items())


def run_trial(
    spec: TrialSpec, campaign: Campaign, bench: Bench, reporter: Reporter, attempt: TrialAttempt
) -> dict[str, Any]:
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
    log = TrialLog(spec, reporter, attempt.step)
    bench = bench.in_order(host_orders(campaign, bench.inventory)[spec.block])
    system = SYSTEMS[spec.system]
    deployment = system.deployment(bench.hosts, bench.store)
    telemetry = Telemetry(bench.hosts, bench.boot_ids)
    generator = generator_of(
        spec,
        topics=topic_names(spec.workload),
        probe_topic=PROBE_TOPIC,
        seed=campaign.seed + spec.block,
        hosts=bench.with_role("client"),
        pythons=bench.pythons,
        store=bench.store,
    )
    load: LoadResult | None = None
    try:
        with failures_end(log):
            with log.step("reset"):
                generator.prepare()
                cleaned = reset(
                    bench.hosts, lambda: daemons.kill_everything(bench.hosts), drop_caches=bench.drop_caches
                )
                log.observations["reset"] = cleaned.as_observation()
            with log.step("configure"):
                deployment.install()
                intended = deployment.configure(plan_of(spec, campaign, bench.profile))
                log.configured = True
            with log.step("start"):
                deployment.start()
            with log.step("topics"):
                deployment.create_topics()
            with AroundLoad(deployment, intended, telemetry, bench.hosts, log) as around:
                with log.step("load"):
                    load = _load(generator, bench, deployment, log, around)
                with log.step("count"):
                    around.look_after()
    finally:
        # also after Ctrl-C: a cluster left running would disturb whatever comes next
        with log.step("stop"):
            generator.close()
            quietly(log, telemetry.stop)
            # no farewells, which take some systems many seconds: nothing of what they save is ever read
            quietly(log, lambda: daemons.kill_everything(bench.hosts))
    with log.step("collect"):
        rows = _collect(deployment, generator, telemetry, load, spec.trial, bench, attempt.folder, log)
    return _document(spec, campaign, bench, deployment, log, load, rows)


def topic_names(workload: Workload) -> tuple[str, ...]:
    """The topics of a trial."""
    if workload.topics == 1:
        return (TOPIC,)
    return tuple(f"{TOPIC}-{number}" for number in range(workload.topics))


def plan_of(spec: TrialSpec, campaign: Campaign, profile: Profile) -> Plan:
    """What a trial asks of its deployment: the system's profile over the testbed's, and the campaign's settings over both."""
    own = profile_of(spec.system, campaign.system_profile, profile.broker_memory_bytes)
    memory_bytes = profile.system_memory_bytes or profile.broker_memory_bytes
    return Plan(
        durability=DURABILITY[spec.durability],
        topics=tuple(Topic(name, spec.workload.partitions) for name in topic_names(spec.workload)),
        probe=Topic(PROBE_TOPIC, 1),
        memory=merged(SYSTEMS[spec.system].memory.for_hosts(memory_bytes), own.memory),
        overrides=merged(own.settings, campaign.settings.get(spec.system, {})),
        daemon_niceness=profile.daemon_niceness,
        replication_factor=spec.replication_factor,
    )


def _load(generator: Generator, bench: Bench, deployment: Deployment, log: TrialLog, around: AroundLoad) -> LoadResult:
    endpoints = deployment.endpoints()
    on_all("clearing old records", bench.with_role("client"), clear_records)
    with HostWatch(bench.hosts, full_disk_bytes=bench.profile.full_disk_bytes) as watch:
        result = generator.load(
            endpoints, around.hooks(watch.found), stored=lambda: or_none(deployment.messages_stored)
        )
    # a broker that ended before the load is what kept clients from connecting, and the reason to give
    around.looked()
    if result.clients:
        around.note_clients(result.observations["client"], result.clients)
    if result.abort is not None:
        log.end(**result.abort)
    return result


def _collect(
    deployment: Deployment,
    generator: Generator,
    telemetry: Telemetry,
    load: LoadResult | None,
    trial: str,
    bench: Bench,
    folder: Path,
    log: TrialLog,
) -> dict[str, int]:
    rows = {"produced": 0, "consumed": 0, "hosts": 0}
    for kind in rows:
        (folder / kind).mkdir(parents=True, exist_ok=True)

    lost = {log.abort["host"]} if log.abort is not None and log.abort["rule"] == "host-lost" else set()

    def records() -> None:
        if load is not None:
            # as counted by the writers, also if not all of it can be fetched: the difference must show
            rows.update(produced=load.produced_rows, consumed=load.consumed_rows)
            there = [host for host in bench.with_role("client") if host.name not in lost]
            bench.collector.collect(load, there, trial, folder)

    def samples() -> None:
        # never those of the trial before
        if log.sampled:
            rows["hosts"] = telemetry.write(folder / "hosts", lost=lost)

    def logs() -> None:
        if log.configured:
            collect_logs(deployment.processes, folder / "logs")

    def output() -> None:
        # never that of the trial before
        if log.sampled:
            generator.collect_logs(folder / "logs")

    for action in (records, samples, logs, output):
        quietly(log, action)
    return rows


def _document(
    spec: TrialSpec,
    campaign: Campaign,
    bench: Bench,
    deployment: Deployment,
    log: TrialLog,
    load: LoadResult | None,
    rows: Mapping[str, int],
) -> dict[str, Any]:
    observations = dict(log.observations)
    if load is not None:
        observations["workers"] = [dict(worker) for worker in load.workers]
        observations["first_acknowledgement_ms"] = load.first_acknowledgement_ms
        observations["watched_until_ns"] = load.watched_until_ns
        observations.update(load.observations)
    return {
        "schema": TRIAL_SCHEMA,
        "trial": spec.trial,
        "campaign": campaign.name,
        "block": spec.block,
        "block_kind": spec.block_kind,
        "position": spec.position,
        "experiment": spec.experiment,
        "system": spec.system,
        "version": deployment.version,
        "durability": dataclasses.asdict(DURABILITY[spec.durability]),
        "workload": dataclasses.asdict(spec.workload),
        "generator": spec.generator,
        "ended": "completed" if log.abort is None else "aborted",
        "abort": log.abort,
        "host_order": [host.name for host in bench.hosts],
        "hosts": [
            {
                "name": host.name,
                "role": host.role,
                "generation": host.generation,
                "instance_id": host.instance_id,
                "instance_type": host.instance_type,
                "boot_id": bench.boot_ids[host.name],
            }
            for host in bench.inventory.hosts
        ],
        "steps": log.steps,
        "phases": [dict(phase) for phase in load.phases] if load is not None else [],
        "rows": dict(rows),
        "records": {file.name: file.bytes for file in load.files} if load is not None else {},
        "settings": dict(log.settings),
        "observations": observations,
    }
