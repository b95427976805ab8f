"""Pulsar's HTTP administration, called on a broker host: the trial's topics, and what brokers and bookies say."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import urlsplit

from provisioning.errors import DeploymentError
from provisioning.hosts.agents import HttpRequest, HttpResponse, http
from provisioning.hosts.host import Host
from systems.deployment import PARTITION_LIMIT_S, TOPIC_LIMIT_S, Topic
from systems.pulsar.layout import BOOKIE_HTTP_PORT, BOOKIE_PORT, NAMESPACE, WEB_PORT, Layout

RETRY_S = 0.2
COUNT_S = 30.0
SOON_S = 3.0  # a broker that takes longer to answer one question may be frozen: another is asked
PARALLEL = 16  # a partition waits for the disks of others much longer than it computes
_LEDGERS = "internalStats?metadata=true"
# of a ledger's metadata: each from its first entry on
_ENSEMBLE = re.compile(r"\b\d+=\[([^\]]*)\]")
POLICY_KEYS: Mapping[str, Callable[[str], int | float]] = {
    "bookkeeperEnsemble": int,
    "bookkeeperWriteQuorum": int,
    "bookkeeperAckQuorum": int,
    "managedLedgerMaxMarkDeleteRate": float,
}


class Admin:
    """The brokers' and bookies' HTTP interfaces, asked from the first broker's host."""

    def __init__(self, everything: Layout, *, monotonic_s: Callable[[], float] = time.monotonic) -> None:
        self._layout = everything
        self._monotonic_s = monotonic_s

    def set_persistence(self, policy: Mapping[str, str]) -> None:
        """The namespace's ensemble, quorums and rate of durable cursor writes. Raises DeploymentError."""
        body = {key: number(policy[key]) for key, number in POLICY_KEYS.items()}
        self._exchange("POST", f"/namespaces/{NAMESPACE}/persistence", json.dumps(body), accepted=(204,))

    def namespace(self) -> dict[str, str]:
        """The namespace's policies that matter here, as the broker has them."""
        policies = json.loads(self._exchange("GET", f"/namespaces/{NAMESPACE}"))
        persistence = policies.get("persistence") or {}
        found = {key: str(persistence[key]) for key in POLICY_KEYS if key in persistence}
        return found | {"numBundles": str(policies["bundles"]["numBundles"])}

    def create_topics(self, topics: Sequence[Topic]) -> dict[str, list[str]]:
        """Makes topics and has brokers load every partition and open its ledger; returns what `internal_stats` then says of each.

        Raises DeploymentError.
        """
        for topic in topics:
            path = f"/persistent/{NAMESPACE}/{topic.name}/partitions"
            self._exchange("PUT", path, str(topic.partitions), accepted=(204, 409))
        partitions = [(topic.name, at) for topic in topics for at in range(topic.partitions)]
        limit_s = TOPIC_LIMIT_S + PARTITION_LIMIT_S * len(partitions)
        deadline_s = self._monotonic_s() + limit_s
        opened: dict[tuple[str, int], str] = {}
        while True:
            # The PUT only wrote metadata: asking a partition for its statistics is what loads it.
            left = [each for each in partitions if each not in opened]
            answers = dict(zip(left, self._ask_partitions(left, _LEDGERS), strict=True))
            opened |= {each: answer.body for each, answer in answers.items() if _is_open(answer)}
            behind = [each for each in left if each not in opened]
            if not behind:
                return {topic.name: [opened[topic.name, at] for at in range(topic.partitions)] for topic in topics}
            if self._monotonic_s() > deadline_s:
                (name, at), seen = behind[0], answers[behind[0]]
                raise DeploymentError(
                    f"pulsar: {len(behind)} of {len(partitions)} partitions are not loaded after {limit_s:g} s; "
                    f"partition {at} of {name} answers {seen.status} {seen.body[:300]}"
                )
            time.sleep(RETRY_S)

    def partition_count(self, topic: Topic) -> int:
        """How many partitions the topic has."""
        return int(json.loads(self._exchange("GET", f"/persistent/{NAMESPACE}/{topic.name}/partitions"))["partitions"])

    def messages_in(self, topic: Topic) -> int:
        """Messages accepted in all partitions, each as its broker counts them. Raises DeploymentError if one isn't counted."""
        path = f"/persistent/{NAMESPACE}/{topic.name}/partitioned-stats?perPartition=true&subscriptionBacklogSize=false"
        counted = json.loads(self._first(f"/admin/v2{path}", timeout_s=COUNT_S))["partitions"]
        if len(counted) != topic.partitions:
            raise DeploymentError(
                f"pulsar: {len(counted)} of {topic.partitions} partitions of {topic.name} have a message count"
            )
        return sum(int(each["msgInCounter"]) for each in counted.values())

    def internal_stats(self, topic: Topic) -> list[str]:
        """Every partition's ledgers with their metadata. Raises DeploymentError if one has none."""
        names = [(topic.name, at) for at in range(topic.partitions)]
        asked = [f"{_LEDGERS} of partition {at} of {topic.name}" for at in range(topic.partitions)]
        return bodies(asked, self._ask_partitions(names, _LEDGERS))

    def owners(self, topics: Sequence[Topic]) -> list[str]:
        """The address of the broker that serves each partition. Raises DeploymentError if a broker doesn't say."""
        first = self._layout.brokers[0].address
        base = f"http://{first}:{WEB_PORT}/lookup/v2/topic/persistent/{NAMESPACE}"
        names = [f"{topic.name}-partition-{at}" for topic in topics for at in range(topic.partitions)]
        answers = http(self._host, [HttpRequest("GET", f"{base}/{name}") for name in names], parallel=PARALLEL)
        found = bodies([f"looking up {name}" for name in names], answers)
        return [urlsplit(json.loads(body)["brokerUrl"]).hostname or "" for body in found]

    def owner(self, topic: Topic, partition: int) -> str:
        """The address of the broker to which clients are sent with a partition. Raises DeploymentError where no broker says."""
        path = f"/lookup/v2/topic/persistent/{NAMESPACE}/{topic.name}-partition-{partition}"
        return urlsplit(json.loads(self._first(path))["brokerUrl"]).hostname or ""

    def copies(self, topic: Topic, partition: int) -> tuple[str, ...]:
        """The addresses of the bookies that a partition is written to now. Raises DeploymentError if its owner doesn't say."""
        path = f"/admin/v2/persistent/{NAMESPACE}/{topic.name}-partition-{partition}/{_LEDGERS}"
        return ensemble(self._first(path))

    def _first(self, path: str, timeout_s: float = SOON_S) -> str:
        """What the first broker says that answers in time. Raises DeploymentError."""
        said = []
        for broker in self._layout.brokers:
            url = f"http://{broker.address}:{WEB_PORT}{path}"
            [answer] = http(self._host, [HttpRequest("GET", url)], timeout_s=timeout_s)
            if answer.status == 200:
                return answer.body
            said.append(f"{url}: status {answer.status}, {answer.body[:200]}")
        raise DeploymentError(f"pulsar: no broker answers: {'; '.join(said)}")

    def writable_bookies(self) -> set[str]:
        """The bookies that take writes, as the first one that answers sees it. Raises DeploymentError if none does."""
        path = f":{BOOKIE_HTTP_PORT}/api/v1/bookie/list_bookies?type=rw"
        asked = [HttpRequest("GET", f"http://{bookie.address}{path}") for bookie in self._layout.bookies]
        answers = [answer for answer in http(self._host, asked, parallel=len(asked)) if answer.status == 200]
        if not answers:
            raise DeploymentError("pulsar: no bookie answered the question which bookies are writable.")
        return set(json.loads(answers[0].body))

    def lacking_bookies(self) -> list[str]:
        """Components of the bookies that don't take writes."""
        writable = self.writable_bookies()
        return [each.component for each in self._layout.bookies if f"{each.address}:{BOOKIE_PORT}" not in writable]

    @property
    def _host(self) -> Host:
        return self._layout.brokers[0].host

    def _request(self, method: str, path: str, body: str | None = None) -> HttpRequest:
        return HttpRequest(method, f"http://{self._layout.brokers[0].address}:{WEB_PORT}/admin/v2{path}", body)

    def _exchange(self, method: str, path: str, body: str | None = None, *, accepted: Sequence[int] = (200,)) -> str:
        [said] = bodies(
            [f"{method} {path} on {self._host.name}"], http(self._host, [self._request(method, path, body)]), accepted
        )
        return said

    def _ask_partitions(self, partitions: Sequence[tuple[str, int]], what: str) -> list[HttpResponse]:
        """Of partitions by topic and number."""
        paths = [f"/persistent/{NAMESPACE}/{name}-partition-{at}/{what}" for name, at in partitions]
        return http(self._host, [self._request("GET", path) for path in paths], parallel=PARALLEL)


def bodies(asked: Sequence[str], answers: Sequence[HttpResponse], accepted: Sequence[int] = (200,)) -> list[str]:
    """The answers' bodies. Raises DeploymentError naming what was `asked` where a status isn't accepted."""
    for what, answer in zip(asked, answers, strict=True):
        if answer.status not in accepted:
            raise DeploymentError(f"pulsar: {what}: status {answer.status}, {answer.body[:400]}")
    return [answer.body for answer in answers]


def ensemble(internal_stats: str) -> tuple[str, ...]:
    """The addresses of the bookies that the newest ledger of a partition is written to, from its metadata."""
    metadata = str(json.loads(internal_stats)["ledgers"][-1]["metadata"])
    found = _ENSEMBLE.findall(metadata)
    return tuple(each.strip().rpartition(":")[0] for each in found[-1].split(",")) if found else ()


def _is_open(answer: HttpResponse) -> bool:
    return answer.status == 200 and json.loads(answer.body).get("state") == "LedgerOpened"
