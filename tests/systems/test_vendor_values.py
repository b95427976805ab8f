"""That the report names every value which isn't the vendor's: rendered files against what the vendors ship, key by key.

The vendor's value of a key is that of the file it ships; of one that the file leaves out or empty, the code's. Ours is that of the
rendered file; of a key that isn't there, the code's as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from provisioning.hosts.host import Host, ScriptedHost
from provisioning.hosts.inventory import DataDir, HostRecord, Role, SshAddress
from systems.deployment import Plan, Topic
from systems.jvm.processes import argument_file
from systems.jvm.rendering import properties, size_bytes
from systems.nats.readback import runtime_settings, server_settings
from systems.own_values import departures, kind_of
from systems.pulsar import layout as pulsar_layout
from systems.redpanda.config_text import flat
from systems.registry import DURABILITY, SYSTEMS, release_of
from systems.settings import Settings
from systems.valkey.readback import pairs
from systems.valkey.resp_client import all_replies

VENDOR = Path(__file__).parents[1] / "data" / "vendor"
VERSIONS = {
    "kafka": "4.3.1",
    "nats": "2.15.1",
    "pulsar": "4.2.4",
    "rabbitmq": "4.0.5",
    "redpanda": "1c6cff3",
    "valkey": "9.1.2.post2",
}
# Kinds of components in which each departs from its vendor, among others.
MAIN = {
    "kafka": {"broker", "jvm/broker"},
    "nats": {"server", "go/server"},
    "pulsar": {"broker", "jvm/broker"},
    "rabbitmq": {"server"},
    "redpanda": {"broker", "cluster", "seastar/broker"},
    "valkey": {"build", "server"},
}
DIRECT_MB = 512
# Where a process is and what it is called: these belong to the hosts, and the report's sentence leaves them out.
PLACES = re.compile(
    r"(advertised\.|controller\.)?listeners?|listener\.security\.protocol\.map|inter\.broker\.listener\.name|node\.id|process\.roles"
    r"|controller\.(quorum\.(voters|bootstrap\.servers)|listener\.names)|log\.dirs|metadata\.log\.dir"
    r"|advertisedAddress|bindAddress|clusterName|(configurationM|m)etadataStoreUrl|metadataServiceUri|zkServers|listeningInterface"
    r"|allowLoopback|httpServerHost|prometheusStatsHttpPort|(journal|ledger)Director(y|ies)|\w+RocksdbConf"
    r"|clientPortAddress|dataDir|server\.\d+|admin\.serverPort|metricsProvider\.httpPort"
    r"|server_name|listen|http|jetstream\.store_dir|cluster\.(name|listen|routes)|config_digest"
    r"|node_id|data_directory|(seed_servers\.\d+\.host|(advertised_)?(rpc_(server|api)|kafka_api\.0)|admin(\.0)?)\.(address|port)"
    r"|bind(-source-addr)?|replicaof|replica-announce-(ip|port)|dir|logfile"
    r"|listeners\.tcp\.1|cluster_name"
)
# What the vendor's code makes of an empty value, or of another key.
RULES = {
    "dbStorage_writeCacheMaxSizeMb": str(DIRECT_MB // 4),
    "dbStorage_readAheadCacheMaxSizeMb": str(DIRECT_MB // 4),
    "managedLedgerCacheSizeMB": str(max(64, DIRECT_MB // 5)),
    "log.retention.ms": str(168 * 3_600_000),
    "bookkeeperEnsemble": "2",
    "bookkeeperWriteQuorum": "2",
    "bookkeeperAckQuorum": "2",
    "managedLedgerMaxMarkDeleteRate": "1.0",  # managedLedgerDefaultMarkDeleteRateLimit
    "cluster.no_advertise": "false",  # server/opts.go: a server alone has no cluster and shows none
    "vm_memory_high_watermark.absolute": "0.6 of the host's memory",  # rabbit.schema: vm_memory_high_watermark.relative
    "numBundles": "16",  # PulsarClusterMetadataSetup.DEFAULT_BUNDLE_NUMBER
}
# Keys of the vendor's file that its own code doesn't read: RocksDB has files of its own since BookKeeper 4.15.
UNREAD = re.compile(r"dbStorage_rocksDB_\w+")
# A single ZooKeeper has no followers to wait for; a controller keeps no topics.
NOT_HERE = {
    "zookeeper": {"initLimit", "syncLimit"},
    "controller": {"*.topic.*", "transaction.state.log.*", "log.retention.*"},
}
JVM_DEFAULTS = {
    "MaxGCPauseMillis": "200",
    "MaxInlineLevel": "15",
    "AlwaysPreTouch": "false",
    "ExitOnOutOfMemoryError": "false",
    "UsePerfData": "true",
    "PerfDisableSharedMem": "false",
    **dict.fromkeys(("UseG1GC", "UseZGC", "UseSerialGC", "ParallelRefProcEnabled"), "false"),
}


@dataclass(frozen=True)
class Values:
    """A kind of component: what the vendor has (files, then code), and what its code alone has."""

    vendor: Mapping[str, str]
    code: Mapping[str, str]


def test_the_vendors_values_are_of_the_versions_that_run() -> None:
    """A new version of a system needs its vendor's values recorded anew; where none is pinned, they are of a commit of its source."""
    pinned = {name: system.software[0].version for name, system in SYSTEMS.items() if system.software}
    assert pinned == {name: version for name, version in VERSIONS.items() if SYSTEMS[name].software}
    assert VERSIONS.keys() == SYSTEMS.keys()


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_value_that_is_not_the_vendors_is_named(system: str) -> None:
    """In the intended settings and in the list that the report shows, with the vendor's value; and the list has no other."""
    own, vendor = SYSTEMS[system].own_values, vendor_values(system)
    found: dict[tuple[str, str], str] = {}
    for intended in rendered(system):
        for component, settings in intended.items():
            kind = kind_of(component)
            if kind in vendor:
                found |= {(kind, key): value for key, value in differing(kind, settings, vendor[kind]).items()}
    named = {(kind, key): same(each.vendor) for kind, values in own.items() for key, each in values.items()}
    assert found == named


@pytest.mark.parametrize("system", SYSTEMS)
def test_what_a_campaign_departs_in_is_listed_with_its_own_value(system: str) -> None:
    """Each with a reason; what a profile sets to the vendor's value is no departure any more."""
    own = SYSTEMS[system].own_values
    intended = {k: dict(v) for k, v in next(rendered(system)).items()}
    listed = departures(own, intended)
    assert {each.component for each in listed} >= MAIN[system]
    for each in listed:
        first = next(settings for component, settings in intended.items() if kind_of(component) == each.component)
        assert each.value == first.get(each.key) != each.vendor
        assert each.why
    gone = listed[0]
    for component, settings in intended.items():
        if kind_of(component) == gone.component:
            settings[gone.key] = gone.vendor or ""
    assert gone.key not in {each.key for each in departures(own, intended) if each.component == gone.component}


@pytest.mark.parametrize("name", pulsar_layout.ROCKSDB_FILES)
def test_the_indexes_are_set_as_the_vendor_ships_them(name: str) -> None:
    """Every line of RocksDB's own files."""
    everything = pulsar_layout.layout(hosts("10.0.0"))
    files = pulsar_layout.files(everything.bookies[0], everything, plan("1"))
    text = next(content for path, content in files.items() if path.endswith(f"/{name}"))
    lines = [line.rstrip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    assert lines == (VENDOR / "pulsar-4.2.4" / name).read_text().splitlines()


@pytest.mark.parametrize("daemon", ["broker", "bookie", "zookeeper"])
def test_pulsars_launcher_passes_nothing_that_is_missing_here(daemon: str) -> None:
    """Its system properties: Netty's pools, the size of metadata nodes. What readiness needs of ZooKeeper is in its file."""
    everything = pulsar_layout.layout(hosts("10.0.0"))
    process = next(each for each in everything.processes if each.daemon == daemon)
    ours = pulsar_layout.files(process, everything, plan("1"))[argument_file(process)].splitlines()
    theirs = (VENDOR / "pulsar-4.2.4" / f"launcher-{daemon}.args").read_text().splitlines()
    missing = {line for line in theirs if line.startswith("-D")} - set(ours)
    assert missing <= {"-Dzookeeper.4lw.commands.whitelist=*"}


def vendor_values(system: str) -> dict[str, Values]:
    """By kind of component."""
    folder = VENDOR / f"{system}-{VERSIONS[system]}"
    if system == "kafka":
        code = code_of(system, "broker")
        return {
            "broker": over(read(folder / "server.properties"), code),
            "controller": over(read(folder / "controller.properties"), code),
            "jvm/broker": over(jvm(folder / "launcher.args"), JVM_DEFAULTS),
            "jvm/controller": over(jvm(folder / "launcher.args"), JVM_DEFAULTS),
        }
    if system == "nats":
        # what a server says that was told nothing but its addresses, its name and its directory
        varz = json.loads((folder / "varz.json").read_text())
        server, runtime = server_settings(varz, ""), runtime_settings(varz)
        return {"server": Values(server, server), "go/server": Values(runtime, runtime)}
    if system == "rabbitmq":
        # what a node says that was told nothing but its address
        said = json.loads((folder / "settings.json").read_text())
        return {kind: Values(said[kind], said[kind]) for kind in ("server", "ra")}
    if system == "redpanda":
        of_broker, of_cluster = (
            flat(json.loads((folder / f"code-{name}.json").read_text())) for name in ("broker", "cluster")
        )
        options = json.loads((folder / "options.json").read_text())
        return {
            "broker": over(flat(json.loads((folder / "redpanda.json").read_text())), of_broker),
            "cluster": Values(of_cluster, of_cluster),
            "seastar/broker": Values(options, options),
        }
    if system == "valkey":
        # what a server says that was told nothing but its address
        [said] = all_replies((folder / "config.resp").read_bytes())
        built = {"version": "9.1.2", "mem_allocator": "jemalloc"}  # as the vendor's own Makefile does on Linux
        return {"server": Values(pairs(said), pairs(said)), "build": Values(built, built)}
    found = {"namespace": Values({}, {})}
    for daemon, name in (("broker", "broker"), ("bookie", "bookkeeper"), ("zookeeper", "zookeeper")):
        shipped = read(folder / f"{name}.conf")
        code = code_of(system, daemon) if daemon != "zookeeper" else read(folder / f"code-{name}.properties")
        if daemon == "broker":  # it looks at nothing that its class has no field for
            shipped = {key: value for key, value in shipped.items() if key in code}
        launcher = folder / f"launcher-{daemon}.args"
        if daemon == "zookeeper":
            shipped |= {"4lw.commands.whitelist": "*"}
            assert "-Dzookeeper.4lw.commands.whitelist=*" in launcher.read_text().splitlines()
        found[daemon] = over(shipped, code)
        found[f"jvm/{daemon}"] = over(jvm(launcher), JVM_DEFAULTS)
    return found


def code_of(system: str, kind: str) -> dict[str, str]:
    """The defaults of the code, as they are recorded of the version that runs; "" = it has none, or takes it from the host."""
    known = release_of(system, None).known
    assert known is not None
    return {key: default or "" for key, default in (known.of(kind) or {}).items()}


def over(shipped: Mapping[str, str], code: Mapping[str, str]) -> Values:
    return Values({**code, **{key: value for key, value in shipped.items() if value}}, code)


def read(path: Path) -> dict[str, str]:
    return properties(path.read_text())


def jvm(path: Path) -> dict[str, str]:
    """A launcher's arguments as the running JVM names them."""
    found: dict[str, str] = {}
    for argument in path.read_text().splitlines():
        if size := re.fullmatch(r"-Xms(\w+)", argument):
            found |= dict.fromkeys(("MinHeapSize", "InitialHeapSize"), str(size_bytes(size[1])))
        elif size := re.fullmatch(r"-Xmx(\w+)", argument):
            found["MaxHeapSize"] = str(size_bytes(size[1]))
        elif switch := re.fullmatch(r"-XX:([+-])(\w+)", argument):
            found[switch[2]] = "true" if switch[1] == "+" else "false"
        elif value := re.fullmatch(r"-XX:(\w+)=(\w+)", argument):
            found[value[1]] = str(size_bytes(value[2])) if re.fullmatch(r"\d+[gGmM]", value[2]) else value[2]
    return found


def differing(kind: str, ours: Mapping[str, str], values: Values) -> dict[str, str]:
    """Keys whose value in force differs -> the vendor's value."""
    found = {}
    for key in values.vendor.keys() | ours.keys():
        skipped = PLACES.fullmatch(key) or UNREAD.fullmatch(key) or not_here(kind, key)
        vendor = RULES.get(key) or values.vendor.get(key, "")
        if not skipped and same(vendor) != same(ours.get(key, values.code.get(key, ""))):
            found[kind, key] = same(vendor)
    return {key: value for (_, key), value in found.items()}


def not_here(kind: str, key: str) -> bool:
    return any(re.fullmatch(each.replace(".", r"\.").replace("*", ".*"), key) for each in NOT_HERE.get(kind, ()))


def same(value: str) -> str:
    """A value in one form, however its class prints it: Optional[1] and 1.0 are 1, and a set has no order."""
    inner = re.sub(r"^(?:Optional)?\[(.*)\]$", r"\1", value.strip())
    plain = re.sub(r"^(-?\d+)\.0$", r"\1", inner)
    if plain in ("null", "Optional.empty"):
        return ""
    return ",".join(sorted(part.strip() for part in plain.split(",")))


def rendered(system: str) -> Iterator[Settings]:
    """The intended settings of every level, with and without metadata hosts, on loopback and elsewhere."""
    for address in ("10.0.0", "127.0.0"):
        for metadata in (0, 1, 3):
            deployment = SYSTEMS[system].deployment(hosts(address, metadata), Pinned())
            for level in SYSTEMS[system].levels:
                yield deployment.intended_settings(plan(level))


def plan(level: str) -> Plan:
    memory = {"bookie": {"direct": f"{DIRECT_MB}m"}, "broker": {"direct": f"{DIRECT_MB}m"}}
    return Plan(DURABILITY[level], (Topic("t", 6),), memory, {})


def hosts(network: str, metadata: int = 0) -> list[Host]:
    roles: list[tuple[str, Role]] = [(f"broker-{at}", "broker") for at in (1, 2, 3)]
    roles += [(f"metadata-{at}", "metadata") for at in range(1, metadata + 1)]
    return [scripted(name, role, f"{network}.{at}") for at, (name, role) in enumerate(roles, start=11)]


def scripted(name: str, role: Role, address: str) -> Host:
    disks = tuple(DataDir(f"/srv/{name}/data{at}", "/dev/x", "/", False) for at in (1, 2))
    return ScriptedHost(
        HostRecord(name, role, SshAddress(address, 22, "b", ""), address, f"/srv/{name}", disks, "", "", 1)
    )


class Pinned:
    """Implements SoftwareStore for a plan that is only rendered."""

    def deploy(self, name: str, hosts: Sequence[Host]) -> str:
        raise AssertionError(f"{name} is deployed to {len(hosts)} hosts")

    def version(self, name: str) -> str:
        return VERSIONS[name]
