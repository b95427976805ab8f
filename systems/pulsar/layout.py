"""Which Pulsar process runs on which host, with which addresses, files and commands. It renders and touches no host.

Its `daemon` is "zookeeper", "bookie" or "broker".
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from provisioning.errors import DeploymentError
from provisioning.hosts.daemons import Daemon
from provisioning.hosts.host import Host
from systems.deployment import Plan
from systems.jvm import processes as jvm
from systems.jvm.rendering import size_bytes
from systems.processes import Process, hosts_for, on_each, on_host
from systems.profile import memory_classes
from systems.pulsar.durability import BYPASS, level_settings
from systems.rendering import render
from systems.settings import NOTHING, Settings

CLUSTER = "samebox"
# Where the client looks for a topic that is given by its bare name.
NAMESPACE = "public/default"
ZOOKEEPER_PORT, BOOKIE_PORT, BOOKIE_HTTP_PORT, SERVICE_PORT, WEB_PORT = 2181, 3181, 8000, 6650, 8080
# of clients, of followers, of elections
ZOOKEEPER_PORTS = (ZOOKEEPER_PORT, 2888, 3888)
# Bundles that a namespace's topics are spread over, and these over the brokers: the vendor's 16 can't give three brokers as many each.
BUNDLES = 12
MEMORY = memory_classes(Path(__file__).with_name("memory.toml"))
ROCKSDB_FILES = ("default_rocksdb.conf", "entry_location_rocksdb.conf", "ledger_metadata_rocksdb.conf")
DIRECTORIES = "directories"
SETUP = "setup"  # the class data of what writes the first metadata
TIERS = {"zookeeper": 0, "bookie": 1, "broker": 2}
MAIN_CLASSES = {
    "zookeeper": ("org.apache.zookeeper.server.quorum.QuorumPeerMain",),
    "bookie": ("org.apache.bookkeeper.server.Main", "--conf"),
    "broker": ("org.apache.pulsar.PulsarBrokerStarter", "--broker-conf"),
}


@dataclass(frozen=True)
class Layout:
    """All processes; `zookeepers` on the metadata hosts where there are any, else beside the brokers."""

    zookeepers: tuple[Process, ...]
    bookies: tuple[Process, ...]
    brokers: tuple[Process, ...]

    @property
    def processes(self) -> tuple[Process, ...]:
        return self.zookeepers + self.bookies + self.brokers

    @property
    def zookeeper_addresses(self) -> str:
        return ",".join(f"{process.address}:{ZOOKEEPER_PORT}" for process in self.zookeepers)

    @property
    def service_url(self) -> str:
        return "pulsar://" + ",".join(f"{process.address}:{SERVICE_PORT}" for process in self.brokers)

    @property
    def setup(self) -> Process:
        """The ZooKeeper beside which the first metadata are written: the same in whatever order the hosts are given."""
        return min(self.zookeepers, key=lambda process: process.host.name)

    def on(self, host: Host) -> tuple[Process, ...]:
        """The processes of one host."""
        return on_host(self.processes, host)


def layout(hosts: Sequence[Host]) -> Layout:
    """Raises DeploymentError if there are no brokers or a host has no data directory."""
    brokers, metadata = hosts_for("pulsar", hosts)
    beside = brokers[: 3 if len(brokers) >= 3 else 1]  # an even number survives no more failures than the odd one below
    return Layout(
        on_each("pulsar", "zookeeper", metadata or beside, "zoo.cfg"),
        on_each("pulsar", "bookie", brokers, "bookkeeper.conf"),
        on_each("pulsar", "broker", brokers, "broker.conf"),
    )


def zookeeper_dir(host: Host) -> str:
    return f"{host.record.data_dirs[0].path}/pulsar/zookeeper"


def journal_dirs(host: Host, plan: Plan) -> tuple[str, ...]:
    """On the first data directory, which has the journal for itself where there are two."""
    return _directories(f"{host.record.data_dirs[0].path}/pulsar/journal", _per_disk(plan)["journal_per_disk"])


def ledger_dirs(host: Host, plan: Plan) -> tuple[str, ...]:
    """On the last data directory; on all of them where the journal is bypassed and leaves its own idle."""
    disks = host.record.data_dirs if plan.durability.variant == BYPASS else host.record.data_dirs[-1:]
    each = _per_disk(plan)["ledger_per_disk"]
    return tuple(path for disk in disks for path in _directories(f"{disk.path}/pulsar/ledgers", each))


def bundles(plan: Plan) -> str:
    """How many bundles the namespace gets."""
    return plan.overrides_for("namespace").get("numBundles", str(BUNDLES))


def _per_disk(plan: Plan) -> dict[str, str]:
    """The component "directories": no setting of a process, but how many of a bookie's directories lie on one disk."""
    asked = {"journal_per_disk": "1", "ledger_per_disk": "1"} | plan.overrides_for(DIRECTORIES)
    for key, value in asked.items():
        if key not in ("journal_per_disk", "ledger_per_disk") or not value.isdecimal() or not 1 <= int(value) <= 16:
            raise DeploymentError(
                f"pulsar: {DIRECTORIES}.{key} = {value!r} isn't a valid number of directories.",
                next_step="Valid keys: journal_per_disk, ledger_per_disk, each from 1 to 16.",
            )
    return asked


def _directories(path: str, count: str) -> tuple[str, ...]:
    return (path,) if count == "1" else tuple(f"{path}-{at}" for at in range(1, int(count) + 1))


def files(process: Process, everything: Layout, plan: Plan, lacks: Settings = NOTHING) -> dict[str, str]:
    """Every file of one process: path -> content. `lacks`: see `jvm.files`."""
    memory = MEMORY.of(process.daemon, plan.memory)
    config, sizes = _config(process, everything, plan, memory), {"heap": memory["heap"], "direct": memory.get("direct")}
    rocksdb = ROCKSDB_FILES if process.daemon == "bookie" else ()
    return {
        **jvm.files(process, plan, config=config, arguments="java.jvm.j2", lacks=lacks, **sizes),
        **{f"{process.etc}/{name}": render(f"pulsar/templates/{name}.j2") for name in rocksdb},
    }


def _config(process: Process, everything: Layout, plan: Plan, memory: Mapping[str, str]) -> str:
    level = level_settings(plan.durability)
    if process.daemon == "zookeeper":
        return render(
            "pulsar/templates/zoo.cfg.j2",
            data_dir=zookeeper_dir(process.host),
            client_port=ZOOKEEPER_PORT,
            address=process.address,
            servers=[each.address for each in everything.zookeepers],
        )
    direct_mb = size_bytes(memory["direct"]) // 2**20
    if process.daemon == "bookie":
        return render(
            "pulsar/templates/bookkeeper.conf.j2",
            bookie_port=BOOKIE_PORT,
            http_port=BOOKIE_HTTP_PORT,
            address=process.address,
            loopback=ipaddress.ip_address(process.address).is_loopback,
            zookeepers=everything.zookeeper_addresses,
            journal_dirs=",".join(journal_dirs(process.host, plan)),
            ledger_dirs=",".join(ledger_dirs(process.host, plan)),
            durability=level.bookie(),
            rocksdb_dir=process.etc,
            cache_mb=direct_mb // 4,
        )
    return render(
        "pulsar/templates/broker.conf.j2",
        cluster=CLUSTER,
        zookeepers=everything.zookeeper_addresses,
        address=process.address,
        service_port=SERVICE_PORT,
        web_port=WEB_PORT,
        ensemble=plan.replication_factor,
        write_quorum=plan.replication_factor,
        ack_quorum=level.ack_quorum(plan.replication_factor),
        cache_mb=max(64, direct_mb // 5),
        bundles=bundles(plan),
    )


def daemon(process: Process, software: str, plan: Plan) -> Daemon:
    """The process as it is started; `software` is where its software lies on the host."""
    main = MAIN_CLASSES[process.daemon]
    return jvm.daemon(process, software, *main, plan=plan, tier=TIERS[process.daemon])


def setup_argv(process: Process, software: str, *arguments: str, prime: bool) -> tuple[str, ...]:
    """What writes the cluster's first metadata, run beside one of its processes."""
    main = "org.apache.pulsar.PulsarClusterMetadataSetup"
    return jvm.java(jvm.tool_arguments(process), software, SETUP, main, *arguments, prime=prime)
