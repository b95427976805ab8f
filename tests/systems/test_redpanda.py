"""Redpanda's files, tables and readers, without a broker. Outputs are those that others have published (recorded/redpanda/README.md).

Nothing here says that Redpanda does what is written in them: samebox's makers never ran it.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from contract.durability import DEFAULT_REPLICATION_FACTOR
from provisioning.errors import DeploymentError, UnsupportedDurability
from provisioning.hosts.agents import HttpRequest, command
from provisioning.hosts.host import Host, ScriptedHost
from provisioning.hosts.inventory import DataDir, HostRecord, Role, SshAddress
from systems.deployment import Placement, Plan, Topic
from systems.kafka.wire import QUICK_S, NewTopic
from systems.redpanda import layout, readback
from systems.redpanda.admin import Admin
from systems.redpanda.config_text import flat, override, properties_of, settings_of
from systems.redpanda.deployment import RedpandaDeployment
from systems.redpanda.durability import CANNOT, LEVELS, durability_table
from systems.redpanda.system import REDPANDA
from systems.registry import DURABILITY
from systems.settings import Drift, drift
from tests.systems.installed import Installed

RECORDED = Path(__file__).with_name("recorded") / "redpanda"
VERSION = "22.3.11"


def host(name: str, address: str, role: Role = "broker", answers: Mapping[str, Any] | None = None) -> ScriptedHost:
    disks = tuple(DataDir(f"/srv/{name}/data{at}", "/dev/x", "/", False) for at in (1, 2))
    record = HostRecord(name, role, SshAddress(address, 22, "b", ""), address, f"/srv/{name}", disks, "", "", 1)
    return ScriptedHost(record, dict(answers or {}))


BROKERS = [host(f"broker-{at}", f"10.0.0.{at}") for at in (1, 2, 3)]


def plan(level: str = "1", **changes: Any) -> Plan:
    return dataclasses.replace(Plan(DURABILITY[level], (Topic("t", 6),), {}, {}), **changes)


def intended(**changes: Any) -> dict[str, dict[str, str]]:
    """What is intended of three brokers."""
    settings = RedpandaDeployment(BROKERS, Installed(VERSION)).intended_settings(plan(**changes))
    return {component: dict(values) for component, values in settings.items()}


def recorded(name: str) -> Any:
    return json.loads((RECORDED / name).read_text())


# --- files ---


def test_a_brokers_file_is_yaml_and_says_what_is_intended() -> None:
    """Read by a parser of YAML it has the section redpanda, with the same values."""
    brokers = layout.brokers(BROKERS)
    text = layout.config(brokers[1], brokers, plan())
    parsed = yaml.safe_load(text)
    assert parsed.keys() == {"redpanda"}
    assert flat(parsed["redpanda"]) == settings_of(text) == intended()["broker/broker-2"]
    assert parsed["redpanda"]["seed_servers"][2] == {"host": {"address": "10.0.0.3", "port": 33145}}
    assert parsed["redpanda"]["kafka_api"] == [{"address": "10.0.0.2", "port": 9092}]
    assert parsed["redpanda"]["data_directory"] == "/srv/broker-2/data1/redpanda"
    assert parsed["redpanda"]["developer_mode"] is False


def test_the_clusters_file_is_yaml_with_strings_where_words_would_be_booleans() -> None:
    """Off and false are words of Redpanda's there, and booleans of YAML without their quotes."""
    parsed = yaml.safe_load(layout.bootstrap(plan()))
    assert (parsed["write_caching_default"], parsed["partition_autobalancing_mode"]) == ("false", "off")
    assert parsed["internal_topic_replication_factor"] == DEFAULT_REPLICATION_FACTOR
    assert parsed["enable_metrics_reporter"] is False
    assert flat(parsed) == intended()["cluster"]


def test_every_host_gets_both_files_side_by_side() -> None:
    """The broker looks for the cluster's properties beside its own file, under this name."""
    tidied = "rm -rf /srv/{0}/tmp/processes; mkdir -p /srv/{0}/tmp/processes; rm -f /srv/{0}/log/redpanda-broker.log*"
    hosts = [ScriptedHost(each.record, {tidied.format(each.name): ""}) for each in BROKERS]
    deployment = RedpandaDeployment(hosts, Installed(VERSION))
    deployment.install()
    deployment.configure(plan("2", overrides={"client": {"acks": "1", "max_partition_fetch_bytes": "1"}}))
    for each in hosts:
        folder = f"/srv/{each.name}/etc/redpanda"
        assert each.files.keys() == {f"{folder}/redpanda.yaml", f"{folder}/.bootstrap.yaml"}
    assert deployment.endpoints().service_url == "10.0.0.1:9092,10.0.0.2:9092,10.0.0.3:9092"
    # what an acknowledgement promises is the level's
    assert deployment.endpoints().client_settings == {"acks": "all", "max_partition_fetch_bytes": "1"}


def test_overrides_of_every_component() -> None:
    """Of one broker, of all, of the cluster, of the process and of topics; a word is a string, everything else JSON."""
    found = intended(
        overrides={
            "broker": {"crash_loop_limit": "7"},
            "broker/broker-1": {"rack": "a"},
            "cluster": {"kafka_batch_max_bytes": "10", "log_compression_type": "zstd"},
            "seastar/broker": {"smp": "2", "overprovisioned": "false"},
            "topic": {"flush.ms": "5"},
        }
    )
    assert found["broker/broker-1"]["rack"] == "a" and "rack" not in found["broker/broker-2"]
    assert found["broker/broker-2"]["crash_loop_limit"] == "7"
    assert (found["cluster"]["kafka_batch_max_bytes"], found["cluster"]["log_compression_type"]) == ("10", "zstd")
    assert found["seastar/broker/broker-3"]["smp"] == "2"
    assert found["topic"]["flush.ms"] == "5"


@pytest.mark.parametrize("key", ["kafka_api.0.port", "Big", "a b"])
def test_what_can_be_no_property_is_refused(key: str) -> None:
    """A path would make a file that no broker reads."""
    with pytest.raises(DeploymentError, match=re.escape(f"settings.cluster has {key}, which can't be properties")):
        intended(overrides={"cluster": {key: "1"}})


def test_an_unknown_component_is_refused_with_the_known_ones() -> None:
    """By what is close to it."""
    with pytest.raises(DeploymentError, match="Did you mean 'cluster'") as refusal:
        intended(overrides={"clusters": {"a": "1"}})
    assert "seastar/broker" in refusal.value.next_step


def test_a_line_that_is_no_property_is_an_error() -> None:
    """A template that stops being one property a line must not be half understood."""
    assert properties_of("redpanda:\n  # why\n  node_id: 1\n") == {"node_id": 1}
    with pytest.raises(ValueError, match="line 1 of a broker's configuration: '- item'"):
        properties_of("- item\n")
    assert yaml.safe_load(override("redpanda:\n  a: 1\n", {"a": "2", "b": "x"})) == {"redpanda": {"a": 2, "b": "x"}}


# --- processes ---


def test_a_broker_is_started_by_its_own_loader() -> None:
    """Not by the scripts of the archive, which start whatever lies in /opt; where Seastar looks for a user's options there are none."""
    broker = layout.brokers(BROKERS)[0]
    started = layout.daemon(broker, "/srv/broker-1/software/r", plan())
    assert started.argv == (
        *("/srv/broker-1/software/r/lib/ld.so", "--library-path", "/srv/broker-1/software/r/lib"),
        *("/srv/broker-1/software/r/libexec/redpanda", "--redpanda-cfg", "/srv/broker-1/etc/redpanda/redpanda.yaml"),
        *("--default-log-level=info", "--unsafe-bypass-fsync=0", "--memory=1G", "--smp=1", "--reserve-memory=0M"),
        "--overprovisioned",
    )
    assert started.env == {"HOME": "/srv/broker-1/etc/redpanda"}


def test_on_hosts_of_its_own_it_takes_all_cores() -> None:
    """Its memory is given, and it may poll."""
    large = layout.MEMORY.for_hosts(16 * 2**30)
    words = layout.daemon(layout.brokers(BROKERS)[0], "/s", plan(memory=large)).argv
    assert [word for word in words if word.startswith("--")][2:] == [
        "--default-log-level=info",
        "--unsafe-bypass-fsync=0",
        "--memory=9G",
    ]


@pytest.mark.parametrize(("size", "shared"), [("1G", True), ("2047M", True), ("2G", False), ("1T", False)])
def test_with_little_memory_it_gets_one_core_that_it_shares(size: str, shared: bool) -> None:
    """It refuses to run with less than 1 GiB for each of its cores."""
    found = layout.options(layout.brokers(BROKERS)[0], plan(memory={"broker": {"memory": size}}))
    assert (found.get("smp"), found["overprovisioned"]) == (("1", "true") if shared else (None, "false"))


def test_a_size_that_is_none_is_refused() -> None:
    """Before anything is started."""
    with pytest.raises(DeploymentError, match="'much' is no size of a broker's memory"):
        intended(memory={"broker": {"memory": "much"}})


def test_what_a_process_was_started_with_is_read_back() -> None:
    """As rpk starts one, and as it is started here; a switch that isn't there is off."""
    found = readback.options((RECORDED / "command-line.txt").read_text())
    assert (found["memory"], found["smp"], found["overprovisioned"]) == ("1G", "1", "true")
    assert found["redpanda-cfg"] == "/etc/redpanda/redpanda.yaml"
    broker = layout.brokers(BROKERS)[0]
    for memory in (None, 16 * 2**30):
        asked = plan(memory=layout.MEMORY.for_hosts(memory))
        started = readback.options("\n".join(layout.daemon(broker, "/s", asked).argv))
        assert drift({"o": layout.options(broker, asked)}, {"o": started}) == ()


def test_lack_of_memory_is_told_in_its_own_words() -> None:
    """Each line of it; a broker's start, which names what it would do then, isn't one."""
    told = [bool(re.search(layout.OUT_OF_MEMORY, line)) for line in (RECORDED / "memory.log").read_text().splitlines()]
    assert told == [True, False, False, False, False, True, False]
    assert not re.search(layout.OUT_OF_MEMORY, (RECORDED / "start.log").read_text())


# --- development mode ---


@pytest.mark.parametrize(
    "overrides",
    [
        {"broker": {"developer_mode": "true"}},
        {"broker/broker-2": {"developer_mode": "true"}},
        {"seastar/broker": {"unsafe-bypass-fsync": "1"}},
        {"seastar/broker/broker-1": {"unsafe-bypass-fsync": "true"}},
    ],
)
def test_the_development_mode_cannot_be_asked_for(overrides: Mapping[str, Mapping[str, str]]) -> None:
    """Refused before anything is started, with the setting."""
    with pytest.raises(
        DeploymentError, match=r"development mode is refused.*asked for.*(developer_mode|bypass-fsync)="
    ):
        intended(overrides=overrides)


@pytest.mark.parametrize(
    ("node_config", "words"),
    [
        ({"developer_mode": True}, ["--unsafe-bypass-fsync=0"]),
        ({"developer_mode": False}, ["--unsafe-bypass-fsync=1"]),
        ({"developer_mode": False}, ["--unsafe-bypass-fsync=true"]),
        # as `rpk redpanda start --mode dev-container` gives it
        ({"developer_mode": False}, ["--unsafe-bypass-fsync", "--overprovisioned"]),
    ],
)
def test_a_broker_that_says_it_is_in_development_mode_is_refused(node_config: dict[str, Any], words: list[str]) -> None:
    """Whatever was intended: what it reports counts, of its configuration or of its process."""
    deployment, hosts = asked_brokers(node_config, words)
    with pytest.raises(DeploymentError, match=r"development mode is refused.*what the running brokers say.*broker-1"):
        deployment.effective_settings()
    assert len(hosts) == 3


def asked_brokers(
    node_config: Mapping[str, Any], words: Sequence[str]
) -> tuple[RedpandaDeployment, list[ScriptedHost]]:
    """A configured deployment on hosts that answer for their brokers, as far as the development mode needs."""
    hosts = []
    for at in (1, 2, 3):
        name, address = f"broker-{at}", f"10.0.0.{at}"
        states = {"broker": {"pid": 40 + at, "rss_peak_bytes": 1, "out_of_memory": False}}
        hosts.append(
            host(
                name,
                address,
                answers={
                    f"rm -rf /srv/{name}/tmp/processes; mkdir -p /srv/{name}/tmp/processes; "
                    f"rm -f /srv/{name}/log/redpanda-broker.log*": "",
                    command({"verb": "states", "run_dir": f"/srv/{name}/run"}): json.dumps({"daemons": states}),
                    http_of(f"http://{address}:9644/v1/node_config"): answered(node_config),
                    f"tr '\\0' '\\n' < /proc/{40 + at}/cmdline": "\n".join(["redpanda", *words]),
                },
            )
        )
    deployment = RedpandaDeployment(hosts, Installed(VERSION))
    deployment.install()
    deployment.configure(plan())
    return deployment, hosts


def http_of(url: str, timeout_s: float = 30.0) -> str:
    """The command line that makes one request on a host."""
    request = dataclasses.asdict(HttpRequest("GET", url))
    return command({"verb": "http", "requests": [request], "timeout_s": timeout_s, "parallel": 1})


def answered(document: Any, status: int = 200) -> str:
    """What it prints."""
    return json.dumps({"responses": [{"status": status, "body": json.dumps(document)}]})


# --- levels ---


def test_the_levels_as_a_table() -> None:
    """Only level 2 acknowledges out of memory; the rest is the client's acks."""
    assert {name for name, level in LEVELS.items() if level.write_caching == "true"} == {"2"}
    assert {name: level.client["acks"] for name, level in LEVELS.items()} == {
        "1": "all", "2": "all", "4": "1", "none": "0",
    }  # fmt: skip
    assert {name: each["topic"]["write.caching"] for name, each in durability_table(3).items()} == {
        "1": "false", "2": "true", "4": "false", "none": "false",
    }  # fmt: skip


@pytest.mark.parametrize("level", ["2-bypass", "3", "4-bypass"])
def test_a_level_that_it_cannot_give_is_refused(level: str) -> None:
    """With a reason, and with those that it can."""
    with pytest.raises(UnsupportedDurability) as refusal:
        intended(level=level)
    assert refusal.value.next_step == "Levels it has: 1, 2, 4, none."
    assert CANNOT[level]


@pytest.mark.parametrize(
    ("copies", "reason"), [(2, "an odd number of copies; 2 were asked for"), (5, "needs 5 broker hosts")]
)
def test_copies_that_it_cannot_keep_are_refused(copies: int, reason: str) -> None:
    """It takes 1, 3, 5 and so on, and a broker for each."""
    with pytest.raises(DeploymentError, match=reason):
        intended(replication_factor=copies)
    assert intended(replication_factor=1)["topic/layout"]["replication.factor"] == "1"


def test_every_level_says_whom_it_favours_where_messages_are_unflushed() -> None:
    """The aspect that a reader needs most: they don't outlive the process."""
    [found] = [each for each in REDPANDA.differences if each.aspect == "where unflushed messages are"]
    assert found.durability == ("2", "4", "none") and "memory" in found.what


# --- read-back ---


def test_what_a_broker_says_of_itself_is_read_by_path() -> None:
    """Recorded; its directory, which its code prints as an object with one value, stands where the file has it."""
    found = readback.broker_settings({**recorded("node-config.json"), "data_directory": {"data_directory": "/d"}})
    assert found["advertised_kafka_api.1.port"] == "31092"
    assert found["admin.0.address"] == "0.0.0.0"
    assert found["recovery_mode_enabled"] == "false" and found["verbose_logging_timeout_sec_max"] == "null"
    assert found["data_directory"] == "/d"
    assert readback.broker_settings({"data_directory": "/e"}) == {"data_directory": "/e"}


def test_a_broker_that_has_what_is_intended_does_not_drift() -> None:
    """With what it adds to endpoints; an altered value and one that it doesn't show do."""
    wanted = {"broker": intended()["broker/broker-1"]}
    said = properties_of(layout.config(layout.brokers(BROKERS)[0], layout.brokers(BROKERS), plan()))
    said["kafka_api"] = [{"name": "", "address": "10.0.0.1", "port": 9092, "authentication_method": None}]
    assert drift(wanted, {"broker": readback.broker_settings(said)}) == ()
    del said["empty_seed_starts_cluster"]
    said["node_id"] = 9
    assert set(drift(wanted, {"broker": readback.broker_settings(said)})) == {
        Drift("broker", "node_id", "1", "9"),
        Drift("broker", "empty_seed_starts_cluster", "false", None),
    }


def test_a_clusters_properties_are_compared_as_json_has_them() -> None:
    """After the source of the admin API, not after a recorded answer: none was found."""
    said = {"write_caching_default": "false", "group_topic_partitions": 3, "enable_leader_balancer": True}
    wanted = {key: intended()["cluster"][key] for key in said}
    assert drift({"cluster": wanted}, {"cluster": flat(said)}) == (
        Drift("cluster", "enable_leader_balancer", "false", "true"),
    )


def test_versions_are_those_that_the_running_brokers_report() -> None:
    """Recorded; the commit isn't part of it, and a broker that is down or unknown has none."""
    assert readback.versions(recorded("brokers.json")) == {1: "22.3.11"}
    of_25_3 = {"node_id": 0, "version": "v25.3.14 - b6e62de74d7146fc94d430cd0db2aed3e328b481"}
    assert readback.versions([of_25_3, {"node_id": 2}, {**of_25_3, "node_id": 3, "is_alive": False}]) == {0: "25.3.14"}


def test_another_version_than_that_of_the_archives_name_drifts() -> None:
    """What runs is what counts."""
    assert intended()["build"] == {"version": VERSION}


def test_health_of_one_broker() -> None:
    """Recorded: complete as a cluster of one, not of three."""
    found = readback.health(recorded("health-alone.json"))
    assert (found.nodes, found.down, found.controller, found.unnamed) == ((0,), (), 0, 0)
    assert found.lacks(1) == "" and found.lacks(3) == "members [0], down [], controller 0"
    assert dataclasses.replace(found, controller=-1).lacks(1) != ""


def test_partitions_that_lack_replicas_are_named() -> None:
    """Recorded names; of the plan's topics only, and what the broker cut off its list is told."""
    printed = (RECORDED / "health.txt").read_text()
    names = re.findall(r"kafka/\w+/\d+", printed.splitlines()[-1])
    overview = {**recorded("health-alone.json"), "under_replicated_partitions": names, "under_replicated_count": 4}
    assert readback.partitions_of(["foo"], readback.health(overview)) == ["foo-1", "foo-2"]
    longer = {
        **overview,
        "under_replicated_count": 200,
        "leaderless_partitions": ["kafka/foo/1"],
        "leaderless_count": 1,
    }
    assert readback.partitions_of(["foo"], readback.health(longer)) == [
        "foo-1",
        "foo-2",
        "196 more that aren't named",
    ]
    assert readback.partitions_of(["other"], readback.health(overview)) == []


def test_the_settings_of_topics_that_are_asked_for_are_among_those_it_has() -> None:
    """Recorded: every key of every level is one that a topic shows, and its background flushes are the vendor's defaults."""
    lines = (RECORDED / "topic.txt").read_text().splitlines()[3:]
    shown = {key: value for key, value, _source in (line.split() for line in lines)}
    for level in LEVELS.values():
        assert level.topic.keys() <= shown.keys()
        assert {key: level.topic[key] for key in ("flush.ms", "flush.bytes")} == {
            key: shown[key] for key in ("flush.ms", "flush.bytes")
        }


# --- what is asked of brokers ---


def agent_of(brokers: Sequence[Host], verb: str, timeout_s: float = 20.0, **what: Any) -> str:
    """The command line that puts a request of Kafka's protocol on the first host."""
    where = [[each.record.address, 9092] for each in brokers]
    return command({"brokers": where, "timeout_s": timeout_s, "verb": verb, **what})


def admin_on(answers: Mapping[str, Any]) -> Admin:
    """What is asked of three brokers, whose first host has these answers; a minute passes between two looks at the clock."""
    first = host("broker-1", "10.0.0.1", answers=answers)
    seconds = iter(range(0, 10_000, 60))
    return Admin(layout.brokers([first, *BROKERS[1:]]), monotonic_s=lambda: float(next(seconds)))


WANTED = [NewTopic(Topic("t", 2), 3, {"write.caching": "false"})]
CREATE = agent_of(
    BROKERS,
    "create",
    topics=[{"name": "t", "partitions": 2, "replicas": 3, "settings": {"write.caching": "false"}}],
)
COORDINATOR, TOPICS = agent_of(BROKERS, "coordinator", group="samebox"), agent_of(BROKERS, "topics", names=["t"])


def told(value: Any) -> str:
    return json.dumps({"answer": value})


def topic_of(*partitions: tuple[int, list[int]]) -> str:
    """What is told of a topic with these leaders and replicas."""
    listed = [
        {"error": 0, "number": at, "leader": leader, "replicas": replicas, "in_sync": replicas}
        for at, (leader, replicas) in enumerate(partitions)
    ]
    return told({"controller": 1, "brokers": {}, "topics": {"t": {"error": 0, "partitions": listed}}})


def test_topics_are_made_when_groups_have_a_coordinator_and_awaited_until_they_are_whole() -> None:
    """What will be possible later is asked again: a controller to find, a leader to elect, a replica to place."""
    admin = admin_on(
        {
            COORDINATOR: [told(15), told(0)],
            CREATE: [told({"t": [41, "not controller"]}), told({"t": [0, ""]})],
            TOPICS: [
                topic_of((1, [1, 2, 3])),
                topic_of((1, [1, 2, 3]), (-1, [1, 2, 3])),
                topic_of((1, [1, 2, 3]), (2, [1, 2])),
                topic_of((1, [1, 2, 3]), (2, [1, 2, 3])),
            ],
        }
    )
    made = admin.create(WANTED)
    assert [(each.number, each.leader) for each in made] == [(0, 1), (1, 2)]


def test_a_topic_that_is_refused_is_told_in_the_brokers_words() -> None:
    """At once: no waiting changes it."""
    admin = admin_on({COORDINATOR: told(0), CREATE: told({"t": [38, "Replication factor must be an odd number"]})})
    with pytest.raises(
        DeploymentError, match="topic t can't be made: error 38, Replication factor must be an odd number"
    ):
        admin.create(WANTED)


def test_what_never_comes_about_is_told_with_what_is_missing() -> None:
    """After its limit."""
    admin = admin_on({COORDINATOR: told(0), CREATE: told({"t": [36, "exists"]}), TOPICS: topic_of((-1, [1, 2, 3]))})
    with pytest.raises(
        DeploymentError, match=r"partitions without leader or replicas after .* t-0, 1 of 2 aren't there"
    ):
        admin.create(WANTED)


def test_the_agents_failure_is_a_deployment_error() -> None:
    """With the host and what it was asked for."""
    admin = admin_on(
        {agent_of(BROKERS, "end_offsets", names=["t"]): json.dumps({"failed": "ValueError: t-0 has no leader"})}
    )
    with pytest.raises(DeploymentError, match="asked on broker-1 for end_offsets: ValueError: t-0 has no leader"):
        admin.wire.end_offsets(["t"])


def test_health_is_asked_of_the_next_broker_where_one_does_not_answer() -> None:
    """A broker that was killed must not hide what the others see."""
    dead = json.dumps({"responses": [{"status": 0, "body": "refused"}]})
    url = "http://10.0.0.{}:9644/v1/cluster/health_overview"
    first = host("broker-1", "10.0.0.1", answers={http_of(url.format(1)): dead})
    second = host("broker-2", "10.0.0.2", answers={http_of(url.format(2)): answered(recorded("health-alone.json"))})
    assert Admin(layout.brokers([first, second])).health().nodes == (0,)
    with pytest.raises(DeploymentError, match=r"no broker answers:.*health_overview: status 0, refused"):
        Admin(layout.brokers([first])).health()


def test_versions_are_awaited_until_every_broker_is_in_the_report() -> None:
    """A broker that has just joined isn't, for some seconds; one that never is is named."""
    [one] = recorded("brokers.json")
    early = answered([one, {**one, "node_id": 2}])
    whole = answered([one, {**one, "node_id": 2}, {**one, "node_id": 3, "version": "v22.3.12 - abc"}])
    url = http_of("http://10.0.0.1:9644/v1/brokers")
    assert admin_on({url: [early, whole]}).versions() == {1: "22.3.11", 2: "22.3.11", 3: "22.3.12"}
    with pytest.raises(DeploymentError, match=r"brokers that don't tell their version after 60 s: broker/broker-3"):
        admin_on({url: early}).versions()


# --- what faults need ---

CONTROLLER = "http://10.0.0.{}:9644/v1/partitions/redpanda/controller/0"


def broken_cluster(answers: Mapping[str, str]) -> RedpandaDeployment:
    """Three brokers with a topic of two partitions, whose first host has these answers."""
    deployment = RedpandaDeployment([host("broker-1", "10.0.0.1", answers=answers), *BROKERS[1:]], Installed(VERSION))
    deployment.install()
    deployment._plan = plan(topics=(Topic("t", 2),))
    return deployment


def test_a_partition_is_where_the_brokers_metadata_say() -> None:
    """Its leader, and the other replicas; without a leader it is nowhere."""
    asked = agent_of(BROKERS, "topics", QUICK_S, names=["t"])
    deployment = broken_cluster({asked: topic_of((-1, [1, 2, 3]), (3, [2, 3, 1]))})
    first, second, third = deployment.processes
    assert deployment.placement(0, 1) == Placement(third, (second, first))
    with pytest.raises(DeploymentError, match="nobody leads t-0 now"):
        deployment.placement(0, 0)


def test_the_coordinator_leads_the_controllers_partition() -> None:
    """As Redpanda's own tests read it, not after a recorded answer: none was found. A broker that is frozen is passed over."""
    url = http_of(CONTROLLER.format(1), QUICK_S)
    deployment = broken_cluster({url: answered({"ns": "redpanda", "topic": "controller", "leader_id": 2})})
    assert deployment.coordinator() == deployment.processes[1]
    with pytest.raises(DeploymentError, match="no leader now"):
        broken_cluster({url: answered({"leader_id": -1})}).coordinator()


def test_a_broker_cannot_be_replaced() -> None:
    """Its node id is taken, whatever its role is."""
    assert all("node id" in (REDPANDA.why_no_fault("replace", role) or "") for role in ("leader", "follower", "any"))
    assert REDPANDA.why_no_fault("kill", "coordinator") is None
    assert broken_cluster({}).data_of(layout.brokers(BROKERS)[0]) == ("/srv/broker-1/data1/redpanda",)
