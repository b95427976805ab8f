"""The verbs that put Pulsar on hosts. Every question to a process is asked on a broker host."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from shlex import quote

from provisioning.errors import CommandFailed, DeploymentError
from provisioning.hosts import daemons
from provisioning.hosts.daemons import Probe
from provisioning.hosts.host import Host, on_all
from systems.deployment import CLIENT, Endpoints, Placement, Plan, SoftwareStore
from systems.jvm import class_data
from systems.jvm import processes as jvm
from systems.processes import Process, await_ready, hosts_of, on_host, place
from systems.pulsar import again
from systems.pulsar import layout as places
from systems.pulsar.admin import Admin
from systems.pulsar.durability import level_settings
from systems.pulsar.readback import LEADS, ledger_settings, read_processes, zookeeper_modes
from systems.release import facts_of
from systems.settings import Settings, joined

QUORUM_LIMIT_S = 600.0
INIT_TIMEOUT_S = 600.0
INIT_SESSION_S = 30.0  # for so long the first metadata wait for a connection to be answered
START_LIMIT_S = 600.0  # generous: brokers give way to others, and a death is noticed at once anyway


class PulsarDeployment:
    """Pulsar with its bookies and ZooKeeper; see `Deployment` for the verbs."""

    system = "pulsar"
    storing_daemon = "bookie"

    def __init__(self, hosts: Sequence[Host], store: SoftwareStore) -> None:
        self.version = store.version(self.system)
        self._store = store
        self._layout = places.layout(hosts)
        self.processes = self._layout.processes
        self._hosts = hosts_of(self.processes)
        self._software = ""  # relative to a host's root; known once installed
        self._plan: Plan | None = None
        self._intended: dict[str, dict[str, str]] = {}
        self._ledgers: dict[str, list[str]] = {}  # topic -> its partitions' ledgers, as they were when all were open
        self._admin = Admin(self._layout)

    def install(self) -> None:
        self._software = self._store.deploy(self.system, self._hosts)

    def intended_settings(self, plan: Plan) -> Settings:
        return self._render(plan)[1]

    def configure(self, plan: Plan) -> Settings:
        rendered, intended = self._render(plan)
        place(self.processes, rendered)
        self._plan, self._intended, self._ledgers = plan, intended, {}
        return intended

    def _render(self, plan: Plan) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, str]]]:
        """Every host's files (path -> content), and the settings in them."""
        level = level_settings(plan.durability)
        plan.require_brokers(self.system, len(self._layout.bookies))
        lacks = facts_of(self.system, self.version).without
        rendered, intended = jvm.render_all(self.processes, lambda each: places.files(each, self._layout, plan, lacks))
        intended["namespace"] = (
            level.namespace(plan.replication_factor)
            | {"numBundles": places.bundles(plan)}
            | plan.overrides_for("namespace")
        )
        plan.check_overrides(intended.keys() | {places.DIRECTORIES})
        # the ledgers that the topic really writes to
        intended["ledgers"] = {
            "ensembleSize": intended["namespace"]["bookkeeperEnsemble"],
            "writeQuorumSize": intended["namespace"]["bookkeeperWriteQuorum"],
            "ackQuorumSize": intended["namespace"]["bookkeeperAckQuorum"],
        }
        intended["topic/layout"] = {"partitions": str(plan.topics[0].partitions)}
        return rendered, intended

    def primed(self) -> bool:
        kinds = [(each.host, each.daemon) for each in self.processes]
        return class_data.there([*kinds, (self._layout.setup.host, places.SETUP)], self._software)

    def keep_priming(self) -> None:
        class_data.keep(self._hosts, self._software)

    def start(self) -> None:
        zookeepers, stores = self._layout.zookeepers, self._layout.bookies + self._layout.brokers
        on_all("pulsar: making data directories", self._hosts, self._make_directories)
        self._start(zookeepers)
        # it connects as soon as there is a quorum, and until then loads its classes
        with ThreadPoolExecutor(max_workers=1) as pool:
            initialised = pool.submit(self._initialise_metadata)
            await_ready("pulsar: starting ZooKeeper", zookeepers, self._sign, limit_s=QUORUM_LIMIT_S)
            try:
                initialised.result()
            except CommandFailed:
                # a ZooKeeper that accepts a connection just before it can serve any may never answer it
                self._initialise_metadata()
        self._start(stores)
        await_ready("pulsar: starting bookies and brokers", stores, self._sign, limit_s=START_LIMIT_S)
        self._admin.set_persistence(self._intended["namespace"])

    def create_topics(self) -> None:
        plan = self._planned()
        self._ledgers = self._admin.create_topics([plan.probe, *plan.topics])

    def effective_settings(self) -> Settings:
        topics = self._planned().topics
        with ThreadPoolExecutor(max_workers=2 + len(topics)) as pool:
            processes = pool.submit(read_processes, self._layout, self._intended, f"{self._software}/{jvm.LIBS}")
            namespace = pool.submit(self._admin.namespace)
            counts = pool.map(self._admin.partition_count, topics)
            ledgers = [self._ledgers.get(topic.name) or self._admin.internal_stats(topic) for topic in topics]
        effective = processes.result() | {"namespace": namespace.result()}
        effective["ledgers"] = joined(ledger_settings(stats) for of_topic in ledgers for stats in of_topic)
        effective["topic/layout"] = joined({"partitions": str(count)} for count in counts)
        return effective

    def endpoints(self) -> Endpoints:
        return Endpoints(self._layout.service_url, self._planned().overrides_for(CLIENT))

    def messages_stored(self) -> int:
        # Messages, not entries: an entry is a batch. The counter is the owning broker's; nothing is unloaded during a trial.
        return sum(self._admin.messages_in(topic) for topic in self._planned().topics)

    def leaders(self) -> Mapping[str, int]:
        addresses = self._admin.owners(self._planned().topics)
        return {process.host.name: addresses.count(process.address) for process in self._layout.brokers}

    def under_replicated(self) -> Sequence[str]:
        # With an ensemble of all bookies, one that takes no writes leaves every ledger a copy short.
        return [f"ledgers on {component}" for component in self._admin.lacking_bookies()]

    def placement(self, topic: int, partition: int) -> Placement:
        """Clients send to the broker that owns the partition; the copies are those of the bookies that its ledger is written to now."""
        of_plan = self._planned().topic_at(topic, partition)
        owner, copies = self._admin.owner(of_plan, partition), self._admin.copies(of_plan, partition)
        for broker in self._layout.brokers:
            if broker.address == owner:
                return Placement(broker, tuple(each for each in self._layout.bookies if each.address in copies))
        raise DeploymentError(
            f"pulsar: partition {partition} of {of_plan.name} is owned by {owner!r}, which is no broker."
        )

    def coordinator(self) -> Process:
        """ZooKeeper's leader: ZooKeeper knows who is a member, which broker owns what, and which bookies have which ledger."""
        modes = zookeeper_modes(self._layout.zookeepers)
        for each in self._layout.zookeepers:
            if modes.get(each.host.name) in LEADS:
                return each
        raise DeploymentError(f"pulsar: no ZooKeeper leads the others now: {dict(modes)}")

    def start_again(self, process: Process) -> None:
        """A broker has no data. A ZooKeeper server with an empty disk gets everything from the leader. A bookie with one asks the
        metadata what it should have, and is ready when it has copied that from the others: see `again`.
        """
        self._make_directories(process.host)
        started, signs = process, [again.sign(process) or self._sign(process)]
        cookies = again.has_cookies(self.data_of(process))
        if process.daemon == "bookie" and process.host.run(cookies, check=False).exit_status != 0:
            started = again.replaced(process)
            config = self._render(self._planned())[0][process.host.name][process.config_path]
            process.host.put(again.replaced_config(config).encode(), started.config_path)
            signs.append(again.copied(process))
        self._start([started])
        host = process.host
        asked = {host.name: signs}, {host.name: [process.daemon]}, [host]
        daemons.await_ready("pulsar: starting again", *asked, limit_s=START_LIMIT_S)

    def data_of(self, process: Process) -> Sequence[str]:
        """None of a broker: it keeps nothing."""
        plan, host = self._planned(), process.host
        if process.daemon == "bookie":
            return (*places.journal_dirs(host, plan), *places.ledger_dirs(host, plan))
        return (places.zookeeper_dir(host),) if process.daemon == "zookeeper" else ()

    def _planned(self) -> Plan:
        if self._plan is None or not self._software:
            raise DeploymentError("pulsar: call install and configure first.")
        return self._plan

    def _software_on(self, host: Host) -> str:
        return f"{host.record.root}/{self._software}"

    def _make_directories(self, host: Host) -> None:
        """Here, not in `configure`: a reset may come between and wipe the data directories."""
        plan, made = self._planned(), []
        if host.record.role != "metadata":
            made = [*places.journal_dirs(host, plan), *places.ledger_dirs(host, plan)]
        commands = [f"mkdir -p {quote(path)}" for path in made]
        for zookeeper in on_host(self._layout.zookeepers, host):
            data = quote(places.zookeeper_dir(host))
            commands.append(f"mkdir -p {data} && echo {zookeeper.number} > {data}/myid")
        host.run(" && ".join(commands))

    def _start(self, processes: Sequence[Process]) -> None:
        plan = self._planned()

        def start(host: Host) -> None:
            software = self._software_on(host)
            daemons.start(host, [places.daemon(each, software, plan) for each in on_host(processes, host)])

        on_all("pulsar: starting", hosts_of(processes), start)

    def _sign(self, process: Process) -> Probe:
        """What shows that all processes of a kind are up, asked at this one's address."""
        if process.daemon == "zookeeper":
            quorum = ("Mode:",)
            return Probe("a ZooKeeper quorum", quorum, address=process.address, port=places.ZOOKEEPER_PORT, send="srvr")
        addresses = [broker.address for broker in self._layout.brokers]
        admin = f"http://{process.address}:{places.WEB_PORT}/admin/v2"
        if process.daemon == "bookie":
            stored = tuple(f"{address}:{places.BOOKIE_PORT}" for address in addresses)
            return Probe("all bookies to register", stored, url=f"{admin}/bookies/all")
        registered = tuple(f"{address}:{places.WEB_PORT}" for address in addresses)
        return Probe("all brokers to register", registered, url=f"{admin}/brokers/{places.CLUSTER}")

    def _initialise_metadata(self) -> None:
        """Once per wipe: the marker lies with ZooKeeper's data and is wiped with them."""
        setup, broker = self._layout.setup, self._layout.brokers[0].address
        zookeepers = f"zk:{self._layout.zookeeper_addresses}"
        argv = places.setup_argv(
            setup,
            self._software_on(setup.host),
            *("--cluster", places.CLUSTER),
            *("--metadata-store", zookeepers),
            *("--configuration-metadata-store", zookeepers),
            *("--zookeeper-session-timeout-ms", str(round(INIT_SESSION_S * 1000))),
            *("--default-namespace-bundle-number", self._intended["namespace"]["numBundles"]),
            *("--web-service-url", f"http://{broker}:{places.WEB_PORT}"),
            *("--broker-service-url", f"pulsar://{broker}:{places.SERVICE_PORT}"),
            prime=self._planned().prime,
        )
        marker = quote(f"{places.zookeeper_dir(setup.host)}/initialised")
        command = f"test -f {marker} || {{ {shlex.join(argv)} && touch {marker}; }}"
        setup.host.run(command, timeout_s=INIT_TIMEOUT_S)
