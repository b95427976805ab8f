"""RabbitMQ's files, tables, questions and read-back, without a node; answers are recorded from three real ones."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from provisioning.errors import Completed, DeploymentError, UnsupportedDurability
from provisioning.hosts.host import ScriptedHost
from provisioning.hosts.inventory import DataDir, HostRecord, Role, SshAddress
from systems.deployment import Plan, Topic
from systems.processes import Process
from systems.rabbitmq import deployment as under_test
from systems.rabbitmq import layout
from systems.rabbitmq.config_text import override_settings, settings
from systems.rabbitmq.deployment import RabbitDeployment
from systems.rabbitmq.durability import CANNOT, DIFFERENCES, LEVELS, durability_table, level_settings
from systems.rabbitmq.node import Nodes, arguments, asked, binaries
from systems.rabbitmq.readback import lacks, paths, queues_of
from systems.rabbitmq.system import RABBITMQ
from systems.registry import DURABILITY, SYSTEMS
from systems.settings import Drift, drift
from systems.software.debian_packages import DebianPackages
from tests.systems.installed import Installed

RECORDED = Path(__file__).with_name("recorded") / "rabbitmq"


def host(name: str, address: str, role: Role = "broker", disks: int = 2) -> ScriptedHost:
    dirs = tuple(DataDir(f"/srv/{name}/data{at}", "/dev/x", "/", False) for at in range(1, disks + 1))
    root = f"/srv/{name}"
    known: dict[str, Any] = {
        f"rm -rf {root}/tmp/processes; mkdir -p {root}/tmp/processes; rm -f {root}/log/rabbitmq-server.log*": "",
        f"rm -rf {root}/etc/rabbitmq/home": "",
    }
    return ScriptedHost(HostRecord(name, role, SshAddress(address, 22, "b", ""), address, root, dirs, "", "", 1), known)


def brokers() -> list[ScriptedHost]:
    return [host(f"broker-{at}", f"127.0.0.1{at}") for at in (1, 2, 3)]


def plan(level: str = "1", **changes: Any) -> Plan:
    return dataclasses.replace(Plan(DURABILITY[level], (Topic("t", 2),), {}, {}), **changes)


def recorded(name: str) -> Any:
    return json.loads((RECORDED / f"{name}.json").read_text())


class Answering:
    """Nodes whose answers are given: question -> answer, or host -> answer. What isn't there fails the test."""

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self.answers = dict(answers)
        self.asked: list[tuple[str, str, Mapping[str, object]]] = []

    def ask(self, server: Process, question: str, *, timeout_s: float = 60.0, **given: object) -> Any:
        assert timeout_s > 0
        asked(question, **given)  # renders
        self.asked.append((server.host.name, question, given))
        return self.answers[question]

    def ask_all(self, question: str, *, timeout_s: float = 60.0, **given: object) -> dict[str, Any]:
        assert timeout_s > 0
        asked(question, **given)
        self.asked.append(("all", question, given))
        return dict(self.answers[question])


class Partly(Answering):
    """The first node is gone."""

    def ask(self, server: Process, question: str, *, timeout_s: float = 60.0, **given: object) -> Any:
        if server.number == 1:
            raise DeploymentError("no answer of the first")
        return super().ask(server, question, timeout_s=timeout_s, **given)


def deployed(
    monkeypatch: pytest.MonkeyPatch, answers: Mapping[str, Any], asked_for: Plan, kind: type[Answering] = Answering
) -> tuple[RabbitDeployment, Answering]:
    """A deployment that is configured, and whose nodes answer so."""
    answering = kind(answers)
    monkeypatch.setattr(under_test, "Nodes", lambda *_: answering)
    deployment = RabbitDeployment(brokers(), Installed("4.0.5"))
    deployment.install()
    deployment.configure(asked_for)
    return deployment, answering


def test_every_node_binds_its_own_address_for_clients_and_nodes() -> None:
    """In its file and in its flags; each is named after it, and there is no directory of nodes to ask."""
    servers = layout.servers(brokers())
    for server in servers:
        assert settings(layout.config(server, plan()))["listeners.tcp.1"] == f"{server.address}:5672"
        words = layout.daemon(server, "/srv/software", plan()).argv
        assert words[0] == "/srv/software/bin/erl"
        said = " ".join(words)
        assert f"-name rabbit@{server.address} " in said
        assert "-start_epmd false -erl_epmd_port 25672" in said
        assert f"inet_dist_use_interface {{{server.address.replace('.', ',')}}}" in said
    assert layout.service_url(servers) == "127.0.0.11:5672,127.0.0.12:5672,127.0.0.13:5672"


def test_a_node_writes_to_the_first_data_disk_and_the_hosts_root() -> None:
    """Nothing of it lands elsewhere on the host."""
    server = layout.servers(brokers())[1]
    places = [value for value in layout.environment(server).values() if value.startswith("/")]
    assert {place for place in places if not place.startswith("/srv/broker-2/")} == {"/dev/null"}
    assert layout.environment(server)["RABBITMQ_MNESIA_BASE"] == "/srv/broker-2/data1/rabbitmq"


def test_a_broker_needs_a_disk() -> None:
    """Said with the host's name."""
    with pytest.raises(DeploymentError, match="broker-9: rabbitmq needs a data directory"):
        layout.servers([host("broker-9", "10.0.0.19", disks=0)])


def test_the_cookie_is_for_one_cluster_and_for_its_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same on all hosts, another one each time, in no file that is fetched with the logs and in no word of a command."""
    cookies = []
    for _ in (1, 2):
        written, deployment = written_by(monkeypatch, plan())
        kept = {path: content for path, (content, mode) in written.items() if mode == 0o400}
        assert sorted(kept) == [f"/srv/broker-{at}/etc/rabbitmq/home/.erlang.cookie" for at in (1, 2, 3)]
        [cookie] = set(kept.values())
        assert len(cookie) == 64
        assert not [path for path, (content, _) in written.items() if cookie in content and path not in kept]
        for server in deployment.processes:
            daemon = layout.daemon(server, "s", plan())
            assert cookie.decode() not in f"{daemon.argv}{daemon.env}"
        cookies.append(cookie)
    assert cookies[0] != cookies[1]


def written_by(
    monkeypatch: pytest.MonkeyPatch, asked_for: Plan
) -> tuple[dict[str, tuple[bytes, int]], RabbitDeployment]:
    """All files that configuring writes, with the right to read them: path -> content, mode."""
    written: dict[str, tuple[bytes, int]] = {}

    def put(content: bytes, path: str, *, mode: int = 0o644) -> None:
        written[path] = (content, mode)

    hosts = brokers()
    for each in hosts:
        monkeypatch.setattr(each, "put", put)
    deployment = RabbitDeployment(hosts, Installed("4.0.5"))
    deployment.install()
    deployment.configure(asked_for)
    return written, deployment


def test_the_levels_as_a_table() -> None:
    """Only level 2 doesn't sync its queues, only its variant has streams, and only `none` goes without confirms."""
    table = durability_table(3)
    assert {name: level["ra"]["wal_sync_method"] for name, level in table.items()} == {
        "1": "datasync", "2": "none", "2-stream": "datasync", "none": "datasync",
    }  # fmt: skip
    assert {name for name, level in table.items() if level["topic"]["x-queue-type"] == "stream"} == {"2-stream"}
    assert {name for name, level in table.items() if level["producer"]["confirms"] == "false"} == {"none"}


@pytest.mark.parametrize("level", ["2-bypass", "3", "4", "4-bypass"])
def test_a_level_that_there_is_not_is_refused(level: str) -> None:
    """Never silently downgraded, and the reason is told."""
    with pytest.raises(UnsupportedDurability, match=f"level {level}"):
        level_settings(DURABILITY[level])
    assert CANNOT[level]


def test_what_the_vendor_does_not_document_is_labelled() -> None:
    """At level 2, in what the report shows; the stream's level isn't."""
    labelled = [each for each in DIFFERENCES if "not documented by the vendor" in each.what]
    assert [each.durability for each in labelled] == [("2",)]
    assert "not documented by the vendor" in SYSTEMS["rabbitmq"].own_values["ra"]["wal_sync_method"].why


def test_every_level_has_its_differences() -> None:
    """Each is about levels that there are, and every level tells when a message counts as received."""
    for each in DIFFERENCES:
        assert set(each.durability) <= LEVELS.keys(), each.aspect
    received = [
        name for each in DIFFERENCES if each.aspect == "when a message counts as received" for name in each.durability
    ]
    assert sorted(received) == sorted(LEVELS)


def test_the_level_goes_over_the_clients_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """A profile sets the client as it likes, but what an acknowledgement promises is the level's."""
    own = {"client": {"confirms": "false", "prefetch": "50"}}
    deployment, _ = deployed(monkeypatch, {}, plan("2-stream", overrides=own))
    assert deployment.endpoints().client_settings == {"prefetch": "50", "queue_type": "stream", "confirms": "true"}


def test_memory_and_overrides_reach_the_files() -> None:
    """The profile's bound and a campaign's settings are rendered, and are intended because they are rendered."""
    asked_for = plan(
        memory={"server": {"watermark": "4294967296"}},
        overrides={
            "server": {"heartbeat": "20", "log.console.level": "debug"},
            "ra/broker-2": {"wal_write_strategy": "o_sync"},
            "topic": {"x-max-length": "1000"},
        },
    )
    deployment = RabbitDeployment(brokers(), Installed("4.0.5"))
    intended = deployment.intended_settings(asked_for)
    wanted = {"vm_memory_high_watermark.absolute": "4294967296", "heartbeat": "20", "log.console.level": "debug"}
    assert {key: intended["server/broker-1"][key] for key in wanted} == wanted
    assert intended["topic"] == {"x-queue-type": "quorum", "x-max-length": "1000"}
    second = layout.files(deployment.processes[1], asked_for, intended)["/srv/broker-2/etc/rabbitmq/advanced.config"]
    assert re.findall(r"\{(\w+), (\w+)\}(,?)", second) == [
        ("wal_sync_method", "datasync", ","), ("wal_write_strategy", "o_sync", ""),
    ]  # fmt: skip
    with pytest.raises(DeploymentError, match=r"'sever'\. Did you mean 'server'"):
        deployment.intended_settings(plan(overrides={"sever": {"heartbeat": "1"}}))


def test_more_copies_than_brokers_are_refused() -> None:
    """Before anything is written."""
    with pytest.raises(DeploymentError, match="rabbitmq needs 5 broker hosts"):
        RabbitDeployment(brokers(), Installed("4.0.5")).intended_settings(plan(replication_factor=5))


def test_every_key_is_rendered_once() -> None:
    """A key that stands twice would be intended as one thing and run as another."""
    for each in layout.servers(brokers()):
        lines = layout.config(each, plan()).splitlines()
        keys = [line.partition("=")[0].strip() for line in lines if line and not line.startswith("#")]
        assert len(keys) == len(set(keys))


def test_a_setting_is_replaced_in_its_place() -> None:
    """Or appended, and comments stay."""
    text = override_settings("# heartbeat = 1\nheartbeat = 60\n", {"heartbeat": "5", "channel_max": "9"})
    assert settings(text) == {"heartbeat": "5", "channel_max": "9"}
    assert text.splitlines()[:2] == ["# heartbeat = 1", "heartbeat = 5"]


def nodes_settings() -> dict[str, Any]:
    return {f"broker-{at}": recorded(f"settings-{at}") for at in (1, 2, 3)}


def alive(monkeypatch: pytest.MonkeyPatch) -> None:
    """All processes run."""
    monkeypatch.setattr(under_test, "running", lambda processes: {each.host.name: {} for each in processes})


def test_real_nodes_show_no_drift(monkeypatch: pytest.MonkeyPatch) -> None:
    """What three of them said that ran with these files, build, cluster and queues included."""
    alive(monkeypatch)
    queues = recorded("queues")
    deployment, answering = deployed(monkeypatch, {"settings": nodes_settings(), "queues": queues}, plan())
    intended = deployment.intended_settings(plan())
    assert drift(intended, deployment.effective_settings()) == ()
    told = nodes_settings()
    told["broker-2"]["ra"]["wal_sync_method"] = "none"
    told["broker-3"]["cluster"]["nodes"] = "rabbit@127.0.0.13"
    answering.answers["settings"] = told
    answering.answers["queues"] = [each | {"members": each["members"][:2]} for each in queues]
    assert set(drift(intended, deployment.effective_settings())) == {
        Drift("ra/broker-2", "wal_sync_method", "datasync", "none"),
        Drift(
            "cluster/broker-3", "nodes", "rabbit@127.0.0.11,rabbit@127.0.0.12,rabbit@127.0.0.13", "rabbit@127.0.0.13"
        ),
        Drift("topic/layout", "replicas", "3", "2"),
    }


def test_streams_are_read_back_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    """A queue where a stream should be is drift."""
    alive(monkeypatch)
    deployment, answering = deployed(
        monkeypatch, {"settings": nodes_settings(), "queues": recorded("streams")}, plan("2-stream")
    )
    intended = deployment.intended_settings(plan("2-stream"))
    assert drift(intended, deployment.effective_settings()) == ()
    answering.answers["queues"] = recorded("queues")
    assert drift(intended, deployment.effective_settings()) == (Drift("topic", "x-queue-type", "stream", "quorum"),)


def test_a_key_is_looked_for_where_it_is_kept() -> None:
    """Inside of what its first part names; what can't be one isn't asked for."""
    assert paths(["a.b", "heartbeat", "listeners.tcp.1", "x y", "a'b"]) == (
        "[{<<\"a.b\">>, ['a', 'b']}, {<<\"heartbeat\">>, ['heartbeat']}, {<<\"listeners.tcp.1\">>, ['listeners', 'tcp', '1']}]"
    )


def test_queues_are_made_in_turn_with_their_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each on the node that is to lead it, as producers go to nodes in turn; the probe's after them; and all copies are waited for."""
    deployment, answering = deployed(
        monkeypatch, {"declare": True, "queues": recorded("queues")}, plan(overrides={"topic": {"x-max-length": "9"}})
    )
    deployment.create_topics()
    made = [(name, given) for name, question, given in answering.asked if question == "declare"]
    assert [(name, given["names"]) for name, given in made] == [
        ("broker-1", '[<<"t-0">>]'), ("broker-2", '[<<"t-1">>]'), ("broker-3", '[<<"samebox-probe-0">>]'),
    ]  # fmt: skip
    assert made[0][1]["arguments"] == (
        '[{<<"x-queue-type">>, longstr, <<"quorum">>}, {<<"x-max-length">>, long, 9}, '
        '{<<"x-quorum-initial-group-size">>, long, 3}]'
    )
    assert deployment.leaders() == {"broker-1": 0, "broker-2": 1, "broker-3": 1}


def test_queues_without_all_their_copies_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """And told by name when the time is up."""
    short = [each | {"online": each["online"][:2]} if each["name"] == "t-1" else each for each in recorded("queues")]
    monkeypatch.setattr(under_test, "TOPIC_LIMIT_S", 0.0)
    monkeypatch.setattr(under_test, "PARTITION_LIMIT_S", 0.05)
    deployment, _ = deployed(monkeypatch, {"declare": True, "queues": short, "behind": []}, plan())
    with pytest.raises(DeploymentError, match=r"queues without all their copies after 0\.1 s: t-1"):
        deployment.create_topics()
    assert deployment.under_replicated() == ["t-1"]


@pytest.mark.parametrize(
    ("changes", "lacking"), [({}, False), ({"leader": ""}, True), ({"online": ["rabbit@a"]}, True)]
)
def test_a_queue_lacks_a_leader_or_copies(changes: dict[str, Any], lacking: bool) -> None:
    """Either is enough."""
    [told] = [each | changes for each in recorded("queues") if each["name"] == "t-0"]
    assert lacks(queues_of([told])["t-0"], 3) is lacking


def test_a_queue_that_is_not_there_lacks_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is named, not left out."""
    deployment, _ = deployed(monkeypatch, {"queues": []}, plan())
    assert deployment.under_replicated() == ["t-0", "t-1"]


def test_what_was_read_is_counted_with_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of queues, which forget it; streams keep it, and consumers' acknowledgements are nothing there."""
    stored = {"broker-1": {"t-0": 3}, "broker-2": {}, "broker-3": {"t-1": 4}}
    answers = {"stored": stored, "acknowledged": {"broker-1": 10, "broker-2": 20, "broker-3": 0}}
    deployment, answering = deployed(monkeypatch, answers, plan())
    assert deployment.messages_stored() == 37
    assert not any("probe" in str(given) for _, _, given in answering.asked)
    streams, _ = deployed(monkeypatch, {"stored": stored}, plan("2-stream"))
    assert streams.messages_stored() == 7


class Moving(Answering):
    """Nodes of which some answers change from one question to the next: question -> the answers, of which the last one stays."""

    def ask_all(self, question: str, *, timeout_s: float = 60.0, **given: object) -> dict[str, Any]:
        answer = super().ask_all(question, timeout_s=timeout_s, **given)
        times = sum(each == question for _, each, _ in self.asked)
        return dict(answer["in turn"][min(times, len(answer["in turn"])) - 1])


def moving(monkeypatch: pytest.MonkeyPatch, stored: list[int], acknowledged: list[int]) -> RabbitDeployment:
    """A deployment of one queue whose nodes tell these counts, one after the other."""
    monkeypatch.setattr(under_test, "SETTLED_S", 0.01)
    answers = {
        "stored": {"in turn": [{"broker-1": {"t-0": count}} for count in stored]},
        "acknowledged": {"in turn": [{"broker-1": count} for count in acknowledged]},
    }
    made, _ = deployed(monkeypatch, {}, plan(topics=(Topic("t", 1),)))
    monkeypatch.setattr(made, "_nodes", Moving(answers))
    return made


def test_a_message_that_is_being_acknowledged_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node counts it while its queue still has it: only counts that stay as they are hold."""
    assert (
        moving(monkeypatch, stored=[128, 128, 0, 0], acknowledged=[1_872, 2_000, 2_000, 2_000]).messages_stored()
        == 2_000
    )


def test_a_count_that_never_settles_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """And no number that may be wrong."""
    monkeypatch.setattr(under_test, "SETTLING_LIMIT_S", 0.05)
    with pytest.raises(DeploymentError, match=r"still acknowledge messages after 0\.05 s"):
        moving(monkeypatch, stored=list(range(1_000, 0, -1)), acknowledged=[0]).messages_stored()


def test_a_queue_without_a_leader_has_no_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an error, not zero messages."""
    deployment, _ = deployed(monkeypatch, {"stored": {"broker-1": {"t-0": 3}}}, plan())
    with pytest.raises(DeploymentError, match="no leader, which counts its messages: t-1"):
        deployment.messages_stored()


def server_that_says(stdout: str, *, exit_status: int = 0, stderr: str = "") -> tuple[Nodes, Process, list[str]]:
    """A node, and what is said to it."""
    said: list[str] = []
    [server] = layout.servers([host("broker-1", "127.0.0.11")])

    def run(command: str, *, timeout_s: float, stdin: bytes, check: bool) -> Completed:
        assert timeout_s > 60 and not check
        said.append(f"{command}\n{stdin.decode()}")
        return Completed(command, stdout, stderr, exit_status)

    server.host.run = run  # type: ignore[method-assign, assignment]
    return Nodes([server], "software/rabbitmq"), server, said


def test_a_question_is_erlang_on_standard_input() -> None:
    """To the node's own address; the cookie is found by its home, and each asker has a name of its own."""
    nodes, server, said = server_that_says('{"answer": ["rabbit@127.0.0.11"]}')
    assert nodes.ask(server, "members") == ["rabbit@127.0.0.11"]
    nodes.ask(server, "members")
    assert said[0].startswith(
        "HOME=/srv/broker-1/etc/rabbitmq/home /srv/broker-1/software/rabbitmq/bin/erl_call -h samebox"
    )
    assert "-address 127.0.0.11:25672 " in said[0]
    assert "rabbit_nodes:list_running()" in said[0]
    names = {re.search(r"-h (\w+)", each)[1] for each in said}  # type: ignore[index]
    assert len(names) == 2


@pytest.mark.parametrize(
    ("stdout", "exit_status", "stderr", "problem"),
    [
        ("", 1, "erl_call: failed to connect", r"can't be asked members: erl_call: failed to connect"),
        ("", 0, "", "no answer to members: ''"),
        ('{"failed": "error: undef"}', 0, "", "fails at members: error: undef"),
    ],
)
def test_a_node_that_does_not_answer_is_told(stdout: str, exit_status: int, stderr: str, problem: str) -> None:
    """Where, what was asked, and the evidence."""
    nodes, server, _ = server_that_says(stdout, exit_status=exit_status, stderr=stderr)
    with pytest.raises(DeploymentError, match=rf"server/broker-1 at 127\.0\.0\.11:25672.*{problem}"):
        nodes.ask(server, "members")


@pytest.mark.parametrize("word", ['a"b', "a\\b", "é", "a\nb"])
def test_what_would_be_other_erlang_is_refused(word: str) -> None:
    """A name is a text and nothing else."""
    with pytest.raises(ValueError, match="not a plain text"):
        binaries([word])


def test_arguments_have_the_types_that_queues_take() -> None:
    """Numbers, true and false, texts."""
    assert arguments({"a": "-1", "b": "true", "c": "10s"}) == (
        '[{<<"a">>, long, -1}, {<<"b">>, bool, true}, {<<"c">>, longstr, <<"10s">>}]'
    )


def test_lack_of_memory_is_known_by_its_words() -> None:
    """Erlang's own last words, and the alarm by which a node makes publishers wait."""
    for line in (
        'eheap_alloc: Cannot allocate 3321944 bytes of memory (of type "heap").',
        "[warning] memory resource limit alarm set on node 'rabbit@127.0.0.11'.",
    ):
        assert re.search(layout.OUT_OF_MEMORY, line)
    assert not re.search(layout.OUT_OF_MEMORY, "[info] Memory high watermark set to 2048 MiB")


def test_the_pinned_packages_are_whole() -> None:
    """All come by their sums, and the folder has what starts them."""
    packages, _ = SYSTEMS["rabbitmq"].software
    assert isinstance(packages, DebianPackages)
    assert packages.version == "4.0.5"
    assert len(packages.digest) == 64
    assert {path.name for path in (packages.folder / "bin").iterdir()} == {"erl", "erl_call"}


def test_the_process_that_stores_is_the_one_that_is_started() -> None:
    """It is the one that a durability proof traces."""
    server = layout.servers(brokers())[0]
    assert RabbitDeployment.storing_daemon == layout.daemon(server, "s", plan()).name == server.daemon


def test_a_copy_that_is_behind_is_told_with_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only of queues that have all copies it is asked whether these are in step."""
    deployment, answering = deployed(monkeypatch, {"queues": recorded("queues"), "behind": ["t-1"]}, plan())
    assert deployment.under_replicated() == ["t-1"]
    [given] = [given for _, question, given in answering.asked if question == "behind"]
    assert given["names"] == '[<<"t-0">>, <<"t-1">>]'


def test_a_partition_is_where_its_queue_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the first node says that answers; one without a leader is nowhere."""
    [told] = [each for each in recorded("queues") if each["name"] == "t-0"]
    deployment, answering = deployed(monkeypatch, {"queues": [told]}, plan(), Partly)
    leader = told["leader"].partition("@")[2]
    found = deployment.placement(0, 0)
    assert found.leader.address == leader
    others = [each.address for each in deployment.processes if each.address != leader]
    assert sorted(each.address for each in found.followers) == others
    answering.answers["queues"] = [told | {"leader": ""}]
    with pytest.raises(DeploymentError, match="nobody leads t-0 now"):
        deployment.placement(0, 0)


def test_there_is_no_coordinator(monkeypatch: pytest.MonkeyPatch) -> None:
    """So a campaign that aims at it is refused on paper, and a leader can be aimed at."""
    deployment, _ = deployed(monkeypatch, {}, plan())
    with pytest.raises(DeploymentError, match="no node decides for the cluster"):
        deployment.coordinator()
    assert "no node decides" in (RABBITMQ.why_no_fault("kill", "coordinator") or "")
    assert RABBITMQ.why_no_fault("replace", "leader") is None


@pytest.mark.parametrize("empty", [False, True])
def test_a_node_without_its_data_is_forgotten_and_joins_again(empty: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """First it is forgotten, by a node that answers; then it joins that one and gets the copies that it had. Else it only starts."""
    answers = {"forget": "forgotten", "join": "joined", "grow": True}
    deployment, answering = deployed(monkeypatch, answers, plan(), Partly)
    deployment._complete = queues_of(
        [recorded("queues")[0] | {"name": "t-0"}, recorded("queues")[1] | {"name": "u", "members": []}]
    )
    server = deployment.processes[2]
    host = server.host
    assert isinstance(host, ScriptedHost)
    host.answers[layout.is_empty(server)] = Completed("test", "", "", 0 if empty else 1)
    monkeypatch.setattr(deployment, "_start", lambda _server: answering.asked.append((server.host.name, "start", {})))
    monkeypatch.setattr(under_test, "await_ready", lambda *_what, **_limit: None)
    deployment.start_again(server)
    asked_for = [(where, question) for where, question, _ in answering.asked]
    if not empty:
        assert asked_for == [("broker-3", "start")]
        return
    assert asked_for == [("broker-2", "forget"), ("broker-3", "start"), ("broker-3", "join"), ("broker-2", "grow")]
    given = [given for _, _, given in answering.asked]
    assert (given[0]["node"], given[2]["first"]) == ("rabbit@127.0.0.13", "rabbit@127.0.0.12")
    assert (given[3]["node"], given[3]["names"]) == ("rabbit@127.0.0.13", '[<<"t-0">>]')
