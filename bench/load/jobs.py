"""The jobs of one load's workers, from its workload: who sends and reads which topic, who is held back. Pure; it starts nothing."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Iterator, Mapping
from typing import cast

from bench.load.load import LoadSpec
from bench.worker.job import Job
from bench.worker.schedule import Schedule
from systems.client import ClientModule, ClientSpec

CATCH_UP = "catch-up"  # how the subscriptions of a backlog are called


def jobs_of(spec: LoadSpec, schedule: Schedule, run: int) -> list[Job]:
    """Consumers first: they take longer to be ready. Workers are spread evenly over the topics."""
    workload, backlog = spec.workload, spec.workload.backlog
    jobs = list(_consumers(spec, schedule, run, "consumer", workload.consumers, "subscription", workload.subscriptions))
    if backlog is not None:
        late = _consumers(spec, schedule, run, CATCH_UP, backlog.consumers, CATCH_UP, backlog.subscriptions)
        jobs += [dataclasses.replace(job, index=workload.consumers + at, held_back=True) for at, job in enumerate(late)]
    for index in range(workload.producers):
        job = _job(spec, schedule, run, index % len(spec.topics), members=1)
        jobs.append(
            dataclasses.replace(
                job,
                worker=f"producer-{index}",
                index=index,
                probe_topic=spec.probe_topic,
            )
        )
    return jobs


def _consumers(
    spec: LoadSpec, schedule: Schedule, run: int, name: str, count: int, subscription: str, subscriptions: int
) -> Iterator[Job]:
    topics = len(spec.topics)
    for index in range(count):
        topic = index // subscriptions % topics
        job = _job(spec, schedule, run, topic, members=count // (subscriptions * topics))
        yield dataclasses.replace(
            job,
            worker=f"{name}-{index}",
            role="consumer",
            index=index,
            subscription=f"{subscription}-{index % subscriptions}",
        )


def client_of(spec: LoadSpec, topic: str, *, members: int = 1) -> ClientSpec:
    """How a worker of the load connects to one of its topics; `members`: consumers that share it in a subscription."""
    workload, limits = spec.workload, spec.limits
    return ClientSpec(
        module=spec.client_module,
        service_url=spec.service_url,
        topic=topic,
        settings=dict(spec.client_settings),
        workload=workload,
        delivery_timeout_s=limits.delivery_timeout_s,
        connect_timeout_s=limits.connect_timeout_s,
        members=members,
        seed=spec.seed,
    )


def configuration(spec: LoadSpec) -> Mapping[str, Mapping[str, str]]:
    """All that a load's clients give their library, for the record; see ClientModule."""
    client = cast(ClientModule, importlib.import_module(spec.client_module))
    return client.configuration(client_of(spec, spec.topics[0]))


def _job(spec: LoadSpec, schedule: Schedule, run: int, topic: int, *, members: int) -> Job:
    workload, limits = spec.workload, spec.limits
    return Job(
        worker="",
        role="producer",
        index=0,
        subscription=None,
        run=run,
        client=client_of(spec, spec.topics[topic], members=members),
        schedule=schedule,
        start_timeout_s=limits.ready_s + limits.before_start_s + limits.lead_s + 30,
        probe_topic=None,
        output_dir="",
        first_partition=topic * workload.partitions,
    )
