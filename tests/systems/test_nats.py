"""NATS' files, tables and what is read back, without a server; outputs are recorded from real clusters of version 2.15.1."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from provisioning.errors import CommandFailed, Completed, DeploymentError, UnsupportedDurability
from provisioning.hosts.host import Host, ScriptedHost
from provisioning.hosts.inventory import DataDir, HostRecord, Role, SshAddress
from systems.deployment import Placement, Plan, Topic
from systems.nats import layout
from systems.nats.admin import Admin, lacks
from systems.nats.api_agent import take
from systems.nats.config_text import digest, duration, lines_of, override, settings_of
from systems.nats.deployment import NatsDeployment
from systems.nats.durability import CANNOT, level_settings
from systems.nats.readback import (
    holders,
    meta_leader,
    missing_members,
    runtime_settings,
    server_settings,
    stream_settings,
    streams_of,
)
from systems.registry import DURABILITY
from systems.settings import Drift, drift
from tests.systems.installed import Installed

RECORDED = Path(__file__).with_name("recorded") / "nats"
NESTED = """\
# a comment
name: "n"
size: 5
outer {
  wait: "120s"
  inner {
    on: true
  }
}
routes: ["a", "b"]
"""


def host(number: int, role: Role = "broker", *, address: str = "127.99.0.1") -> Host:
    name = f"{role}-{number}"
    disks = tuple(DataDir(f"/srv/{name}/data{at}", "/dev/x", "/", False) for at in (1, 2))
    own = f"{address}{number}"
    return ScriptedHost(HostRecord(name, role, SshAddress(own, 22, "b", ""), own, f"/srv/{name}", disks, "", "", 1))


BROKERS = [host(at) for at in (1, 2, 3)]


def plan(level: str = "1", **changes: Any) -> Plan:
    return dataclasses.replace(Plan(DURABILITY[level], (Topic("t", 3),), {}, {}), **changes)


def config(number: int = 1, asked: Plan | None = None, hosts: Sequence[Host] = BROKERS) -> str:
    servers, asked = layout.servers(hosts), asked or plan()
    return layout.config(servers[number - 1], servers, asked, level_settings(asked.durability))


def recorded(name: str) -> dict[str, Any]:
    return dict(json.loads((RECORDED / name).read_text()))


def told() -> dict[str, dict[str, Any]]:
    """What the three servers told of their streams: three of three copies, 3,000 messages in all."""
    return {f"broker-{at}": recorded(f"jsz-{at}.json") for at in (1, 2, 3)}


def test_settings_are_read_by_their_path() -> None:
    """Without quotes, lists joined, durations in their shortest form."""
    assert settings_of(NESTED) == {
        "name": "n", "size": "5", "outer.wait": "2m", "outer.inner.on": "true", "routes": "a,b",
    }  # fmt: skip


def test_an_override_replaces_in_place_or_is_added_to_its_block() -> None:
    """A block that is there isn't opened a second time: the server would forget the first one."""
    wanted = {"size": "6", "outer.inner.on": "false", "outer.inner.more": "x", "outer.new": "7", "other.deep.er": "y"}
    text = override(NESTED, wanted)
    assert settings_of(text) == settings_of(NESTED) | wanted
    assert text.count("outer {") == text.count("inner {") == 1
    assert override(NESTED, {}) == NESTED


@pytest.mark.parametrize("text", ["key = value\n", "outer {\n", "}\n", "key: bare word\n"])
def test_a_line_that_is_not_understood_is_an_error(text: str) -> None:
    """Nothing is silently left out of what is intended."""
    with pytest.raises(ValueError, match=r"line 1|isn't closed|Expecting value"):
        list(lines_of(text))
        settings_of(text)


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [(120_000_000_000, "2m"), (90_000_000_000, "90s"), (3_600_000_000_000, "1h"), (1_500_000, "1500us"), (0, "0s")],
)
def test_a_duration_is_written_in_its_largest_whole_unit(nanoseconds: int, text: str) -> None:
    """So that 120s in a file and 120000000000 in a server's account are the same."""
    assert duration(nanoseconds) == text
    assert settings_of(f'd: "{nanoseconds}ns"\n') == {"d": text}


@pytest.mark.parametrize("number", [1, 2])
def test_the_digest_of_a_rendered_file_is_the_one_that_a_server_made_of_it(number: int) -> None:
    """Recorded from servers that had read these very files."""
    assert digest(config(number)) == recorded(f"varz-{number}.json")["config_digest"]


@pytest.mark.parametrize("number", [1, 2])
def test_a_recorded_server_has_what_was_intended(number: int) -> None:
    """Nothing drifts, what it doesn't show included, and the runtime's limit is there."""
    server = layout.servers(BROKERS)[number - 1]
    text = config(number)
    intended = layout.intended(server, text, plan())
    varz = recorded(f"varz-{number}.json")
    effective = {
        server.component: server_settings(varz, text),
        layout.runtime_component(server): runtime_settings(varz),
    }
    assert drift(intended, effective) == ()
    assert intended[server.component].keys() >= {"jetstream.sync_interval", "cluster.routes", layout.DIGEST}


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"max_payload": 5}, "max_payload"),
        ({"host": "0.0.0.0"}, "listen"),
        ({"write_deadline": 1}, "write_deadline"),
        ({"jetstream": {"config": {"sync_interval": 120_000_000_000, "store_dir": "/x/jetstream"}}}, "jetstream.sync_interval"),
    ],
)  # fmt: skip
def test_a_server_that_says_something_else_drifts(change: Mapping[str, object], key: str) -> None:
    """Also if it says that it has read the very file: what it runs with is what counts."""
    text, varz = config(), recorded("varz-1.json")
    found = drift({"server": settings_of(text)}, {"server": server_settings({**varz, **change}, text)})
    assert key in {each.key for each in found}


def test_what_a_server_does_not_show_is_not_known_of_one_that_read_another_file() -> None:
    """The digest alone tells of it."""
    text, varz = config(), recorded("varz-1.json") | {"config_digest": "sha256:0"}
    found = drift(
        {"server": settings_of(text) | {layout.DIGEST: digest(text)}}, {"server": server_settings(varz, text)}
    )
    assert {(each.key, each.effective) for each in found} == {
        (layout.DIGEST, "sha256:0"), ("cluster.no_advertise", None), ("cluster.routes", None),
    }  # fmt: skip


def test_a_runtime_without_a_limit_says_off() -> None:
    """As recorded of a server that was given none."""
    alone = json.loads((Path(__file__).parents[1] / "data" / "vendor" / "nats-2.15.1" / "varz.json").read_text())
    assert runtime_settings(alone) == {"GOMEMLIMIT": "off"}
    assert runtime_settings(recorded("varz-1.json")) == {"GOMEMLIMIT": "1073741824"}


def test_streams_are_told_by_their_leaders() -> None:
    """As recorded: each once, with its copies, and all messages are counted once."""
    streams = streams_of(told())
    assert sorted(streams) == ["t-0", "t-1", "t-2"]
    assert sum(each.messages for each in streams.values()) == 3_000
    assert {(each.copies, each.lagging) for each in streams.values()} == {(3, ())}
    assert streams["t-0"].leader == "broker-1"
    assert stream_settings(streams["t-0"].config, ["storage", "num_replicas", "allow_direct", "nonsense"]) == {
        "storage": "file", "num_replicas": "3", "allow_direct": "false",
    }  # fmt: skip


def test_a_server_alone_leads_every_stream() -> None:
    """As recorded."""
    streams = streams_of({"alone": recorded("jsz-alone.json")})
    assert (streams["t-0"].leader, streams["t-0"].copies, streams["t-0"].messages) == ("alone", 1, 2)


def test_a_stream_whose_replica_lags_is_lacking() -> None:
    """One that is behind, one that is offline, and one copy too few."""
    for change in ({"current": False}, {"offline": True}):
        accounts = told()
        replicas = accounts["broker-1"]["account_details"][0]["stream_detail"][0]["cluster"]["replicas"]
        replicas[0] |= change
        assert streams_of(accounts)["t-0"].lagging == (replicas[0]["name"],)
        assert lacks(streams_of(accounts)["t-0"], 3)
    whole = streams_of(told())["t-0"]
    assert not lacks(whole, 3)
    assert lacks(whole, 4)


def test_a_streams_holders_are_told_by_its_leader() -> None:
    """As recorded; a server alone holds every stream by itself, and one without a leader has none."""
    info = recorded("stream-info.json")
    assert holders(info, "x") == ("broker-1", ("broker-2", "broker-3"))
    assert holders(wire_answer("0"), "alone") == ("alone", ())
    assert holders({"cluster": {"leader": ""}}, "x") == ("", ())


def test_the_meta_leader_is_whom_most_servers_name() -> None:
    """Of all servers, also of those that don't answer: one that lost the others may still name itself."""
    accounts = told()
    assert meta_leader(accounts, 3) == "broker-2"
    accounts["broker-1"]["meta_cluster"]["leader"] = "broker-1"
    assert meta_leader(accounts, 3) == "broker-2"
    del accounts["broker-3"]
    assert meta_leader(accounts, 3) is None
    assert meta_leader({"broker-1": accounts["broker-1"]}, 3) is None
    accounts["broker-1"]["meta_cluster"]["leader"] = accounts["broker-2"]["meta_cluster"]["leader"] = ""
    assert meta_leader(accounts, 3) is None
    assert meta_leader({"alone": recorded("jsz-alone.json")}, 1) == "alone"


def test_members_are_those_that_the_leader_counts() -> None:
    """As recorded all are there; without the leader's word none is known to be."""
    accounts = told()
    assert missing_members(accounts) == []
    [leader] = {jsz["meta_cluster"]["leader"] for jsz in accounts.values()}
    behind = accounts[leader]["meta_cluster"]["replicas"][0]
    behind["current"] = False
    assert missing_members(accounts) == [behind["name"]]
    del accounts[leader]["meta_cluster"]
    assert missing_members(accounts) == ["broker-1", "broker-2", "broker-3"]


def test_each_server_is_bound_to_its_own_address_and_knows_all_others() -> None:
    """Three sockets, none on 0.0.0.0; the store is on the first data directory."""
    settings = settings_of(config(2))
    assert [settings[key] for key in ("listen", "http", "cluster.listen")] == [
        "127.99.0.12:4222", "127.99.0.12:8222", "127.99.0.12:6222",
    ]  # fmt: skip
    assert settings["cluster.routes"] == ",".join(f"nats://127.99.0.1{at}:6222" for at in (1, 2, 3))
    assert settings["jetstream.store_dir"] == "/srv/broker-2/data1/nats"


def test_a_server_alone_has_no_cluster() -> None:
    """With one it would wait for members that never come."""
    assert not any(key.startswith("cluster") for key in settings_of(config(1, hosts=BROKERS[:1])))


def test_hosts_for_metadata_have_nothing_to_do() -> None:
    """The servers keep the metadata among themselves."""
    servers = layout.servers([*BROKERS, host(1, "metadata", address="127.99.1.1")])
    assert [server.host.name for server in servers] == ["broker-1", "broker-2", "broker-3"]


@pytest.mark.parametrize(
    ("level", "sync", "acks"), [("1", "always", "stream"), ("2", "2m", "stream"), ("none", "2m", "none")]
)
def test_a_level_is_when_servers_sync_and_what_clients_wait_for(level: str, sync: str, acks: str) -> None:
    """In every server's file, and in the settings that clients get, whatever the plan's own say."""
    deployment = NatsDeployment(BROKERS, Installed("2.15.1"))
    deployment.install()
    asked = plan(level, overrides={"client": {"pull_messages": "9", "acks": "none"}})
    intended = deployment.intended_settings(asked)
    assert {intended[f"server/broker-{at}"]["jetstream.sync_interval"] for at in (1, 2, 3)} == {sync}
    deployment._plan = asked
    assert deployment.endpoints().client_settings == {"pull_messages": "9", "acks": acks}


@pytest.mark.parametrize("level", ["3", "4", "2-bypass", "4-bypass"])
def test_levels_that_it_cannot_give_are_refused_with_those_that_it_can(level: str) -> None:
    """Before anything is written; each has its reason."""
    with pytest.raises(UnsupportedDurability) as caught:
        NatsDeployment(BROKERS, Installed("2.15.1")).intended_settings(plan(level))
    assert caught.value.next_step == "Levels it has: 1, 2, none."
    assert CANNOT[level]


def test_overrides_of_one_server_of_all_of_the_runtime_and_of_streams() -> None:
    """Each in its place; what no server has is refused by name."""
    own = {
        "server": {"max_pending": "5", "jetstream.max_file_store": "7"},
        "server/broker-2": {"max_pending": "6"},
        "go/server": {"GOMEMLIMIT": "123"},
        "topic": {"compression": "s2"},
    }
    intended = NatsDeployment(BROKERS, Installed("2.15.1")).intended_settings(plan(overrides=own))
    assert [intended[f"server/broker-{at}"]["max_pending"] for at in (1, 2, 3)] == ["5", "6", "5"]
    assert intended["server/broker-1"]["jetstream.max_file_store"] == "7"
    assert intended["go/server/broker-3"] == {"GOMEMLIMIT": "123"}
    assert intended["topic"]["compression"] == "s2"
    with pytest.raises(DeploymentError, match=r"unknown component 'broker'"):
        NatsDeployment(BROKERS, Installed("2.15.1")).intended_settings(plan(overrides={"broker": {"a": "1"}}))


def test_fewer_servers_than_copies_are_refused() -> None:
    """Before anything is written."""
    with pytest.raises(DeploymentError, match="nats needs 3 broker hosts for as many copies; the inventory has 2"):
        NatsDeployment(BROKERS[:2], Installed("2.15.1")).intended_settings(plan())


def test_the_runtimes_limit_goes_by_the_hosts_memory() -> None:
    """As the memory classes say, in the process' environment."""
    [server, *_] = layout.servers(BROKERS)
    for memory_bytes, limit in ((None, "1073741824"), (16 * 2**30, "8589934592")):
        asked = plan(memory=layout.MEMORY.for_hosts(memory_bytes))
        daemon = layout.daemon(server, "/srv/broker-1/software/nats", asked)
        assert daemon.env == {"GOMEMLIMIT": limit}
        assert daemon.argv == (
            "/srv/broker-1/software/nats/bin/nats-server",
            "-c",
            "/srv/broker-1/etc/nats/nats-server.conf",
        )


class Answering(ScriptedHost):
    """Gives prepared answers to agents, in order: JSON documents, or an exception."""

    def __init__(self, answers: list[Any]) -> None:
        super().__init__(host(1).record)
        self.left = answers
        self.requests: list[Any] = []

    def run(self, command: str, **options: object) -> Completed:
        del options
        self.requests.append(command)
        answer = self.left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return Completed(command, json.dumps(answer), "", 0)


def admin_of(*answers: Any) -> tuple[Admin, Answering]:
    """An admin of one server that gives these answers; each look at its clock is 40 s later than the one before."""
    answering = Answering(list(answers))
    clock = iter(range(0, 100_000, 40))
    return Admin(layout.servers([answering]), monotonic_s=lambda: float(next(clock))), answering


def made(*names: str, **changes: object) -> dict[str, Any]:
    """An HTTP answer in which these streams are there."""
    detail = recorded("jsz-alone.json")["account_details"][0]["stream_detail"][0]
    details = [{**detail, "name": name, "cluster": {"leader": "broker-1"}, **changes} for name in names]
    return http_answer({"account_details": [{"stream_detail": details}]})


def http_answer(document: object, status: int = 200) -> dict[str, Any]:
    return {"responses": [{"status": status, "body": json.dumps(document)}]}


def wire_answer(number: str) -> dict[str, Any]:
    """What a server answered to a request of the recorded session."""
    wire = (RECORDED / "wire.txt").read_bytes()
    line, _, rest = wire[wire.index(f"MSG _INBOX.a.{number} ".encode()) :].partition(b"\r\n")
    return dict(json.loads(rest[: int(line.split()[-1])]))


UNAVAILABLE = {"error": {"code": 503, "err_code": 10008, "description": "JetStream system temporarily unavailable"}}


def test_streams_are_asked_for_again_while_jetstream_is_not_available() -> None:
    """Only those that aren't made yet; then it waits until each has its copies."""
    lagging = {"leader": "broker-1", "replicas": [{"name": "broker-2", "current": False}]}
    admin, answering = admin_of(
        {"answers": [wire_answer("0"), UNAVAILABLE]},
        {"answers": [None]},
        {"answers": [wire_answer("0")]},
        made("t-0", "t-1", cluster=lagging),
        made("t-0", "t-1"),
    )
    found = admin.create_streams({"t-0": {"name": "t-0"}, "t-1": {"name": "t-1"}}, 1)
    assert sorted(found) == ["t-0", "t-1"]
    assert ["STREAM.CREATE.t-0" in each for each in answering.requests[:3]] == [True, False, False]
    assert answering.left == []


def test_a_stream_that_cannot_be_made_is_an_error_at_once() -> None:
    """As recorded: there is one of this name with another configuration."""
    admin, _ = admin_of({"answers": [wire_answer("7")]})
    with pytest.raises(
        DeploymentError, match=r"stream t-0 can't be made as .*already in use with a different configuration"
    ):
        admin.create_streams({"t-0": {"name": "t-0"}}, 1)


def test_streams_that_are_not_made_in_time_are_named_with_the_reason() -> None:
    """What the server said last."""
    admin, _ = admin_of(*[{"answers": [UNAVAILABLE]}] * 20)
    with pytest.raises(
        DeploymentError, match=r"aren't made after 180\.05 s: t-0 \(JetStream system temporarily unavailable\)"
    ):
        admin.create_streams({"t-0": {"name": "t-0"}}, 1)


def admin_of_three(*answers: Sequence[Any]) -> tuple[Admin, list[Answering]]:
    """An admin of three servers that give these answers."""
    answering = [Answering(list(own)) for own in answers]
    for each, broker in zip(answering, BROKERS, strict=True):
        each.record = broker.record
    return Admin(layout.servers(answering)), answering


REFUSED = {"failed": "ConnectionRefusedError: [Errno 111] Connection refused"}


def test_a_server_that_is_gone_or_silent_is_passed_over_for_a_stream() -> None:
    """The third one gets the leader's answer; without one the stream is led by nobody, and each reason is told."""
    admin, answering = admin_of_three([REFUSED], [{"answers": [None]}], [{"answers": [recorded("stream-info.json")]}])
    assert admin.stream_info("broken-0")["cluster"]["leader"] == "broker-1"
    assert "$JS.API.STREAM.INFO.broken-0" in answering[2].requests[0]
    admin, _ = admin_of_three([REFUSED], [{"answers": [None]}], [{"answers": [UNAVAILABLE]}])
    with pytest.raises(
        DeploymentError, match=r"nobody leads t-0 now: .*refused; .*no answer; .*temporarily unavailable"
    ):
        admin.stream_info("t-0")


def test_servers_that_do_not_answer_keep_nobody_from_telling() -> None:
    """A stream is told by its leader, whoever is gone; the meta leader by most of all servers."""
    gone = {"responses": [{"status": 0, "body": "Connection refused"}]}
    first, second, third = (http_answer(each) for each in told().values())
    admin, _ = admin_of_three([first, gone], [second, second], [gone, third])
    assert sorted(admin.streams()) == ["t-0", "t-1", "t-2"]
    assert admin.meta_leader() == "broker-2"
    admin, _ = admin_of_three([gone], [gone], [third])
    with pytest.raises(DeploymentError, match="no server is the leader"):
        admin.meta_leader()


def deployed(monkeypatch: pytest.MonkeyPatch, info: Mapping[str, Any]) -> NatsDeployment:
    """Three servers, of whose streams this is told."""
    deployment = NatsDeployment(BROKERS, Installed("2.15.1"))
    deployment._plan, deployment._software = plan(), "software/nats"
    monkeypatch.setattr(Admin, "stream_info", lambda _admin, name: {**info, "asked": name})
    monkeypatch.setattr(Admin, "meta_leader", lambda _admin: "broker-3")
    return deployment


def test_a_partition_is_where_its_stream_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its leader, and the servers with the other copies."""
    deployment = deployed(monkeypatch, recorded("stream-info.json"))
    first, second, third = deployment.processes
    assert deployment.placement(0, 1) == Placement(first, (second, third))
    assert deployment.coordinator() == third
    assert deployment.data_of(second) == ("/srv/broker-2/data1/nats",)
    with pytest.raises(DeploymentError, match="nobody leads t-2 now"):
        deployed(monkeypatch, {"cluster": {"leader": "", "replicas": []}}).placement(0, 2)


def test_a_server_that_cuts_the_agent_off_is_named() -> None:
    """With what the agent met."""
    admin, _ = admin_of({"failed": "ConnectionError: -ERR 'Authorization Violation'"})
    with pytest.raises(
        DeploymentError, match=r"broker-1: its server doesn't answer requests: .*Authorization Violation"
    ):
        admin.create_streams({"t-0": {"name": "t-0"}}, 1)


def test_an_account_that_is_refused_is_an_error_with_its_address() -> None:
    """Status and body are the evidence."""
    admin, _ = admin_of(http_answer("nothing", 503))
    with pytest.raises(Exception, match=r"nats: reading /jsz") as caught:
        admin.streams()
    assert "http://127.99.0.11:8222/jsz?accounts=1&streams=1&config=1: status 503" in str(caught.value)


def test_a_host_that_fails_is_an_error_of_that_host() -> None:
    """Not of the server."""
    admin, _ = admin_of(CommandFailed("broker-1", Completed("python3", "", "no python3", 127)))
    with pytest.raises(Exception, match="no python3"):
        admin.streams()


def test_the_agent_reads_a_recorded_session() -> None:
    """Answers by their numbers; one of a status without a body is an error with that status."""
    wire = (RECORDED / "wire.txt").read_bytes()
    session = wire[: wire.index(b"MSG t.0 1")]

    said: list[bytes] = []

    class Silent:
        """Takes pongs."""

        def sendall(self, content: bytes) -> None:
            said.append(content)

    found: dict[int, Any] = {}
    rest = b""
    for at in range(0, len(session), 100):
        rest = take(rest + session[at : at + 100], Silent(), "_INBOX.a", found)  # type: ignore[arg-type]
    assert sorted(found) == list(range(9))
    assert found[0]["config"]["name"] == "t-0"
    assert found[3] == {"error": {"description": "NATS/1.0 503"}}
    assert said == [b"PONG\r\n"]
    with pytest.raises(ConnectionError, match="Unknown Protocol"):
        take(wire[wire.index(b"-ERR") :], Silent(), "_INBOX.a", found)  # type: ignore[arg-type]


def test_drift_names_the_setting() -> None:
    """A server that syncs in the background where each write should be synced is told by key and values."""
    text, other = config(), config().replace('"always"', '"2m"')
    varz = recorded("varz-1.json")
    varz["jetstream"]["config"].pop("sync_always")
    varz["config_digest"] = digest(other)
    found = drift({"server": settings_of(text)}, {"server": server_settings(varz, text)})
    assert found[0] == Drift("server", "jetstream.sync_interval", "always", "2m")
