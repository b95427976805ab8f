"""What is asked of NATS servers, each on its own host: their accounts of themselves, and the making of streams."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from provisioning.errors import DeploymentError, HostError, HostsFailed
from provisioning.hosts.agents import HttpRequest, ask, http
from provisioning.hosts.host import Host, on_all
from systems.deployment import PARTITION_LIMIT_S, TOPIC_LIMIT_S
from systems.nats.layout import CLIENT_PORT, monitor_url
from systems.nats.readback import Document, Stream, meta_leader, missing_members, streams_of
from systems.processes import Process, hosts_of

AGENT = Path(__file__).with_name("api_agent.py").read_bytes()
RETRY_S = 0.1
ANSWER_S = 10.0
ACCOUNT_S = 30.0
SOON_S = 3.0  # one that takes longer to answer one question may be frozen, or has nothing to say: another is asked
AT_ONCE = 64  # requests that go in one command line
UNAVAILABLE = (
    503  # the status of whatever will be possible later: no leader yet, servers that don't know each other yet
)
NO_PEERS = 10005  # err_code of "no suitable peers for placement", which is so until all servers have reported


class Admin:
    """The servers of one deployment. What they answer is asked on their hosts: this machine may not reach their ports."""

    def __init__(self, servers: Sequence[Process], *, monotonic_s: Callable[[], float] = time.monotonic) -> None:
        self._servers = servers
        self._monotonic_s = monotonic_s

    def accounts(self, path: str) -> dict[str, Document]:
        """What every server says at an address of its own ("varz"), by the name of its host. Raises DeploymentError."""
        return self._accounts(path)

    def _accounts(
        self, path: str, failures: dict[str, BaseException] | None = None, timeout_s: float = ACCOUNT_S
    ) -> dict[str, Document]:
        urls = {server.host.name: monitor_url(server, path) for server in self._servers}

        def account(host: Host) -> Document:
            [answer] = http(host, [HttpRequest("GET", urls[host.name])], timeout_s=timeout_s)
            if answer.status != 200:
                raise DeploymentError(f"nats: {urls[host.name]}: status {answer.status}, {answer.body[:400]}")
            return dict(json.loads(answer.body))

        return on_all(_reading(path), hosts_of(self._servers), account, failures=failures)

    def streams(self) -> dict[str, Stream]:
        """Every stream that has a leader which answers, by name. Raises DeploymentError where no server does."""
        return streams_of(self._of_those_that_answer("jsz?accounts=1&streams=1&config=1"))

    def stream_info(self, name: str) -> Document:
        """What a stream's leader says of it. Raises DeploymentError where there is none."""
        said = []
        for server in self._servers:
            try:
                [answer] = self._ask([[f"$JS.API.STREAM.INFO.{name}", ""]], server, timeout_s=SOON_S)
            except (DeploymentError, HostError) as error:
                said.append(str(error))
                continue
            if answer is not None and "error" not in answer:
                return dict(answer)
            said.append(f"asked through {server.host.name}: {_reason(answer)}")
        raise DeploymentError(f"nats: nobody leads {name} now: {'; '.join(said)}")

    def meta_leader(self) -> str:
        """Which server decides for the cluster: the one that most servers take for it, by name. Raises DeploymentError."""
        found = meta_leader(self._of_those_that_answer("jsz", SOON_S), len(self._servers))
        if found is None:
            raise DeploymentError("nats: no server is the leader of the cluster's metadata to most of the servers now.")
        return found

    def _of_those_that_answer(self, path: str, timeout_s: float = ANSWER_S) -> dict[str, Document]:
        failures: dict[str, BaseException] = {}
        told = self._accounts(path, failures, timeout_s)
        if not told:
            raise HostsFailed(_reading(path), failures)
        return told

    def await_members(self, limit_s: float) -> None:
        """Waits until the cluster's leader counts every server as a member. Raises DeploymentError."""
        self._await(
            "servers that aren't members of the cluster", lambda: missing_members(self.accounts("jsz")), limit_s
        )

    def create_streams(self, configs: Mapping[str, Document], copies: int) -> dict[str, Stream]:
        """Makes streams (name -> configuration) and waits until each has so many copies that are alike; returns what they are then.

        Raises DeploymentError.
        """
        limit_s = TOPIC_LIMIT_S + PARTITION_LIMIT_S * len(configs)
        said: dict[str, Any] = dict.fromkeys(configs)
        made: dict[str, Stream] = {}

        def not_made() -> list[str]:
            lacking = [name for name, answer in said.items() if answer is None or "error" in answer]
            said.update(self._ask_to_make({name: configs[name] for name in lacking}))
            return [f"{name} ({_reason(said[name])})" for name in lacking if _reason(said[name])]

        def not_complete() -> list[str]:
            made.update(self.streams())
            return [name for name in configs if name not in made or lacks(made[name], copies)]

        self._await("streams that aren't made", not_made, limit_s)
        self._await("streams without all their copies", not_complete, limit_s)
        return {name: made[name] for name in configs}

    def _ask_to_make(self, configs: Mapping[str, Document]) -> dict[str, Any]:
        """Name -> the answer. Raises DeploymentError for one that no waiting will change."""
        names, found = list(configs), dict[str, Any]()
        for first in range(0, len(names), AT_ONCE):
            some = names[first : first + AT_ONCE]
            requests = [[f"$JS.API.STREAM.CREATE.{name}", json.dumps(configs[name])] for name in some]
            found |= dict(zip(some, self._ask(requests, self._servers[0]), strict=True))
        for name, answer in found.items():
            error = (answer or {}).get("error", {})
            if error.get("code", UNAVAILABLE) != UNAVAILABLE and error.get("err_code") != NO_PEERS:
                raise DeploymentError(f"nats: stream {name} can't be made as {json.dumps(configs[name])}: {error}")
        return found

    def _ask(self, requests: Sequence[Sequence[str]], server: Process, *, timeout_s: float = ANSWER_S) -> list[Any]:
        request = {"address": server.address, "port": CLIENT_PORT, "timeout_s": timeout_s, "requests": requests}
        answer = ask(server.host, AGENT, request)
        if "failed" in answer:
            raise DeploymentError(f"nats: {server.host.name}: its server doesn't answer requests: {answer['failed']}")
        return list(answer["answers"])

    def _await(self, what: str, lacking: Callable[[], Sequence[str]], limit_s: float) -> None:
        deadline_s = self._monotonic_s() + limit_s
        while left := lacking():
            if self._monotonic_s() > deadline_s:
                raise DeploymentError(f"nats: {what} after {limit_s:g} s: {', '.join(left)}")
            time.sleep(RETRY_S)


def lacks(stream: Stream, copies: int) -> bool:
    """Whether a stream has fewer copies, or one that isn't caught up."""
    return stream.copies < copies or bool(stream.lagging)


def _reading(path: str) -> str:
    return f"nats: reading /{path.partition('?')[0]}"


def _reason(answer: Document | None) -> str:
    if answer is None:
        return "no answer"
    return str(answer["error"].get("description")) if "error" in answer else ""
