"""Who sends and reads what in a load: the places of consumers in their subscriptions."""

from __future__ import annotations

from collections import Counter

from bench.load.jobs import CATCH_UP, jobs_of
from bench.load.load import LoadSpec, schedule_of
from contract.workload import Backlog, Workload

WORKLOAD = Workload(
    name="w", rate_per_s=1_000, message_bytes=100, measure_s=1, partitions=6, topics=2, consumers=12, subscriptions=2,
    backlog=Backlog(size_bytes=100_000, consumers=4, subscriptions=1),
)  # fmt: skip


def test_each_consumer_has_a_place_of_its_own_among_those_that_share_a_topic() -> None:
    """In every subscription of every topic there is each number from 0 to members - 1, once."""
    spec = LoadSpec(WORKLOAD, "client", "url", {}, ("t1", "t2"), seed=1)
    consumers = [job for job in jobs_of(spec, schedule_of(spec), run=1) if job.role == "consumer"]
    places = Counter((job.subscription, job.client.topic, job.client.member) for job in consumers)
    expected = [
        (f"subscription-{at}", topic, member) for at in (0, 1) for topic in ("t1", "t2") for member in (0, 1, 2)
    ]
    expected += [(f"{CATCH_UP}-0", topic, member) for topic in ("t1", "t2") for member in (0, 1)]
    assert places == Counter(expected)
    assert {job.client.members for job in consumers if job.subscription == "subscription-0"} == {3}
