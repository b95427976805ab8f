"""Proves durability levels on a testbed: each system x level freshly deployed, its storing processes traced, messages sent one by one.

It observes and lets `judge` judge. No latency is taken from any of it: strace slows a broker by orders of magnitude.
"""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any

from bench.campaign import TrialSpec
from bench.checkout import SCRATCH
from bench.clients.client import ClientSpec
from bench.progress import Reporter, Step
from bench.proof.judge import Judgement, judge
from bench.proof.sender import SenderJob
from bench.proof.sending import Sent, sender_on
from bench.proof.timeline import CALLS, NodeTimeline, timeline_of
from bench.results import write_json
from bench.runner import Equipped
from bench.systems import SYSTEMS
from bench.trial import TOPIC, plan_of
from provisioning import daemons
from provisioning.clocks import clock_bounds
from provisioning.deployment import DURABILITY, Deployment
from provisioning.errors import DeploymentError, HostUnreachable, SameboxError
from provisioning.host import Host, on_all
from provisioning.reset import reset
from provisioning.software.store import Store
from provisioning.strace import Traced, fetch, traced
from provisioning.strace_output import completed_calls

# Under strace a message may take seconds, a connection a minute.
DELIVERY_TIMEOUT_S = 120.0
CONNECT_TIMEOUT_S = 180.0
REPLICAS = 3  # of every topic, where there are so many brokers
# Nobody needs what a system would still write: its data are thrown away.
STOP_GRACE_S = 5.0


@dataclass(frozen=True)
class Observed:
    """What was seen of one level: every message as its client saw it and as each node did."""

    sent: tuple[Sent, ...]
    nodes: tuple[NodeTimeline, ...]
    clock_bound_ns: int
    clock_method: str


def steps_of(spec: TrialSpec) -> tuple[Step, ...]:
    """The steps of one level as the progress shows them."""
    estimates = {"reset": 3.0, "start": 25.0, "messages": 25.0, "evidence": 5.0}
    return tuple(Step(f"{spec.system} level {spec.durability}: {name}", each) for name, each in estimates.items())


def prove_level(
    spec: TrialSpec,
    messages: int,
    equipped: Equipped,
    hosts: Sequence[Host],
    store: Store,
    reporter: Reporter,
    folder: Path,
) -> dict[str, Any]:
    """Proves one level of one system; its evidence goes into `folder`. Returns the cell of proof.json.

    1. reset the hosts, deploy the system at the level, one topic of one partition
    2. connect the sender, attach strace to every process that stores messages, send, detach
    3. bring the traces here, read what each node did with each message, judge

    A level that can't be deployed or observed is not shown, with the reason. Raises HostUnreachable: the testbed is gone.
    """
    durability, campaign = DURABILITY[spec.durability], equipped.prepared.campaign
    deployment = SYSTEMS[spec.system].deployment(hosts, store)
    titles = iter(steps_of(spec))
    cell = {
        "system": spec.system,
        "version": deployment.version,
        "durability": asdict(durability),
        "settings": SYSTEMS[spec.system].durability[spec.durability],
        "overrides": campaign.settings.get(spec.system, {}),
        "evidence_folder": folder.name,
    }
    try:
        reporter.step(next(titles).title)
        reset(hosts, lambda: daemons.stop_everything(hosts, grace_s=STOP_GRACE_S))
        reporter.step(next(titles).title)
        deployment.install()
        deployment.configure(plan_of(spec, campaign, equipped.prepared.profile))
        deployment.start()
        deployment.create_topics()
        observed = _observe(
            deployment,
            spec,
            messages,
            equipped.pythons,
            hosts,
            lambda: reporter.step(next(titles).title),
            reporter.detail,
            folder,
        )
        replicas = min(REPLICAS, len(observed.nodes))
        judgement = judge(
            durability, observed.sent, observed.nodes, clock_bound_ns=observed.clock_bound_ns, replicas=replicas
        )
    except HostUnreachable:
        raise
    except SameboxError as error:
        reporter.skip(len(list(titles)))
        return {**cell, "verdict": "not shown", "sentence": f"{error} {error.next_step}".rstrip(), "evidence": None}
    finally:
        daemons.stop_everything(hosts, grace_s=STOP_GRACE_S)
    write_json(folder / "messages.json", _messages(observed))
    return {
        **cell,
        "verdict": judgement.verdict,
        "sentence": judgement.sentence,
        "evidence": _evidence(observed, judgement),
    }


def _observe(
    deployment: Deployment,
    spec: TrialSpec,
    messages: int,
    pythons: Mapping[str, str],
    hosts: Sequence[Host],
    next_step: Callable[[], None],
    detail: Callable[[str], None],
    folder: Path,
) -> Observed:
    client = next(host for host in hosts if host.record.role == "client")
    run = token_hex(4)
    job = SenderJob(_client_of(deployment, spec), messages, run)
    next_step()
    before = clock_bounds(hosts)
    with sender_on(client, pythons[client.name], job) as sender:
        processes = _storing(deployment, hosts)
        with traced(processes, CALLS, f"{deployment.system}.strace") as outputs:
            sent = sender.send(lambda settled: detail(f"{settled} of {messages} messages"))
    after = clock_bounds(hosts)
    worst = max((before[client.name], after[client.name]), key=lambda bound: bound.bound_ns)
    next_step()
    nodes = on_all("reading traces", [each.host for each in outputs], _reader(outputs, run, folder))
    return Observed(sent, tuple(nodes.values()), worst.bound_ns, worst.method)


def _client_of(deployment: Deployment, spec: TrialSpec) -> ClientSpec:
    endpoints, workload = deployment.endpoints(), spec.workload
    return ClientSpec(
        module=SYSTEMS[spec.system].client_module,
        service_url=endpoints.service_url,
        topic=TOPIC,
        settings=dict(endpoints.client_settings),
        partitions=workload.partitions,
        partitioning=workload.partitioning,
        batch_delay_ms=workload.batch_delay_ms,
        batch_bytes=workload.batch_bytes,
        in_flight=workload.in_flight,
        message_bytes=workload.message_bytes,
        delivery_timeout_s=DELIVERY_TIMEOUT_S,
        connect_timeout_s=CONNECT_TIMEOUT_S,
    )


def _storing(deployment: Deployment, hosts: Sequence[Host]) -> list[tuple[Host, int]]:
    """The processes that store messages: host, pid."""
    by_name = {host.name: host for host in hosts}
    found = [
        (by_name[state.host], state.pid)
        for state in deployment.daemons()
        if state.daemon == deployment.storing_daemon and state.pid is not None
    ]
    if not found:
        raise DeploymentError(f"{deployment.system}: no {deployment.storing_daemon} runs that could be traced.")
    return found


def _reader(outputs: Sequence[Traced], run: str, folder: Path) -> Callable[[Host], NodeTimeline]:
    by_host = {each.host.name: each for each in outputs}

    def read(host: Host) -> NodeTimeline:
        raw, kept = SCRATCH / f"{run}-{host.name}.strace", folder / f"{host.name}.strace.gz"
        kept.parent.mkdir(parents=True, exist_ok=True)
        try:
            fetch(by_host[host.name], raw)
            with raw.open("rb") as source, gzip.open(kept, "wb", compresslevel=6) as target:
                shutil.copyfileobj(source, target)
        finally:
            raw.unlink(missing_ok=True)
        with gzip.open(kept, "rt", errors="surrogateescape") as lines:
            return timeline_of(host.name, completed_calls(lines), run)

    return read


def _messages(observed: Observed) -> list[dict[str, Any]]:
    """Every message with its times, for whoever wants to judge for himself."""
    return [
        {**asdict(message), "nodes": {node.host: asdict(node.of(message.sequence)) for node in observed.nodes}}
        for message in observed.sent
    ]


def _evidence(observed: Observed, judgement: Judgement) -> dict[str, Any]:
    return {
        **judgement.to_json(),
        "clock_method": observed.clock_method,
        "sync_calls": {node.host: node.syncs for node in observed.nodes},
        "files": {node.host: list(node.files) for node in observed.nodes},
    }
