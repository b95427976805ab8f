"""Pulsar's files, tables and parsers, without a broker; outputs are recorded from a real three-node cluster."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from provisioning.errors import CommandFailed, Completed, DeploymentError, UnsupportedDurability
from provisioning.hosts.agents import HttpRequest, HttpResponse
from provisioning.hosts.host import Host, ScriptedHost
from provisioning.hosts.inventory import DataDir, HostRecord, Role, SshAddress
from systems.deployment import Plan, Topic
from systems.jvm.processes import settings_of
from systems.jvm.readback import properties_told
from systems.jvm.rendering import properties
from systems.processes import Process
from systems.pulsar import layout as places
from systems.pulsar import readback
from systems.pulsar.admin import SOON_S, Admin, ensemble
from systems.pulsar.deployment import PulsarDeployment
from systems.pulsar.durability import LEVELS, level_settings
from systems.pulsar.system import PULSAR
from systems.registry import DURABILITY
from systems.settings import Drift, drift
from tests.systems.installed import Installed

RECORDED = Path(__file__).with_name("recorded")


def host(name: str, address: str, role: Role = "broker") -> Host:
    disks = tuple(DataDir(f"/srv/{name}/data{at}", "/dev/x", "/", False) for at in (1, 2))
    return ScriptedHost(
        HostRecord(name, role, SshAddress(address, 22, "b", ""), address, f"/srv/{name}", disks, "", "", 1)
    )


BROKERS = [host(f"broker-{at}", f"10.0.0.{at}") for at in (1, 2, 3)]
METADATA = [host(f"metadata-{at}", f"10.0.1.{at}", "metadata") for at in (1, 2, 3)]


def plan(level: str = "1", **changes: Any) -> Plan:
    return dataclasses.replace(Plan(DURABILITY[level], (Topic("t", 6),), {}, {}), **changes)


def config(process: Process, everything: places.Layout, asked: Plan) -> dict[str, str]:
    return properties(places.files(process, everything, asked)[process.config_path])


def test_zookeeper_goes_to_the_metadata_hosts_if_there_are_any() -> None:
    """Else beside the brokers; bookies and brokers know where."""
    assert places.layout(BROKERS).zookeeper_addresses == "10.0.0.1:2181,10.0.0.2:2181,10.0.0.3:2181"
    apart = places.layout([*BROKERS, *METADATA])
    assert apart.zookeeper_addresses == "10.0.1.1:2181,10.0.1.2:2181,10.0.1.3:2181"
    assert config(apart.brokers[0], apart, plan())["metadataStoreUrl"] == f"zk:{apart.zookeeper_addresses}"
    assert [each.daemon for each in apart.on(METADATA[0])] == ["zookeeper"]


def test_an_even_number_of_brokers_gets_no_even_quorum() -> None:
    """Two or four servers survive no more failures than one or three."""
    assert len(places.layout(BROKERS[:2]).zookeepers) == 1
    assert len(places.layout([*BROKERS, host("broker-4", "10.0.0.4")]).zookeepers) == 3


def test_a_single_zookeeper_has_no_quorum_settings() -> None:
    """Alone it would not print them, and they would look like drift."""
    alone = places.layout([*BROKERS, METADATA[0]])
    assert not {"initLimit", "server.1"} & config(alone.zookeepers[0], alone, plan()).keys()


def test_journal_and_ledgers_lie_on_different_devices() -> None:
    """The first data directory's and the last one's."""
    everything = places.layout(BROKERS)
    settings = config(everything.bookies[0], everything, plan())
    assert settings["journalDirectories"] == "/srv/broker-1/data1/pulsar/journal"
    assert settings["ledgerDirectories"] == "/srv/broker-1/data2/pulsar/ledgers"


def test_everything_binds_the_hosts_own_address() -> None:
    """Bookie, its HTTP server, broker and ZooKeeper."""
    everything = places.layout(BROKERS)
    bookie = config(everything.bookies[1], everything, plan())
    assert bookie["advertisedAddress"] == bookie["httpServerHost"] == "10.0.0.2"
    assert bookie["listeningInterface"]
    assert bookie["allowLoopback"] == "false"
    assert config(everything.brokers[1], everything, plan())["bindAddress"] == "10.0.0.2"
    assert config(everything.zookeepers[1], everything, plan())["clientPortAddress"] == "10.0.0.2"


def test_the_levels_as_a_table() -> None:
    """All keep three copies; they differ in how many are waited for, and in what the journal does before that."""
    kept = [each.namespace(3) for each in LEVELS.values()]
    assert {(each["bookkeeperEnsemble"], each["bookkeeperWriteQuorum"]) for each in kept} == {("3", "3")}
    everything = places.layout(BROKERS)
    found = {}
    for name, level in LEVELS.items():
        bookie = config(everything.bookies[0], everything, plan(name))
        found[name] = (level.ack_quorum(3), bookie["journalWriteData"], bookie["journalSyncData"])
        assert config(everything.brokers[0], everything, plan(name))["managedLedgerDefaultAckQuorum"] == str(
            found[name][0]
        )
    assert found == {
        "1": (2, "true", "true"),
        "2": (2, "true", "false"),
        "2-bypass": (2, "false", "false"),
        "3": (1, "true", "true"),
        "4": (1, "true", "false"),
        "4-bypass": (1, "false", "false"),
    }


@pytest.mark.parametrize(("copies", "quorum"), [(1, 1), (2, 2), (3, 2), (5, 3)])
def test_the_quorum_follows_the_replication_factor(copies: int, quorum: int) -> None:
    """More than half of the copies; one stays one."""
    everything = places.layout([host(f"broker-{at}", f"10.0.0.{at}") for at in range(1, 6)])
    for level, wanted in (("1", quorum), ("4", 1)):
        broker = config(everything.brokers[0], everything, plan(level, replication_factor=copies))
        assert broker["managedLedgerDefaultEnsembleSize"] == broker["managedLedgerDefaultWriteQuorum"] == str(copies)
        assert broker["managedLedgerDefaultAckQuorum"] == str(wanted)


def test_a_level_that_there_is_not_is_refused() -> None:
    """Never silently downgraded."""
    with pytest.raises(UnsupportedDurability, match="level none") as refusal:
        level_settings(DURABILITY["none"])
    assert refusal.value.next_step == "Levels it has: 1, 2, 2-bypass, 3, 4, 4-bypass."


def test_without_a_journal_ledgers_have_every_disk() -> None:
    """As published: nothing else would use the journal's."""
    everything = places.layout(BROKERS)
    settings = config(everything.bookies[0], everything, plan("2-bypass"))
    assert settings["ledgerDirectories"] == "/srv/broker-1/data1/pulsar/ledgers,/srv/broker-1/data2/pulsar/ledgers"


def test_several_directories_on_a_disk() -> None:
    """Published campaigns have two of each; anything but a small number is refused."""
    everything = places.layout(BROKERS)
    asked = plan(overrides={"directories": {"journal_per_disk": "2"}})
    settings = config(everything.bookies[0], everything, asked)
    assert settings["journalDirectories"] == "/srv/broker-1/data1/pulsar/journal-1,/srv/broker-1/data1/pulsar/journal-2"
    assert settings["ledgerDirectories"] == "/srv/broker-1/data2/pulsar/ledgers"
    for wrong in ({"journal_per_disk": "0"}, {"ledger_per_disk": "many"}, {"jornal_per_disk": "2"}):
        with pytest.raises(DeploymentError, match=next(iter(wrong))) as refusal:
            places.journal_dirs(BROKERS[0], plan(overrides={"directories": wrong}))
        assert "journal_per_disk, ledger_per_disk" in refusal.value.next_step


def test_the_namespaces_bundles_and_the_brokers_default_agree() -> None:
    """One setting, which a profile gives once."""
    everything = places.layout(BROKERS)
    asked = plan(overrides={"namespace": {"numBundles": "64"}})
    assert config(everything.brokers[0], everything, asked)["defaultNumberOfNamespaceBundles"] == "64"
    assert places.bundles(plan()) == "12"


def test_memory_and_overrides_reach_the_files() -> None:
    """The profile's sizes, the caches that follow from them, and a campaign's settings."""
    everything = places.layout(BROKERS)
    asked = plan(memory={"bookie": {"direct": "1g"}}, overrides={"bookie": {"journalMaxSizeMB": "64"}})
    bookie = everything.bookies[0]
    intended = settings_of(bookie, places.files(bookie, everything, asked))
    assert intended["jvm/bookie/broker-1"]["MaxDirectMemorySize"] == str(2**30)
    assert intended["jvm/bookie/broker-1"]["MaxHeapSize"] == str(256 * 2**20)
    assert intended["bookie/broker-1"]["dbStorage_writeCacheMaxSizeMb"] == "256"
    assert intended["bookie/broker-1"]["journalMaxSizeMB"] == "64"


def test_every_key_is_rendered_once() -> None:
    """A key that stands twice would be intended as one thing and run as another."""
    everything = places.layout(BROKERS)
    for process in everything.processes:
        lines = places.files(process, everything, plan())[process.config_path].splitlines()
        keys = [line.partition("=")[0] for line in lines if line and not line.startswith("#")]
        assert len(keys) == len(set(keys))


def test_a_host_without_data_directory_is_refused() -> None:
    """Before anything is written."""
    bare = ScriptedHost(dataclasses.replace(BROKERS[0].record, data_dirs=()))
    with pytest.raises(DeploymentError, match="broker-1: pulsar needs a data directory"):
        places.layout([bare])


@pytest.mark.parametrize(
    ("shown", "written"),
    [
        ("Optional[6650]", "6650"),
        ("-1.0", "-1"),
        ("0.99", "0.99"),
        ("[a:1, b:2]", "a:1,b:2"),
        ("true", "true"),
        ("", ""),
    ],
)
def test_values_as_shown_and_as_written(shown: str, written: str) -> None:
    """The processes print Java's types; files hold plain values."""
    assert readback.normal(shown) == written


def test_broker_settings_as_recorded() -> None:
    """Every key of the template is known to the broker, under its value."""
    effective = readback.broker_settings((RECORDED / "pulsar-broker-runtime.json").read_text())
    everything = places.layout(BROKERS)
    assert config(everything.brokers[0], everything, plan()).keys() == effective.keys()
    assert effective["brokerServicePort"] == "6650"
    assert effective["backlogQuotaDefaultLimitGB"] == "-1"


def test_a_bookie_shows_what_its_classes_do_not_know() -> None:
    """Recorded with a misspelt journalSyncDat, which the bookie repeats as if it meant something."""
    body = (RECORDED / "pulsar-bookie-config.json").read_text()
    assert '"journalSyncDat"' in body
    effective = readback.bookie_settings(body, frozenset({"journalSyncData", "metadataServiceUri"}))
    uri = "metadata-store:zk:127.0.0.21:2181,127.0.0.22:2181,127.0.0.23:2181"
    assert effective == {"journalSyncData": "true", "metadataServiceUri": uri}


def test_zookeeper_settings_as_recorded() -> None:
    """The conf command, and the properties that its classes know: not the misspelt tickTme."""
    shown = properties_told((RECORDED / "zookeeper-system-properties.txt").read_text())
    assert shown["zookeeper.tickTme"] == "3"
    known = frozenset({"zookeeper.admin.enableServer", "zookeeper.4lw.commands.whitelist"})
    effective = readback.zookeeper_settings((RECORDED / "zookeeper-conf.txt").read_text(), shown, known)
    assert not {"dataDirSize", "dataLogSize"} & effective.keys()
    assert effective["tickTime"] == "2000"
    assert effective["server.3"] == "127.0.0.23:2888:3888"
    assert effective["dataDir"].endswith("/zookeeper")
    assert effective["admin.enableServer"] == "false"
    assert "tickTme" not in effective


def test_ledger_settings_as_recorded() -> None:
    """Ensemble and quorums of a real ledger."""
    body = (RECORDED / "pulsar-internal-stats.json").read_text()
    assert readback.ledger_settings(body) == {"ensembleSize": "3", "writeQuorumSize": "3", "ackQuorumSize": "2"}


def test_only_partitions_that_are_not_open_are_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A topic is made once every partition has its ledger; what was said of it then is kept, in the partitions' order."""
    rounds: list[list[str]] = []

    def answer(_host: Host, requests: Sequence[HttpRequest], *, parallel: int = 1) -> list[HttpResponse]:
        del parallel
        if requests[0].method == "PUT":
            return [HttpResponse(204, "")]
        rounds.append([request.url.rpartition("/default/")[2].partition("/")[0] for request in requests])
        late = {"t-partition-1"} if len(rounds) == 1 else set()
        return [
            HttpResponse(503, "")
            if name in late
            else HttpResponse(200, json.dumps({"state": "LedgerOpened", "of": name}))
            for name in rounds[-1]
        ]

    monkeypatch.setattr("systems.pulsar.admin.http", answer)
    monkeypatch.setattr("systems.pulsar.admin.RETRY_S", 0.0)
    opened = Admin(places.layout(BROKERS)).create_topics([Topic("probe", 1), Topic("t", 3)])
    assert rounds == [["probe-partition-0", "t-partition-0", "t-partition-1", "t-partition-2"], ["t-partition-1"]]
    assert [json.loads(each)["of"] for each in opened["t"]] == [f"t-partition-{at}" for at in range(3)]
    assert len(opened["probe"]) == 1


def test_messages_of_every_partition_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A partition that no broker counts makes it no count at all."""
    counted = {f"persistent://public/default/t-partition-{at}": {"msgInCounter": at + 1} for at in range(3)}
    body = json.dumps({"msgInCounter": 6, "partitions": counted})
    monkeypatch.setattr("systems.pulsar.admin.http", lambda _host, _requests, **_limit: [HttpResponse(200, body)])
    admin = Admin(places.layout(BROKERS))
    assert admin.messages_in(Topic("t", 3)) == 6
    with pytest.raises(DeploymentError, match="3 of 4 partitions of t have a message count"):
        admin.messages_in(Topic("t", 4))


class Willing(ScriptedHost):
    """Implements Host: does whatever it is told, and says nothing."""

    def run(
        self, command: str, *, timeout_s: float = 30.0, check: bool = True, stdin: bytes | None = None
    ) -> Completed:
        del timeout_s, check, stdin
        return Completed(command, "", "", 0)


@pytest.mark.parametrize("level", LEVELS)
def test_a_start_gives_the_namespace_its_policy(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once all are registered, and whole: the level's quorums, and the vendor's rate of durable cursor writes."""
    done: list[object] = []
    monkeypatch.setattr("systems.pulsar.deployment.daemons.start", lambda _host, _daemons: None)
    monkeypatch.setattr(
        "systems.pulsar.deployment.daemons.await_ready", lambda action, *_others, **_limit: done.append(action)
    )

    def answer(_host: Host, requests: Sequence[HttpRequest]) -> list[HttpResponse]:
        done.extend((each.method, each.url, json.loads(each.body or "")) for each in requests)
        return [HttpResponse(204, "")]

    monkeypatch.setattr("systems.pulsar.admin.http", answer)
    deployment = PulsarDeployment([Willing(each.record) for each in BROKERS], Installed("4.2.4"))
    deployment.install()
    intended = deployment.configure(plan(level))["namespace"]
    deployment.start()
    policy = {
        "bookkeeperEnsemble": 3,
        "bookkeeperWriteQuorum": 3,
        "bookkeeperAckQuorum": LEVELS[level].ack_quorum(3),
        "managedLedgerMaxMarkDeleteRate": 1.0,
    }
    url = "http://10.0.0.1:8080/admin/v2/namespaces/public/default/persistence"
    assert done == [
        "pulsar: starting ZooKeeper",
        "pulsar: starting bookies and brokers",
        ("POST", url, policy),
    ]
    assert intended == {key: str(value) for key, value in policy.items()} | {"numBundles": "12"}


@dataclasses.dataclass
class Unanswered(Willing):
    """Implements Host: the first metadata get no answer from ZooKeeper, as many times as `times` says."""

    times: int = 1

    def run(
        self, command: str, *, timeout_s: float = 30.0, check: bool = True, stdin: bytes | None = None
    ) -> Completed:
        completed = super().run(command, timeout_s=timeout_s, check=check, stdin=stdin)
        if "PulsarClusterMetadataSetup" in command:
            self.asked.append(command)
            if len(self.asked) <= self.times:
                raise CommandFailed(self.record.name, dataclasses.replace(completed, exit_status=1))
        return completed


def test_first_metadata_that_got_no_answer_are_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, with the quorum there: ZooKeeper may never answer a connection that it accepted while it started."""
    monkeypatch.setattr("systems.pulsar.deployment.daemons.start", lambda _host, _daemons: None)
    monkeypatch.setattr("systems.pulsar.deployment.daemons.await_ready", lambda *_others, **_limit: None)
    monkeypatch.setattr("systems.pulsar.admin.http", lambda _host, _requests: [HttpResponse(204, "")])
    for times in (1, 2):
        setup = Unanswered(BROKERS[0].record, times=times)
        deployment = PulsarDeployment([setup, *(Willing(each.record) for each in BROKERS[1:])], Installed("4.2.4"))
        deployment.install()
        deployment.configure(plan())
        if times == 1:
            deployment.start()
        else:
            with pytest.raises(CommandFailed):
                deployment.start()
        assert len(setup.asked) == 2
        assert all("--zookeeper-session-timeout-ms 30000 " in command for command in setup.asked)


def test_the_policy_is_read_back_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the broker prints it: a rate that isn't the intended one would be drift."""
    persistence = {
        "bookkeeperEnsemble": 3,
        "bookkeeperWriteQuorum": 3,
        "bookkeeperAckQuorum": 2,
        "managedLedgerMaxMarkDeleteRate": 0.0,
    }
    body = json.dumps({"persistence": persistence, "bundles": {"numBundles": 12}})
    monkeypatch.setattr("systems.pulsar.admin.http", lambda _host, _requests: [HttpResponse(200, body)])
    effective = Admin(places.layout(BROKERS)).namespace()
    intended = LEVELS["1"].namespace(3) | {"numBundles": "12"}
    drifted = drift({"namespace": intended}, {"namespace": effective})
    assert drifted == (Drift("namespace", "managedLedgerMaxMarkDeleteRate", "1.0", "0.0"),)


def test_the_bookies_of_a_ledger_are_those_of_its_newest_ensemble() -> None:
    """As recorded; a bookie that was replaced in the middle isn't one of them any more, and other lists aren't taken for one."""
    text = (RECORDED / "pulsar-internal-stats.json").read_text()
    assert ensemble(text) == ("127.0.0.22", "127.0.0.21", "127.0.0.23")
    changed = text.replace("127.0.0.23:3181]}", "127.0.0.23:3181], 1007=[127.0.0.22:3181, 127.0.0.24:3181]}")
    assert ensemble(changed) == ("127.0.0.22", "127.0.0.24")
    assert ensemble(json.dumps({"ledgers": [{"metadata": "LedgerMetadata{formatVersion=3, ensembles={}}"}]})) == ()


@pytest.mark.parametrize("mode", ["leader", "follower", ""])
def test_zookeepers_mode_is_in_what_it_says(mode: str) -> None:
    """As recorded; one that has no quorum says another sentence."""
    said = (RECORDED / "zookeeper-srvr.txt").read_text().replace("Mode: follower", f"Mode: {mode}")
    assert (
        readback.zookeeper_mode(said if mode else "This ZooKeeper instance is not currently serving requests\n") == mode
    )


def broken_cluster(monkeypatch: pytest.MonkeyPatch, answers: dict[str, str]) -> PulsarDeployment:
    """Three of everything; `answers`: path below a broker's address -> body; the first broker answers nothing."""

    def answer(_host: Host, requests: Sequence[HttpRequest], *, timeout_s: float) -> list[HttpResponse]:
        assert timeout_s == SOON_S
        [request] = requests
        found = answers.get(request.url.partition(":8080")[2])
        if request.url.startswith("http://10.0.0.1:") or found is None:
            return [HttpResponse(0, "refused")]
        return [HttpResponse(200, found)]

    monkeypatch.setattr("systems.pulsar.admin.http", answer)
    deployment = PulsarDeployment([Willing(each.record) for each in BROKERS], Installed("4.2.4"))
    deployment.install()
    deployment.configure(plan())
    return deployment


LOOKUP = "/lookup/v2/topic/persistent/public/default/t-partition-4"
LEDGERS = "/admin/v2/persistent/public/default/t-partition-4/internalStats?metadata=true"


def test_a_partition_is_at_its_owner_and_its_ledgers_bookies(monkeypatch: pytest.MonkeyPatch) -> None:
    """As another broker says where the first one is gone; a partition whose owner doesn't answer is led by nobody."""
    stats = json.dumps({"ledgers": [{"metadata": "ensembles={0=[10.0.0.3:3181, 10.0.0.1:3181]}"}]})
    owner = json.dumps({"brokerUrl": "pulsar://10.0.0.2:6650"})
    deployment = broken_cluster(monkeypatch, {LOOKUP: owner, LEDGERS: stats})
    found = deployment.placement(0, 4)
    assert found.leader.component == "broker/broker-2"
    assert [each.component for each in found.followers] == ["bookie/broker-1", "bookie/broker-3"]
    with pytest.raises(DeploymentError, match=r"no broker answers: .*internalStats.*status 0, refused"):
        broken_cluster(monkeypatch, {LOOKUP: owner}).placement(0, 4)
    stranger = json.dumps({"brokerUrl": "pulsar://10.9.9.9:6650"})
    with pytest.raises(DeploymentError, match=r"owned by '10\.9\.9\.9', which is no broker"):
        broken_cluster(monkeypatch, {LOOKUP: stranger, LEDGERS: stats}).placement(0, 4)


@pytest.mark.parametrize(
    ("modes", "leader"), [({"broker-3": "leader"}, "broker-3"), ({"broker-2": "standalone"}, "broker-2")]
)
def test_the_coordinator_is_the_zookeeper_that_leads(
    modes: dict[str, str], leader: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or the only one; while they choose there is none."""
    deployment = broken_cluster(monkeypatch, {})
    monkeypatch.setattr("systems.pulsar.deployment.zookeeper_modes", lambda _all: {"broker-1": "follower", **modes})
    assert deployment.coordinator().component == f"zookeeper/{leader}"
    monkeypatch.setattr(
        "systems.pulsar.deployment.zookeeper_modes", lambda _all: {"broker-1": "", "broker-2": "follower"}
    )
    with pytest.raises(DeploymentError, match="no ZooKeeper leads"):
        deployment.coordinator()


class Emptied(Willing):
    """Implements Host: a bookie's directories on it have no cookies."""

    def run(
        self, command: str, *, timeout_s: float = 30.0, check: bool = True, stdin: bytes | None = None
    ) -> Completed:
        completed = super().run(command, timeout_s=timeout_s, check=check, stdin=stdin)
        return dataclasses.replace(completed, exit_status=1) if "current/VERSION" in command else completed


@pytest.mark.parametrize("kind", [Willing, Emptied])
def test_a_bookie_without_its_cookies_asks_what_it_should_have(
    kind: type[Willing], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And is awaited until it has it; one that has them starts as it did before."""
    started: list[str] = []
    awaited: list[str] = []
    monkeypatch.setattr(
        "systems.pulsar.deployment.daemons.start",
        lambda _host, some: started.extend(" ".join(each.argv) for each in some),
    )
    monkeypatch.setattr(
        "systems.pulsar.deployment.daemons.await_ready",
        lambda _action, probes, *_others, **_limit: awaited.extend(
            probe.what for each in probes.values() for probe in each
        ),
    )
    deployment = PulsarDeployment([kind(each.record) for each in BROKERS], Installed("4.2.4"))
    deployment.install()
    deployment.configure(plan())
    [bookie] = [each for each in deployment.processes if each.component == "bookie/broker-2"]
    deployment.start_again(bookie)
    replaced = kind is Emptied
    [command] = started
    assert ("/etc/pulsar/bookkeeper-replaced.conf" in command) is replaced
    ready = ["bookie/broker-2 to take writes"]
    assert awaited == ([*ready, "bookie/broker-2 to copy its ledgers"] if replaced else ready)
    host = bookie.host
    assert isinstance(host, ScriptedHost)
    written = properties(host.files.get("/srv/broker-2/etc/pulsar/bookkeeper-replaced.conf", b"").decode())
    assert (written.get("dataIntegrityChecking"), "bookiePort" in written) == (
        ("true", True) if replaced else (None, False)
    )


def test_what_a_replaced_process_lacks_is_what_it_keeps() -> None:
    """A broker keeps nothing, so a partition's leader can't be replaced."""
    deployment = PulsarDeployment(BROKERS, Installed("4.2.4"))
    deployment._plan, deployment._software = plan(), "software/pulsar"
    data = {each.daemon: deployment.data_of(each) for each in deployment.processes if each.host is BROKERS[0]}
    assert data == {
        "zookeeper": ("/srv/broker-1/data1/pulsar/zookeeper",),
        "bookie": ("/srv/broker-1/data1/pulsar/journal", "/srv/broker-1/data2/pulsar/ledgers"),
        "broker": (),
    }
    assert "keeps no data" in (PULSAR.why_no_fault("replace", "leader") or "")
    assert PULSAR.why_no_fault("replace", "follower") is None
