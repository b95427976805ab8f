"""Proves durability levels on a testbed: each system x level freshly deployed, its storing processes traced, messages sent one by one.

What is deployed and sent is a campaign of one small workload. No latency is taken from any of it: strace slows a broker by orders
of magnitude.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any

from bench.campaign.campaign import Campaign
from bench.campaign.campaign_file import CAMPAIGN_SCHEMA
from bench.campaign.order import TrialSpec, empty_cells, order_of
from bench.campaign.system_settings import all_profiles, durability_table
from bench.load.jobs import client_of
from bench.load.load import Limits, load_spec
from bench.progress import Reporter, Step
from bench.proof.judge import judge
from bench.proof.observe import MESSAGES_FILE, read_traces, send_traced
from bench.results.folder import write_json
from bench.run.equipped import Equipped
from bench.worker.sender import SenderJob
from contract.workload import Workload
from provisioning.errors import DeploymentError, HostUnreachable, InvalidInput, SameboxError
from provisioning.hosts import daemons
from provisioning.hosts.host import Host
from provisioning.reset.reset import reset
from systems.deployment import Deployment
from systems.processes import states
from systems.profile import VENDOR_DEFAULT
from systems.registry import DURABILITY, SYSTEMS
from systems.settings import Settings, merged

MESSAGE_BYTES = 1024
WORKLOAD = "one-by-one"
# Under strace a message may take seconds, and connecting a minute.
DELIVERY_TIMEOUT_S = 120.0
CONNECT_TIMEOUT_S = 180.0
# What a system would still write isn't needed: its data are thrown away.
STOP_GRACE_S = 5.0


def levels_to_prove() -> tuple[str, ...]:
    """Every durability that some system has and that promises anything."""
    return tuple(
        name
        for name, durability in DURABILITY.items()
        if durability.replication != "none" and any(name in system.levels for system in SYSTEMS.values())
    )


def proof_campaign(
    systems: Sequence[str],
    levels: Sequence[str],
    messages: int,
    *,
    system_profile: str = VENDOR_DEFAULT,
    settings: Mapping[str, Settings] | None = None,
) -> Campaign:
    """The campaign: one partition, so that one file of a node has all messages; one in flight, alone in its batch.

    No systems or levels means all. `settings` are as a campaign's, over those that make traces speak. Raises InvalidInput naming
    option and valid choices.
    """
    _refuse_unknown("--systems", systems, tuple(SYSTEMS))
    _refuse_unknown("--durability", levels, levels_to_prove())
    _refuse_unknown("--system-profile", [system_profile], all_profiles())
    workload = Workload(
        name=WORKLOAD,
        rate_per_s=100_000_000,
        expected_rate_per_s=messages,
        message_bytes=MESSAGE_BYTES,
        measure_s=1,
        warmup_s=0,
        pacing="closed-loop",
        partitions=1,
        consumers=0,
        batching=False,
        batch_delay_ms=0,
        in_flight=1,
    )
    campaign = Campaign(
        schema=CAMPAIGN_SCHEMA,
        name="durability-proof",
        question="Is a durability level what it says?",
        seed=0,
        systems=tuple(systems or SYSTEMS),
        blocks=1,
        durability=tuple(levels or levels_to_prove()),
        workloads=(workload,),
        order="fixed",
        system_profile=system_profile,
        settings={
            name: merged(SYSTEMS[name].traced_with, (settings or {}).get(name, {})) for name in systems or SYSTEMS
        },
    )
    if not order_of(campaign):
        reasons = "; ".join(f"{cell.system}, level {cell.durability}: {cell.reason}" for cell in empty_cells(campaign))
        raise InvalidInput(f"nothing to prove: {reasons}.")
    return campaign


def _refuse_unknown(option: str, names: Sequence[str], valid: Sequence[str]) -> None:
    for name in names:
        if name not in valid:
            note = " promises nothing." if name in DURABILITY and option == "--durability" else " is unknown."
            raise InvalidInput(f"{option}: {name!r}{note} Valid choices: {', '.join(valid)}.")
    for name in sorted({name for name in names if names.count(name) > 1}):
        raise InvalidInput(f"{option}: {name} is listed twice.")


@dataclass
class _Proof:
    """A level's proof under way: what its steps share."""

    spec: TrialSpec
    messages: int
    equipped: Equipped
    reporter: Reporter
    folder: Path

    def __post_init__(self) -> None:
        self.deployment = self.equipped.deployment(self.spec.contestant)

    def stop(self) -> None:
        daemons.stop_everything(self.equipped.hosts, grace_s=STOP_GRACE_S)

    def reset(self) -> None:
        reset(self.equipped.hosts, self.stop)

    def start(self) -> None:
        self.deployment.install()
        self.deployment.configure(self.equipped.plans[self.spec.trial])
        self.deployment.start()
        self.deployment.create_topics()

    def send(self) -> None:
        system, client = SYSTEMS[self.spec.system], self.equipped.clients[0]
        limits = Limits(delivery_timeout_s=DELIVERY_TIMEOUT_S, connect_timeout_s=CONNECT_TIMEOUT_S)
        [topic] = self.equipped.plans[self.spec.trial].topics
        load = load_spec(system, self.spec.workload, self.deployment.endpoints(), (topic.name,), seed=0, limits=limits)
        job = SenderJob(client_of(load, topic.name), self.messages, run=token_hex(4))
        storing, python = _storing(self.deployment, self.equipped.hosts), self.equipped.pythons[client.name]
        self.traces = send_traced(storing, client, python, job, detail=self.reporter.detail)

    def read(self) -> None:
        self.observed = read_traces(self.traces, self.folder)


# what is done, and how long it usually takes
STEPS: tuple[tuple[str, float, Callable[[_Proof], None]], ...] = (
    ("reset", 3.0, _Proof.reset),
    ("start", 25.0, _Proof.start),
    ("messages", 25.0, _Proof.send),
    ("evidence", 5.0, _Proof.read),
)


def steps_of(spec: TrialSpec) -> tuple[Step, ...]:
    """The steps of one level as the progress shows them."""
    return tuple(Step(f"{spec.system} level {spec.durability}: {name}", estimate_s) for name, estimate_s, _ in STEPS)


def prove_level(spec: TrialSpec, messages: int, equipped: Equipped, reporter: Reporter, folder: Path) -> dict[str, Any]:
    """Proves one level of one system; its evidence goes into `folder`. Returns the cell of proof.json.

    1. reset the hosts
    2. deploy the system at the level, with one topic of one partition
    3. connect the sender, attach strace to every process that stores messages, send, detach
    4. bring the traces here, read what each node did with each message, judge

    A level that can't be deployed or observed is not shown, with the reason. Raises HostUnreachable: the testbed is gone.
    """
    campaign, proof = equipped.campaign, _Proof(spec, messages, equipped, reporter, folder)
    overrides = {spec.system: equipped.plans[spec.trial].overrides}
    levels = durability_table([(spec.contestant, spec.durability)], overrides, campaign.replication_factor)
    cell = {
        "system": spec.system,
        "version": proof.deployment.version,
        "durability": asdict(DURABILITY[spec.durability]),
        "settings": levels[spec.system][spec.durability],
        "system_profile": campaign.system_profile,
        "evidence_folder": folder.name,
    }
    left = list(zip(STEPS, steps_of(spec), strict=True))
    try:
        while left:
            (_, _, action), step = left.pop(0)
            reporter.step(step.title)
            action(proof)
    except HostUnreachable:
        raise
    except SameboxError as error:
        reporter.skip(len(left))
        return {**cell, "verdict": "not shown", "sentence": f"{error} {error.next_step}".rstrip(), "evidence": None}
    finally:
        proof.stop()
    observed = proof.observed
    write_json(folder / MESSAGES_FILE, observed.messages())
    judgement = judge(
        DURABILITY[spec.durability],
        observed.sent,
        observed.nodes,
        clock_bound_ns=observed.clock_bound_ns,
        replicas=campaign.replication_factor,
        untraced=SYSTEMS[spec.system].untraced.get(spec.durability, ""),
    )
    evidence = {
        **judgement.to_json(),
        "clock_method": observed.clock_method,
        "sync_calls": {node.host: node.syncs for node in observed.nodes},
        "files": {node.host: list(node.files) for node in observed.nodes},
    }
    return {**cell, "verdict": judgement.verdict, "sentence": judgement.sentence, "evidence": evidence}


def _storing(deployment: Deployment, hosts: Sequence[Host]) -> list[tuple[Host, int]]:
    """The processes that store messages: host, pid."""
    by_name = {host.name: host for host in hosts}
    found = [
        (by_name[state.host], state.pid)
        for state in states(deployment.processes)
        if state.daemon == deployment.storing_daemon and state.pid is not None
    ]
    if not found:
        raise DeploymentError(
            f"{deployment.system}: no {deployment.storing_daemon} is running, so there is nothing to trace."
        )
    return found
