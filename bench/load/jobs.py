"""The jobs of one load's workers, from its workload: who sends and reads which topic, who is held back."""

from __future__ import annotations

from bench.load.load import LoadSpec
from bench.worker.job import Job, Role
from bench.worker.schedule import Schedule
from systems.client import ClientSpec

CATCH_UP = "catch-up"  # how the subscriptions of a backlog are called


def jobs_of(spec: LoadSpec, schedule: Schedule, run: int) -> list[Job]:
    """Consumers first: they take longer to be ready. Workers are spread evenly over the topics."""
    workload, backlog, limits, topics = spec.workload, spec.workload.backlog, spec.limits, len(spec.topics)

    def job(
        role: Role,
        name: str,
        index: int,
        topic: int,
        *,
        subscription: str | None = None,
        members: int = 1,
        member: int = 0,
    ) -> Job:
        return Job(
            worker=name,
            role=role,
            index=index,
            subscription=subscription,
            run=run,
            client=client_of(spec, spec.topics[topic], members=members, member=member),
            schedule=schedule,
            start_timeout_s=limits.ready_s + limits.before_start_s + limits.lead_s + 30,
            probe_topic=spec.probe_topic if role == "producer" else None,
            output_dir="",
            first_partition=topic * workload.partitions,
            held_back=subscription is not None and subscription.startswith(CATCH_UP),
        )

    def consumers(name: str, first: int, count: int, subscription: str, subscriptions: int) -> list[Job]:
        return [
            job(
                "consumer",
                f"{name}-{number}",
                first + number,
                number // subscriptions % topics,
                subscription=f"{subscription}-{number % subscriptions}",
                members=count // (subscriptions * topics),
                member=number // (subscriptions * topics),
            )
            for number in range(count)
        ]

    jobs = consumers("consumer", 0, workload.consumers, "subscription", workload.subscriptions)
    if backlog is not None:
        jobs += consumers(CATCH_UP, workload.consumers, backlog.consumers, CATCH_UP, backlog.subscriptions)
    return jobs + [job("producer", f"producer-{index}", index, index % topics) for index in range(workload.producers)]


def client_of(spec: LoadSpec, topic: str, *, members: int = 1, member: int = 0) -> ClientSpec:
    """How a worker of the load connects to one of its topics, as number `member` of so many `members` of a subscription."""
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
        member=member,
        seed=spec.seed,
    )
