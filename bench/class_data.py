"""Runs a system once before its first trial and ends it cleanly, so that all its trials start from class data. It measures nothing.

What happens to fail here fails again, and is recorded, in the trials.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence

from bench.campaign import TrialSpec
from bench.load.driver import limits_for, run_load
from bench.progress import Reporter, Step
from bench.systems import SYSTEMS
from bench.workload import Workload
from provisioning import daemons
from provisioning.deployment import Deployment, Plan, Topic
from provisioning.errors import DeploymentError
from provisioning.host import Host
from provisioning.page_caches import DropCaches, drop_page_caches
from provisioning.reset import reset

# It takes about as long as this many quicker starts save: 45 s to save 8 (Kafka), 100 s to save 14 (Pulsar), on two cores.
PAYS_FROM_TRIALS = 6
TOPIC = Topic("samebox-class-data", 1)
# What it takes to have brokers load all that clients make them use.
WORKLOAD = Workload(
    name="class-data",
    rate_per_s=100,
    message_bytes=1024,
    partitions=1,
    producers=1,
    consumers=1,
    warmup_s=1,
    measure_s=2,
)
# Writing an archive takes a process some seconds of computing, and all end at the same time.
_END_S = 120.0


def worth_class_data(trials: Sequence[TrialSpec]) -> tuple[str, ...]:
    """The systems of these trials that are worth it."""
    counts = Counter(spec.system for spec in trials)
    return tuple(name for name, count in counts.items() if count >= PAYS_FROM_TRIALS)


def step_of(system: str) -> Step:
    """The step of `record_class_data` as the progress shows it."""
    return Step(f"class data of {system}", 15.0 + 2 * SYSTEMS[system].start_s)


def record_class_data(
    deployment: Deployment,
    plan: Plan,
    hosts: Sequence[Host],
    pythons: Mapping[str, str],
    reporter: Reporter,
    *,
    drop_caches: DropCaches = drop_page_caches,
) -> None:
    """Runs a system as `plan` says, but for a topic of its own and a load of seconds, through all that is asked of it in a trial.
    Does nothing where every process has its class data.

    Its data are left to the reset of the next trial. Raises HostError, HostsFailed.
    """
    deployment.install()
    if deployment.class_data_there():
        reporter.skip(1)
        return
    reporter.step(step_of(deployment.system).title)
    try:
        reset(hosts, lambda: daemons.stop_everything(hosts), drop_caches=drop_caches)
        deployment.configure(dataclasses.replace(plan, topics=(TOPIC,), record_class_data=True))
        deployment.start()
        deployment.create_topics()
        deployment.effective_settings()
        load = SYSTEMS[deployment.system].load_spec(
            WORKLOAD, deployment.endpoints(), (TOPIC.name,), seed=0, limits=limits_for(WORKLOAD)
        )
        result = run_load(load, [host for host in hosts if host.record.role == "client"], pythons)
        if result.abort is not None:
            raise DeploymentError(f"its load ended early: {result.abort['reason']}")
        deployment.messages_stored()
        deployment.under_replicated()
    except DeploymentError as error:
        daemons.stop_everything(hosts)
        reporter.notice(f"{deployment.system} recorded no class data, so it will start slowly: {error}")
        return
    except BaseException:
        daemons.stop_everything(hosts)
        raise
    killed = daemons.stop_everything(hosts, grace_s=_END_S)
    if not any(killed.values()):
        deployment.keep_class_data()
