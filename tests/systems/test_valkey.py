"""Valkey's files, tables and read-back, without a server; replies are recorded from a real primary with two replicas."""

from __future__ import annotations

import base64
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from provisioning.errors import DeploymentError, InvalidInput, UnsupportedDurability
from provisioning.hosts.host import Host, ScriptedHost
from provisioning.hosts.inventory import DataDir, HostRecord, Role, SshAddress
from systems.deployment import Placement, Plan, Topic
from systems.registry import DURABILITY
from systems.settings import Drift, drift
from systems.valkey import layout, server
from systems.valkey.config_text import override_settings, settings
from systems.valkey.deployment import ValkeyDeployment
from systems.valkey.durability import CANNOT, DIFFERENCES, LEVELS, durability_table, level_settings
from systems.valkey.readback import info, online, pairs, settings_of
from systems.valkey.resp_client import Reply, all_replies, encoded
from systems.valkey.system import VALKEY
from tests.systems.installed import Installed
from tests.systems.valkey_server import commands_of

RECORDED = Path(__file__).with_name("recorded") / "valkey"


def host(name: str, address: str, role: Role = "broker", disks: int = 2) -> ScriptedHost:
    dirs = tuple(DataDir(f"/srv/{name}/data{at}", "/dev/x", "/", False) for at in range(1, disks + 1))
    tidied = f"rm -rf /srv/{name}/tmp/processes; mkdir -p /srv/{name}/tmp/processes; rm -f /srv/{name}/log/valkey-server.log*"
    record = HostRecord(name, role, SshAddress(address, 22, "b", ""), address, f"/srv/{name}", dirs, "", "", 1)
    return ScriptedHost(record, {tidied: ""})


BROKERS = [host(f"broker-{at}", f"10.0.0.{at}") for at in (1, 2, 3)]


def plan(level: str = "1", **changes: Any) -> Plan:
    return dataclasses.replace(Plan(DURABILITY[level], (Topic("t", 2),), {}, {}), **changes)


def recorded(name: str) -> Reply:
    [reply] = all_replies((RECORDED / f"{name}.resp").read_bytes())
    return reply


class Answering:
    """What a server replies on its host, by the beginning of a command; anything else fails the test."""

    def __init__(self, replies: dict[str, bytes]) -> None:
        self.replies = replies
        self.asked: list[str] = []

    def __call__(self, _host: Host, _agent: bytes, request: dict[str, Any], *, timeout_s: float) -> dict[str, str]:
        assert timeout_s > request["timeout_s"]
        left = base64.b64decode(request["words"])

        def take(size: int) -> bytes:
            nonlocal left
            taken, left = left[:size], left[size:]
            return taken

        said = b""
        for words in commands_of(take, lambda: take(left.find(b"\n") + 1)):
            command = b" ".join(words).decode()
            self.asked.append(command)
            [key] = [key for key in {**self.replies, "QUIT": b""} if command.startswith(key)]
            said += self.replies.get(key, b"+OK\r\n")
        return {"answer": base64.b64encode(said).decode()}


def deployed(
    monkeypatch: pytest.MonkeyPatch, replies: dict[str, bytes], asked: Plan
) -> tuple[ValkeyDeployment, Answering]:
    """A deployment that is configured, and whose servers reply so."""
    answering = Answering(replies)
    monkeypatch.setattr(server, "ask", answering)
    deployment = ValkeyDeployment(BROKERS, Installed("9.1.2.post2"))
    deployment.install()
    deployment.configure(asked)
    return deployment, answering


def test_the_first_broker_is_the_primary() -> None:
    """In the order in which the hosts are given; the others follow it, each bound to its own address."""
    servers = layout.servers(BROKERS[::-1])
    files = [settings(layout.config(each, servers, plan())) for each in servers]
    assert [each.get("replicaof") for each in files] == [None, "10.0.0.3 6379", "10.0.0.3 6379"]
    assert [each["bind"] for each in files] == ["10.0.0.3", "10.0.0.2", "10.0.0.1"]
    assert files[1]["dir"] == "/srv/broker-2/data1/valkey"
    assert layout.service_url(servers) == "10.0.0.3:6379"


@pytest.mark.parametrize("copies", [1, 2, 3])
def test_as_many_replicas_as_copies(copies: int) -> None:
    """A server that is one too many stands alone; more copies than brokers are refused."""
    servers, asked = layout.servers(BROKERS), plan(replication_factor=copies)
    followers = [each for each in servers if "replicaof" in settings(layout.config(each, servers, asked))]
    assert followers == list(servers[1:copies])
    intended = ValkeyDeployment(BROKERS, Installed("9.1.2.post2")).intended_settings(asked)
    assert intended["replication/broker-1"] == {"role": "master", "connected_slaves": str(copies - 1)}
    with pytest.raises(DeploymentError, match="valkey needs 5 broker hosts"):
        ValkeyDeployment(BROKERS, Installed("9.1.2.post2")).intended_settings(plan(replication_factor=5))


def test_a_broker_needs_a_disk() -> None:
    """Said with the host's name."""
    with pytest.raises(DeploymentError, match="broker-9: valkey needs a data directory"):
        layout.servers([host("broker-9", "10.0.0.19", disks=0)])


def test_the_levels_as_a_table() -> None:
    """Levels 1 and 3 sync each write; 1 and 2 wait for one replica beside the primary; only `none` goes without replies."""
    table = durability_table(3)
    assert {name for name, level in table.items() if level["server"]["appendfsync"] == "always"} == {"1", "3"}
    assert {name: level["producer"]["wait_replicas"] for name, level in table.items()} == {
        "1": "1", "2": "1", "3": "0", "4": "0", "none": "0",
    }  # fmt: skip
    assert {name for name, level in table.items() if level["producer"]["replies"] == "false"} == {"none"}


@pytest.mark.parametrize(("copies", "replicas"), [(1, "0"), (2, "1"), (3, "1"), (5, "2")])
def test_the_quorum_follows_the_replication_factor(copies: int, replicas: str) -> None:
    """The primary is one of it."""
    assert durability_table(copies)["1"]["producer"]["wait_replicas"] == replicas


@pytest.mark.parametrize("level", ["2-bypass", "4-bypass"])
def test_a_level_that_there_is_not_is_refused(level: str) -> None:
    """Never silently downgraded, and the reason is told."""
    with pytest.raises(UnsupportedDurability, match=f"level {level}"):
        level_settings(DURABILITY[level])
    assert CANNOT[level]


def test_every_level_has_its_differences() -> None:
    """Each is about levels that there are, and each level that promises a quorum tells what WAIT isn't."""
    for each in DIFFERENCES:
        assert set(each.durability) <= LEVELS.keys(), each.aspect
    assert {"1", "2"} <= {name for each in DIFFERENCES if "it is no consensus" in each.what for name in each.durability}


def test_the_level_goes_over_the_clients_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """A profile sets the client as it likes, but what an acknowledgement promises is the level's."""
    own = {"client": {"wait_replicas": "0", "connections": "4"}}
    deployment, _ = deployed(monkeypatch, {}, plan("2", overrides=own))
    assert deployment.endpoints().client_settings == {"connections": "4", "wait_replicas": "1", "replies": "true"}


def test_memory_and_overrides_reach_the_files() -> None:
    """The profile's bound and a campaign's settings are rendered, sizes in bytes, and are intended because they are rendered."""
    asked = plan(
        memory={"server": {"maxmemory": "4294967296"}},
        overrides={"server": {"io-threads": "2", "hz": "20"}, "server/broker-2": {"repl-backlog-size": "256mb"}},
    )
    intended = ValkeyDeployment(BROKERS, Installed("9.1.2.post2")).intended_settings(asked)
    assert {each: intended["server/broker-1"][each] for each in ("maxmemory", "io-threads", "hz")} == {
        "maxmemory": "4294967296", "io-threads": "2", "hz": "20",
    }  # fmt: skip
    assert intended["server/broker-1"]["repl-backlog-size"] == "10485760"
    assert intended["server/broker-2"]["repl-backlog-size"] == str(256 * 2**20)
    with pytest.raises(DeploymentError, match=r"'sever'\. Did you mean 'server'"):
        ValkeyDeployment(BROKERS, Installed("9.1.2.post2")).intended_settings(plan(overrides={"sever": {"hz": "1"}}))


def test_how_many_messages_fit_follows_from_the_memory_that_is_set() -> None:
    """2 GiB are about 1.8 million messages of 1 KiB; a campaign's own limit goes over it, and 0 is none."""
    assert layout.messages_held(plan(), 1024) == pytest.approx(1_800_000, rel=0.01)
    assert layout.messages_held(plan(overrides={"server": {"maxmemory": "8gb"}}), 1024) == 2**33 // 1194
    assert layout.messages_held(plan(overrides={"server": {"maxmemory": "0"}}), 1024) > 10**15
    with pytest.raises(InvalidInput, match=r"settings\.valkey\.server\.maxmemory: 'much' is no size"):
        layout.messages_held(plan(overrides={"server": {"maxmemory": "much"}}), 1024)


def test_every_key_is_rendered_once() -> None:
    """A key that stands twice would be intended as one thing and run as another."""
    servers = layout.servers(BROKERS)
    for each in servers:
        lines = layout.config(each, servers, plan()).splitlines()
        keys = [line.partition(" ")[0] for line in lines if line and not line.startswith("#")]
        assert len(keys) == len(set(keys))


def test_nothing_is_trimmed_or_evicted() -> None:
    """A full server refuses messages; it never gives up any."""
    servers = layout.servers(BROKERS)
    assert settings(layout.config(servers[0], servers, plan()))["maxmemory-policy"] == "noeviction"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ('save ""', ("save", "")),
        ("maxmemory 3gb", ("maxmemory", str(3 * 2**30))),
        ("a  b   c", ("a", "b c")),
        ("x 1k", ("x", "1000")),
        ("appenddirname 4gbx", ("appenddirname", "4gbx")),
    ],
)
def test_a_line_is_read_as_the_server_prints_it(written: str, read: tuple[str, str]) -> None:
    """Empty values, sizes in their units, words with any number of blanks between."""
    assert settings(f"# a comment\n\n{written}\n") == dict([read])


def test_an_empty_value_is_written_so_that_it_is_read() -> None:
    """Not as a key without a value, which the server refuses."""
    assert override_settings("save 3600 1\n", {"save": "", "hz": "5"}).splitlines()[0] == 'save ""'


@pytest.mark.parametrize("number", [1, 2])
def test_a_real_server_shows_no_drift(number: int) -> None:
    """What a primary and a replica said that ran with these files, build and place included."""
    deployment = ValkeyDeployment(BROKERS, Installed("9.1.2.post2"))
    name = f"broker-{number}"
    intended = {key: own for key, own in deployment.intended_settings(plan()).items() if key.endswith(name)}
    effective = settings_of(deployment.processes[number - 1], recorded(f"config-{number}"), recorded(f"info-{number}"))
    assert set(intended) == {f"server/{name}", f"build/{name}", f"replication/{name}"}
    assert drift(intended, effective) == ()
    effective[f"server/{name}"]["appendfsync"] = "no"
    effective[f"build/{name}"]["mem_allocator"] = "jemalloc-5.3.0"
    assert set(drift(intended, effective)) == {
        Drift(f"server/{name}", "appendfsync", "always", "no"),
        Drift(f"build/{name}", "mem_allocator", "libc", "jemalloc-5.3.0"),
    }


def test_what_is_no_reply_of_pairs_is_told() -> None:
    """Not taken for a server without settings."""
    wrongs: list[Reply] = [[b"a"], None, [b"a", 1]]
    for wrong in wrongs:
        with pytest.raises(DeploymentError, match="not a reply of names and values"):
            pairs(wrong)
    with pytest.raises(DeploymentError, match="not a reply to INFO"):
        info(None)


def test_the_replicas_in_step_are_told() -> None:
    """By address; one that is still copying is none of them."""
    told = recorded("info-1")
    assert isinstance(told, bytes)
    assert online(told) == {"10.0.0.2", "10.0.0.3"}
    assert online(told.replace(b"slave1:ip=10.0.0.3,port=6379,state=online", b"slave1:ip=10.0.0.3,port=6379,state=send_bulk")) == {
        "10.0.0.2"
    }  # fmt: skip


def test_readiness_is_told_by_what_a_real_server_says() -> None:
    """Each sign of a primary and of a replica is in what these said when they were in step."""
    servers = layout.servers(BROKERS)
    for number, each in enumerate(servers[:2], start=1):
        told = recorded(f"info-{number}")
        assert isinstance(told, bytes)
        signs = layout.sign(each, servers, plan()).contains
        assert all(sign in told.decode() for sign in signs)
    assert "ip=10.0.0.3,port=6379,state=online" in layout.sign(servers[0], servers, plan()).contains
    assert "master_link_status:up" in layout.sign(servers[1], servers, plan()).contains


def test_topics_are_made_and_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hash that says how many partitions there are, an empty stream for each, and all replicas have them."""
    replies = {"HSET": b":1\r\n", "XGROUP CREATE": b"+OK\r\n", "XGROUP DESTROY": b":1\r\n", "WAIT": b":2\r\n"}
    deployment, answering = deployed(monkeypatch, replies, plan())
    deployment.create_topics()
    assert "HSET t partitions 2" in answering.asked and "HSET samebox-probe partitions 1" in answering.asked
    made = [command for command in answering.asked if command.startswith("XGROUP CREATE")]
    assert made == [f"XGROUP CREATE {stream} samebox $ MKSTREAM" for stream in ("samebox-probe/0", "t/0", "t/1")]
    assert answering.asked[-2:] == ["WAIT 2 30000", "QUIT"]


def test_topics_that_a_replica_lacks_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Told with the number that had them."""
    replies = {"HSET": b":1\r\n", "XGROUP CREATE": b"+OK\r\n", "XGROUP DESTROY": b":1\r\n", "WAIT": b":1\r\n"}
    deployment, _ = deployed(monkeypatch, replies, plan())
    with pytest.raises(DeploymentError, match="only 1 of 2 replicas had the topics"):
        deployment.create_topics()


def test_messages_are_counted_by_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the trial's topics and not of the probe's; they are all at the primary."""
    replies = {"EXISTS": b":1\r\n", "XLEN t/0": b":5\r\n", "XLEN t/1": b":7\r\n"}
    deployment, answering = deployed(monkeypatch, replies, plan())
    assert deployment.messages_stored() == 12
    assert deployment.leaders() == {"broker-1": 2, "broker-2": 0, "broker-3": 0}
    assert not any("probe" in command for command in answering.asked)


def test_a_replica_that_is_not_in_step_lacks_all_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    """Named by its component; with fewer copies it isn't expected."""
    told = b"# Replication\r\nrole:master\r\nslave0:ip=10.0.0.2,port=6379,state=online,offset=1,lag=0,type=replica\r\n"
    replies = {"INFO replication": encoded(told)[4:]}
    deployment, _ = deployed(monkeypatch, replies, plan())
    assert deployment.under_replicated() == ["streams on server/broker-3"]
    deployment.configure(plan(replication_factor=2))
    assert deployment.under_replicated() == []


def test_every_partition_is_at_the_primary(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it says itself; its replicas are as many as the plan has further copies."""
    replies = {"INFO replication": encoded(b"# Replication\r\nrole:master\r\n")[4:]}
    deployment, _ = deployed(monkeypatch, replies, plan())
    primary, *replicas = deployment.processes
    assert deployment.placement(0, 1) == Placement(primary, tuple(replicas))
    deployment.configure(plan(replication_factor=2))
    assert deployment.placement(0, 0).followers == (replicas[0],)
    assert deployment.coordinator() == primary
    assert deployment.data_of(replicas[0]) == ("/srv/broker-2/data1/valkey",)


def test_a_server_that_says_it_is_no_primary_leads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else has changed the places."""
    replies = {"INFO replication": encoded(b"# Replication\r\nrole:slave\r\n")[4:]}
    deployment, _ = deployed(monkeypatch, replies, plan())
    with pytest.raises(
        DeploymentError, match="server/broker-1 is no primary any more; it says that its role is 'slave'"
    ):
        deployment.placement(0, 0)


def test_a_primary_started_again_is_ready_without_its_replicas() -> None:
    """They may be what is broken; each of them is only ready with it."""
    servers = layout.servers(BROKERS)
    alone = [layout.sign(each, servers, plan(), alone=True).contains for each in servers]
    assert not any("state=online" in part for part in alone[0])
    assert alone[1:] == [layout.sign(each, servers, plan()).contains for each in servers[1:]]


@pytest.mark.parametrize("role", ["leader", "coordinator", "any", "all"])
def test_a_primary_cannot_be_replaced(role: str) -> None:
    """Its replicas would lose everything with it; a follower can."""
    assert "empty themselves" in (VALKEY.why_no_fault("replace", role) or "")
    assert VALKEY.why_no_fault("replace", "follower") is None
    assert VALKEY.why_no_fault("kill", role) is None


def test_a_refusal_is_told_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where, what was asked, and the server's own words."""
    replies = {"EXISTS": b":1\r\n", "XLEN": b"-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"}
    deployment, _ = deployed(monkeypatch, replies, plan())
    with pytest.raises(DeploymentError, match=r"server/broker-1 at 10\.0\.0\.1:6379 refuses XLEN t/0: WRONGTYPE"):
        deployment.messages_stored()


def test_a_server_that_closes_early_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half an answer is no answer."""
    deployment, _ = deployed(monkeypatch, {"EXISTS": b":1\r\n", "XLEN": b":1\r\n", "QUIT": b""}, plan())
    with pytest.raises(DeploymentError, match="closed the connection while it answered EXISTS t/0"):
        deployment.messages_stored()


def test_many_commands_go_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as a command line holds; the answers come in order."""
    many = Topic("t", 2_000)
    replies = {"EXISTS": b":1\r\n", "XLEN": b":3\r\n"}
    deployment, answering = deployed(monkeypatch, replies, plan(topics=(many,)))
    assert deployment.messages_stored() == 6_000
    assert answering.asked.count("QUIT") > 2
    assert json.dumps(answering.asked).count("EXISTS") == 2_000
