"""A system's real processes killed, emptied and started again, for the tests of what a deployment says and does then."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from shlex import quote
from typing import TypeVar

from contract.workload import Workload
from provisioning.cache import user_cache
from provisioning.errors import DeploymentError
from provisioning.hosts.host import Host
from provisioning.software.store import Store
from systems.client import ClientSpec
from systems.deployment import Deployment, Placement, Topic
from systems.processes import Process, running
from systems.registry import SYSTEMS, software
from tests.given import archives_of
from tests.systems.told import Told
from tests.three_nodes import LEVEL, ThreeNodes

PARTITIONS = 3
TOPIC = Topic("broken", PARTITIONS)
MESSAGES = 300
MARK = "broken message "
MOVED_S = 60.0  # for a machine that has other things to do, too
WHOLE_S = 180.0
POLL_S = 0.2

Found = TypeVar("Found")


@contextmanager
def three(system: str, hosts: Mapping[str, Host], level: str = LEVEL) -> Iterator[ThreeNodes]:
    """Running, with MESSAGES messages; nothing of them is left afterwards."""
    store = Store(user_cache(), software(archives_of(system)))
    nodes = ThreeNodes(system, tuple(hosts.values()), store, TOPIC, level=level)
    with nodes.running():
        send(nodes)
        yield nodes


def send(nodes: ThreeNodes, messages: int = MESSAGES) -> None:
    """So many messages, evenly over the partitions; all of them must be acknowledged."""
    workload = Workload("w", 1000, 1024, 1.0, partitions=PARTITIONS, in_flight=messages, partitioning="round-robin")
    endpoints = nodes.deployment.endpoints()
    spec = ClientSpec("", endpoints.service_url, TOPIC.name, endpoints.client_settings, workload, 60.0, 60.0)
    told = Told(messages)
    producer = SYSTEMS[nodes.system].client.connect_producer(spec, told)
    try:
        for sequence in range(messages):
            producer.send(sequence, f"{MARK}{sequence:06d}".encode())
        told.wait()
    finally:
        producer.close()
    assert told.failures == []


def kill(process: Process) -> None:
    """By SIGKILL: it has no time to say goodbye to the others."""
    pid = running([process])[process.host.name][process.daemon]
    process.host.run(f"kill -KILL {pid}; while kill -0 {pid} 2>/dev/null; do sleep 0.05; done")


def empty(deployment: Deployment, process: Process) -> None:
    """Its disks, as a replaced broker's are."""
    folders = deployment.data_of(process)
    assert folders and all(process.host.run(f"ls -A {quote(folder)}").stdout for folder in folders)
    process.host.run(f"rm -rf {' '.join(map(quote, folders))}")


def bring_back(deployment: Deployment, process: Process) -> None:
    """Starts it on what it had, and waits until nothing is under-replicated."""
    deployment.start_again(process)
    until_whole(deployment)


def bring_back_empty(deployment: Deployment, process: Process) -> None:
    """The same without what it had, as a replaced broker comes back."""
    empty(deployment, process)
    bring_back(deployment, process)


def logs_with(process: Process, words: bytes) -> list[bool]:
    """Whether these words are in its log, and in the earlier one beside it."""
    return [words in process.host.get(path) for path in (process.log_path, f"{process.log_path}.1")]


def on_disk(deployment: Deployment, process: Process) -> int:
    """How many of the messages that were sent are in its files."""
    folders = " ".join(map(quote, deployment.data_of(process)))
    found = process.host.run(f"grep -raohE '{MARK}[0-9]{{6}}' {folders} | sort -u | wc -l")
    return int(found.stdout)


def until(found: Callable[[], Found | None], what: str, limit_s: float) -> Found:
    """Asks again and again until something is found; a question that can't be answered yet is asked again, too."""
    deadline_s, problem = time.monotonic() + limit_s, ""
    while time.monotonic() < deadline_s:
        try:
            if (answer := found()) is not None:
                return answer
        except DeploymentError as error:
            problem = str(error)
        time.sleep(POLL_S)
    raise AssertionError(f"not {what} within {limit_s:g} s; {problem}")


def placements(deployment: Deployment) -> list[Placement]:
    """Where each partition is."""
    return [deployment.placement(0, partition) for partition in range(PARTITIONS)]


def require_leaders_as_told(deployment: Deployment, found: Iterable[Placement]) -> None:
    """They must be where the deployment found them when the topic was complete."""
    now, told = Counter(each.leader.host.name for each in found), Counter(deployment.leaders())
    assert now == told, f"partitions led: {dict(now)}; when the topic was complete: {dict(told)}"


def require_copies_on_all(deployment: Deployment) -> None:
    """Each partition must be led by one process and kept by all others."""
    found = placements(deployment)
    for partition, each in enumerate(found):
        copies = {each.leader, *each.followers}
        names = ", ".join(sorted(copy.component for copy in copies))
        assert copies == set(deployment.processes), f"partition {partition} is on {names} only"
    require_leaders_as_told(deployment, found)


def led_by_another(deployment: Deployment, before: Process, limit_s: float = MOVED_S) -> Placement:
    """Where the first partition is once another process than before leads it."""

    def moved() -> Placement | None:
        found = deployment.placement(0, 0)
        return found if found.leader != before else None

    return until(moved, f"led by another than {before.component}", limit_s)


def kill_leader(deployment: Deployment) -> Process:
    """Who led the first partition; one of those that kept its other copies must lead it then."""
    before = deployment.placement(0, 0)
    kill(before.leader)
    now = led_by_another(deployment, before.leader)
    assert now.leader in before.followers, f"{now.leader.component} leads, and had no copy"
    return before.leader


def kill_coordinator(deployment: Deployment) -> tuple[Process, Process]:
    """Who it was, and who it is once it is another."""
    before = deployment.coordinator()
    kill(before)

    def another() -> Process | None:
        return found if (found := deployment.coordinator()) != before else None

    return before, until(another, "another coordinator", MOVED_S)


def until_missed(deployment: Deployment, limit_s: float = MOVED_S) -> None:
    """Until something is under-replicated."""
    until(lambda: deployment.under_replicated() or None, "missed", limit_s)


def until_whole(deployment: Deployment) -> None:
    """Until nothing is under-replicated."""
    until(lambda: True if not deployment.under_replicated() else None, "whole", WHOLE_S)
