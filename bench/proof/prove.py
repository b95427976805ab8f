"""Proves durability levels on a testbed: each system x level freshly deployed, its storing processes traced, messages sent one by one.

No latency is taken from any of it: strace slows a broker by orders of magnitude.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from secrets import token_hex
from typing import Any

from bench.campaign.campaign import TrialSpec
from bench.load.jobs import client_of
from bench.load.load import Limits, load_spec
from bench.progress import Reporter, Step
from bench.proof.judge import Judgement, judge
from bench.proof.observe import MESSAGES_FILE, Observed, observe
from bench.results.folder import write_json
from bench.run.equipped import Equipped
from bench.run.runner import promises_of
from bench.run.trial import TOPIC, plan_of
from bench.worker.sender import SenderJob
from provisioning.errors import DeploymentError, HostUnreachable, SameboxError
from provisioning.hosts import daemons
from provisioning.hosts.host import Host
from provisioning.reset.reset import reset
from provisioning.software.store import Store
from systems.client import ClientSpec
from systems.deployment import Deployment
from systems.processes import states
from systems.registry import DURABILITY, SYSTEMS

# Under strace a message may take seconds, a connection a minute.
DELIVERY_TIMEOUT_S = 120.0
CONNECT_TIMEOUT_S = 180.0
# Nobody needs what a system would still write: its data are thrown away.
STOP_GRACE_S = 5.0


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

    1. reset the hosts
    2. deploy the system at the level, with one topic of one partition
    3. connect the sender, attach strace to every process that stores messages, send, detach
    4. bring the traces here, read what each node did with each message, judge

    A level that can't be deployed or observed is not shown, with the reason. Raises HostUnreachable: the testbed is gone.
    """
    campaign = equipped.prepared.campaign
    deployment = SYSTEMS[spec.system].deployment(hosts, store)
    cell = {
        "system": spec.system,
        "version": deployment.version,
        "durability": asdict(DURABILITY[spec.durability]),
        "settings": promises_of(equipped.prepared).manifest["durability_table"][spec.system][spec.durability],
        "system_profile": campaign.system_profile,
        "evidence_folder": folder.name,
    }
    left = list(steps_of(spec))

    def next_step() -> None:
        reporter.step(left.pop(0).title)

    try:
        next_step()
        reset(hosts, lambda: daemons.stop_everything(hosts, grace_s=STOP_GRACE_S))
        next_step()
        deployment.install()
        deployment.configure(plan_of(spec, campaign, equipped.prepared.profile))
        deployment.start()
        deployment.create_topics()
        next_step()
        client = next(host for host in hosts if host.record.role == "client")
        job = SenderJob(_client_of(deployment, spec), messages, run=token_hex(4))
        python, storing = equipped.pythons[client.name], _storing(deployment, hosts)
        observed = observe(storing, client, python, job, folder, detail=reporter.detail, next_step=next_step)
    except HostUnreachable:
        raise
    except SameboxError as error:
        reporter.skip(len(left))
        return {**cell, "verdict": "not shown", "sentence": f"{error} {error.next_step}".rstrip(), "evidence": None}
    finally:
        daemons.stop_everything(hosts, grace_s=STOP_GRACE_S)
    write_json(folder / MESSAGES_FILE, observed.messages())
    judgement = judge(
        DURABILITY[spec.durability],
        observed.sent,
        observed.nodes,
        clock_bound_ns=observed.clock_bound_ns,
        replicas=campaign.replication_factor,
    )
    evidence = _evidence(observed, judgement)
    return {**cell, "verdict": judgement.verdict, "sentence": judgement.sentence, "evidence": evidence}


def _client_of(deployment: Deployment, spec: TrialSpec) -> ClientSpec:
    limits = Limits(delivery_timeout_s=DELIVERY_TIMEOUT_S, connect_timeout_s=CONNECT_TIMEOUT_S)
    system = SYSTEMS[spec.system]
    return client_of(load_spec(system, spec.workload, deployment.endpoints(), (TOPIC,), seed=0, limits=limits), TOPIC)


def _storing(deployment: Deployment, hosts: Sequence[Host]) -> list[tuple[Host, int]]:
    """The processes that store messages: host, pid."""
    by_name = {host.name: host for host in hosts}
    found = [
        (by_name[state.host], state.pid)
        for state in states(deployment.processes)
        if state.daemon == deployment.storing_daemon and state.pid is not None
    ]
    if not found:
        raise DeploymentError(f"{deployment.system}: no {deployment.storing_daemon} runs that could be traced.")
    return found


def _evidence(observed: Observed, judgement: Judgement) -> dict[str, Any]:
    return {
        **judgement.to_json(),
        "clock_method": observed.clock_method,
        "sync_calls": {node.host: node.syncs for node in observed.nodes},
        "files": {node.host: list(node.files) for node in observed.nodes},
    }
