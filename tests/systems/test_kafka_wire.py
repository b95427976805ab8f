"""What brokers say by their own protocol, recorded from a real cluster of three, and what a deployment makes of it."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
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
from systems.kafka.layout import CLIENT_PORT, asked
from systems.kafka.wire import (
    ANSWER_S,
    QUICK_S,
    NewTopic,
    Partition,
    Setting,
    Wire,
    layout_of,
    partitions,
)
from systems.registry import DURABILITY
from tests.systems.installed import Installed

RECORDED_FILES = Path(__file__).with_name("recorded")
# whole responses, each with its length and its number before it
RECORDED = {
    name: bytes.fromhex(response)
    for name, response in json.loads((RECORDED_FILES / "kafka-wire.json").read_text()).items()
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
    assert found[0] == Partition("broken", 0, 3, (3, 1, 2), (3, 1, 2))
    assert [found[at].leader for at in (1, 2)] == [1, 2]


def shown(name: str, of: str) -> dict[str, Setting]:
    """The settings in a recorded response."""
    return {key: Setting(*each) for key, each in wire_agent.settings(read(name))[of].items()}


def test_a_nodes_settings_are_those_that_the_tool_prints() -> None:
    """ConfigCommand at the same moment: the same keys and texts, but for passwords and a key that the broker doesn't know."""
    printed = (RECORDED_FILES / "kafka-config-node.txt").read_text()
    lines = re.findall(r"^  (\S+?)=(.*) sensitive=(true|false) synonyms=", printed, re.M)
    told = {key: each.text for key, each in shown("node settings", "3").items()}
    assert told == {key: value for key, value, sensitive in lines if sensitive == "false"}
    assert {"num.network.thraeds", "ssl.key.password"} <= {key for key, _, sensitive in lines if sensitive == "true"}
    assert (told["num.io.threads"], told["ssl.keystore.location"]) == ("7", "null")


def test_a_topics_settings_are_those_that_the_tool_prints() -> None:
    """TopicCommand at the same moment prints those that somebody has set, also where a value has a comma."""
    printed = (RECORDED_FILES / "kafka-topic-describe.txt").read_text()
    [line] = re.findall(r"^Topic: cycle\t.*\tConfigs: (.*)$", printed, re.M)
    told = {key: each.text for key, each in shown("topic settings", "cycle").items() if not each.default}
    assert told == dict(re.findall(r"([a-z.]+)=(.*?)(?=,[a-z.]+=|$)", line))
    assert (told["cleanup.policy"], told["flush.messages"]) == ("delete,compact", "1")


def test_a_broker_tells_no_other_nodes_settings() -> None:
    """It says whose it knows."""
    with pytest.raises(ValueError, match=r"1 can't be described: error 42, .* expected 3"):
        wire_agent.settings(read("other node settings"))


def test_what_became_of_each_new_topic_is_read_from_a_recorded_response() -> None:
    """Made, there already, refused in the broker's words."""
    found = wire_agent.created(read("made"))
    assert (found["made"][0], found["cycle"][0]) == (0, 36)
    assert found["odd"][0] == 40 and "retention.ms" in found["odd"][1]


def test_end_offsets_are_read_from_a_recorded_response() -> None:
    """Of the partitions that one broker leads."""
    assert wire_agent.offsets(read("end offsets")) == {"cycle": {0: 200, 4: 200}}


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
    [(1, (1, 2, 3), False), (1, (1, 2), True), (-1, (1, 2, 3), True)],
)
def test_a_partition_lacks_a_leader_or_a_replica(leader: int, in_sync: tuple[int, ...], lacks: bool) -> None:
    """One that nobody leads isn't whole, however many replicas were in sync at last."""
    assert Partition("t", 0, leader, (1, 2, 3), in_sync).lacks is lacks


@pytest.fixture
def servers() -> Iterator[list[int]]:
    """Ports: nobody listens at the first, the second takes connections and is silent, the third answers as recorded."""
    with ExitStack() as stack:
        nobody, silent, answering = (stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(3))
        ports = [each.getsockname()[1] for each in (nobody, silent, answering)]
        nobody.close()

        def answer() -> None:
            with suppress(OSError), answering.accept()[0] as connection:
                connection.recv(1 << 16)
                connection.sendall(RECORDED["metadata"])

        thread = threading.Thread(target=answer)
        thread.start()
        yield ports
        answering.shutdown(socket.SHUT_RDWR)  # for one that was never asked
        thread.join()


def test_a_broker_that_is_gone_or_frozen_is_passed_over(servers: list[int]) -> None:
    """The next one is asked, until one answers."""
    brokers = [["127.0.0.1", port] for port in servers]
    request = {"brokers": brokers, "timeout_s": 0.3, "verb": "topics", "names": ["broken"]}
    assert sorted(wire_agent.answer(request)["brokers"]) == [1, 2, 3]


def test_where_copies_differ_all_numbers_are_told() -> None:
    """So that they drift from any intended one; a topic that isn't there has no partitions."""
    found = [
        Partition("t", 0, 1, (1, 2, 3), (1,)),
        Partition("t", 1, 1, (1, 2), (1,)),
        Partition("u", 0, 1, (1,), (1,)),
    ]
    assert layout_of(Topic("t", 2), found) == {"partitions": "2", "replication.factor": "2,3"}
    assert layout_of(Topic("none", 2), found)["partitions"] == "0"


def question(verb: str, answer_s: float = QUICK_S, **what: Any) -> str:
    """The command in which broker-1's host is asked."""
    brokers = [[f"10.0.0.{at}", 9092] for at in (1, 2, 3)]
    return command({"brokers": brokers, "timeout_s": answer_s, "verb": verb, **what})


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
    hosts[0].answers[question("topics", names=["u"])] = json.dumps(answers.get("failed", told))
    hosts[0].answers[question("topics", names=None)] = json.dumps(told)
    hosts[0].answers[question("quorum")] = json.dumps({"answer": answers.get("quorum", -1)})
    hosts[0].answers[question("end_offsets", ANSWER_S, names=["t", "u"])] = json.dumps({"answer": answers.get("ends")})
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


def test_messages_are_counted_over_all_partitions() -> None:
    """One that isn't told of is an error, not a smaller count."""
    assert deployed(ends={"t": {"0": 7}, "u": {"0": 3, "1": 0}}).messages_stored() == 10
    with pytest.raises(DeploymentError, match="the end offsets of only 2 of 3 partitions"):
        deployed(ends={"t": {"0": 7}, "u": {"1": 0}}).messages_stored()


def test_topics_are_awaited_until_every_copy_is_in_sync() -> None:
    """A copy that is placed and not in sync could be lost with its leader; and there must be as many as were asked for."""
    deployment = deployed()
    host = deployment.processes[0].host
    assert isinstance(host, ScriptedHost)
    wish = {"name": "u", "partitions": 1, "replicas": 3, "settings": {}}
    host.answers[question("create", ANSWER_S, topics=[wish])] = json.dumps({"answer": {"u": [0, ""]}})
    states = [partition(0, 2, 2, 3), {**partition(0, 2, 2, 3), "replicas": [2, 3]}, partition(0, 2, 2, 3, 1)]
    told = [json.dumps({"answer": {"topics": {"u": {"partitions": [each]}}}}) for each in states]
    host.answers[question("topics", ANSWER_S, names=["u"])] = list(told)
    made = Wire(asked(deployment.processes), CLIENT_PORT).create([NewTopic(Topic("u", 1), 3, {})])
    assert made == [Partition("u", 0, 2, (2, 3, 1), (2, 3, 1))]
