"""Runs a system once before its first trial and ends it cleanly, so that it can leave behind what makes later starts quicker.

What fails here fails again in the trials, and is recorded there.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence

from bench.campaign.order import TrialSpec
from bench.load.load import load_spec
from bench.load.worker_pool import run_load
from bench.progress import Reporter, Step
from bench.run.equipped import Equipped
from contract.workload import Workload
from provisioning.errors import DeploymentError
from provisioning.hosts import daemons
from provisioning.reset.reset import reset
from systems.deployment import Topic
from systems.registry import SYSTEMS

# It takes about as long as this many quicker starts save: 45 s to save 8 (Kafka), 100 s to save 14 (Pulsar), on two cores.
PAYS_FROM_TRIALS = 6
TOPIC = Topic("samebox-priming", 1)
# What it takes to have brokers load all that clients make them use.
WORKLOAD = Workload(
    name="priming",
    rate_per_s=100,
    message_bytes=1024,
    partitions=1,
    producers=1,
    consumers=1,
    warmup_s=1,
    measure_s=2,
)
# What a process leaves behind may take it some seconds of computing, and all end at the same time.
_END_S = 120.0


def worth_priming(trials: Sequence[TrialSpec]) -> tuple[TrialSpec, ...]:
    """The first trial of each contestant that has enough of these trials."""
    counts = Counter(spec.contestant.name for spec in trials)
    first = {spec.contestant.name: spec for spec in reversed(trials)}
    return tuple(first[name] for name, count in counts.items() if count >= PAYS_FROM_TRIALS)


def step_of(spec: TrialSpec) -> Step:
    """The step of `prime` as the progress shows it."""
    return Step(f"priming {spec.contestant.name}", 15.0 + 2 * SYSTEMS[spec.system].start_s)


def prime(spec: TrialSpec, equipped: Equipped, reporter: Reporter) -> None:
    """Takes a trial's system through all that a trial asks of it, with a topic of its own and a load of a few seconds. Does nothing
    where every process has been primed.

    Its data are left to the reset of the next trial. Raises HostError, HostsFailed.
    """
    hosts, deployment = equipped.hosts, equipped.deployment(spec.contestant)
    deployment.install()
    if deployment.primed():
        reporter.skip(1)
        return
    reporter.step(step_of(spec).title)
    try:
        reset(hosts, lambda: daemons.stop_everything(hosts), drop_caches=equipped.drop_caches)
        deployment.configure(dataclasses.replace(equipped.plans[spec.trial], topics=(TOPIC,), prime=True))
        deployment.start()
        deployment.create_topics()
        deployment.effective_settings()
        load = load_spec(SYSTEMS[spec.system], WORKLOAD, deployment.endpoints(), (TOPIC.name,), seed=0)
        result = run_load(load, equipped.clients, equipped.pythons)
        if result.abort is not None:
            raise DeploymentError(f"its load ended early: {result.abort['reason']}")
        deployment.messages_stored()
        deployment.under_replicated()
    except DeploymentError as error:
        daemons.stop_everything(hosts)
        reporter.notice(f"{spec.contestant.name} could not be primed, so it will start slowly: {error}")
        return
    except BaseException:
        daemons.stop_everything(hosts)
        raise
    killed = daemons.stop_everything(hosts, grace_s=_END_S)
    if not any(killed.values()):
        deployment.keep_priming()
