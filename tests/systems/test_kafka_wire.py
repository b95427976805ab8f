"""What brokers say by their own protocol, recorded from a real cluster of three, and what a deployment makes of it."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from provisioning.errors import DeploymentError
from provisioning.hosts.agents import command
from provisioning.hosts.host import ScriptedHost
from provisioning.hosts.inventory import DataDir, HostRecord, SshAddress
from systems.deployment import Plan, Topic
from systems.kafka import wire_agent
from systems.kafka.deployment import KafkaDeployment
from systems.kafka.printed import Partition
from systems.kafka.wire import ANSWER_S, partitions
from systems.registry import DURABILITY
from tests.systems.installed import Installed

# whole responses, each with its length and its number before it
RECORDED = {
    name: bytes.fromhex(response)
    for name, response in json.loads((Path(__file__).with_name("recorded") / "kafka-wire.json").read_text()).items()
}
FRAME = 4


def read(name: str) -> wire_agent.Reader:
    """A recorded response behind its header."""
    reader = wire_agent.Reader(RECORDED[name][FRAME:])
    assert reader.number("i") == 1
    if name == "quorum":
        reader.skip(1)
    return reader


def test_partitions_are_read_from_a_recorded_response() -> None:
    """Leader, replicas and those in sync."""
    found = {each.number: each for each in partitions(wire_agent.metadata(read("metadata")))}
    assert sorted(found) == [0, 1, 2]
    assert found[0] == Partition("broken", 0, "3", ("3", "1", "2"), ("3", "1", "2"))
    assert [found[at].leader for at in (1, 2)] == ["1", "2"]


def test_the_active_controller_is_read_from_a_recorded_response() -> None:
    """Of the quorum's first partition, and the only one."""
    assert wire_agent.quorum(read("quorum")) == 1


@pytest.mark.parametrize("body", ["000f01", "002f02135f5f636c75737465725f6d6574616461746102000000000006ffffffff"])
def test_a_quorum_without_a_leader_is_an_error(body: str) -> None:
    """Of the whole response, without any topic, or of its partition."""
    with pytest.raises(ValueError, match=r"quorum can't be described: error (15|47|6)"):
        wire_agent.quorum(wire_agent.Reader(bytes.fromhex(body)))


@pytest.mark.parametrize(
    ("leader", "in_sync", "lacks"),
    [("1", ("1", "2", "3"), False), ("1", ("1", "2"), True), ("-1", ("1", "2", "3"), True), ("none", ("1",), True)],
)
def test_a_partition_lacks_a_leader_or_a_replica(leader: str, in_sync: tuple[str, ...], lacks: bool) -> None:
    """One that nobody leads isn't whole, however many replicas were in sync at last."""
    assert Partition("t", 0, leader, ("1", "2", "3"), in_sync).lacks is lacks


@pytest.fixture
def servers() -> Iterator[list[int]]:
    """Ports: nobody listens at the first, the second takes connections and is silent, the third answers as recorded."""
    with ExitStack() as stack:
        nobody, silent, answering = (stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(3))
        ports = [each.getsockname()[1] for each in (nobody, silent, answering)]
        nobody.close()

        def answer() -> None:
            with answering.accept()[0] as connection:
                connection.recv(1 << 16)
                connection.sendall(RECORDED["metadata"])

        thread = threading.Thread(target=answer)
        thread.start()
        yield ports
        thread.join()


def test_a_broker_that_is_gone_or_frozen_is_passed_over(servers: list[int]) -> None:
    """The next one is asked, until one answers."""
    brokers = [["127.0.0.1", port] for port in servers]
    request = {"brokers": brokers, "timeout_s": 0.3, "verb": "topics", "names": ["broken"]}
    assert sorted(wire_agent.answer(request)["brokers"]) == [1, 2, 3]


def asked(verb: str, **what: Any) -> str:
    """The command in which broker-1's host is asked."""
    brokers = [[f"10.0.0.{at}", 9092] for at in (1, 2, 3)]
    return command({"brokers": brokers, "timeout_s": ANSWER_S, "verb": verb, **what})


def deployed(**answers: Any) -> KafkaDeployment:
    """Three brokers of a plan with two topics; `topics`: what they say of their partitions, `quorum`: who leads."""
    hosts = [
        ScriptedHost(
            HostRecord(
                name, "broker", SshAddress(name, 22, "b", ""), f"10.0.0.{at}", f"/srv/{name}",
                (DataDir(f"/srv/{name}/data", "/dev/x", "/", False),), "", "", 1,
            )
        )
        for at, name in ((1, "broker-1"), (2, "broker-2"), (3, "broker-3"))
    ]  # fmt: skip
    told = {"answer": {"topics": {"u": {"partitions": answers.get("topics", [])}}}}
    hosts[0].answers[asked("topics", names=["u"])] = json.dumps(answers.get("failed", told))
    hosts[0].answers[asked("topics", names=None)] = json.dumps(told)
    hosts[0].answers[asked("quorum")] = json.dumps({"answer": answers.get("quorum", -1)})
    deployment = KafkaDeployment(hosts, Installed("4.3.1"))
    deployment._software = "software/kafka"
    deployment._plan = Plan(DURABILITY["1"], (Topic("t", 1), Topic("u", 2)), {}, {})
    return deployment


def partition(number: int, leader: int, *in_sync: int) -> dict[str, Any]:
    return {"number": number, "leader": leader, "replicas": [2, 3, 1], "in_sync": list(in_sync)}


def test_a_partition_is_where_the_brokers_say() -> None:
    """By the numbers of its topic and of itself; a replica that isn't in sync keeps a copy all the same."""
    deployment = deployed(topics=[partition(0, 1, 1), partition(1, 3, 3, 1)])
    found = deployment.placement(1, 1)
    assert found.leader.component == "broker/broker-3"
    assert [each.component for each in found.followers] == ["broker/broker-2", "broker/broker-1"]
    assert deployment.under_replicated() == ["u-0", "u-1"]


@pytest.mark.parametrize(
    "answers", [{"topics": [partition(1, -1)]}, {"topics": []}, {"failed": {"failed": "ConnectionError: nobody"}}]
)
def test_a_partition_that_nobody_leads_is_nowhere(answers: dict[str, Any]) -> None:
    """Nor is one that no broker tells of."""
    with pytest.raises(DeploymentError, match=r"nobody leads u-1 now|asked on broker-1 for topics: .*nobody"):
        deployed(**answers).placement(1, 1)


def test_the_coordinator_is_the_node_of_that_id() -> None:
    """None without an active controller."""
    assert deployed(quorum=2).coordinator().component == "broker/broker-2"
    with pytest.raises(DeploymentError, match="no leader now"):
        deployed(quorum=-1).coordinator()
