"""The verbs that put Pulsar on hosts: whole files, processes in order. It never dials a broker from the operator's machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from shlex import quote

from provisioning.errors import DeploymentError
from provisioning.hosts import daemons
from provisioning.hosts.daemons import Daemon, DaemonState, Probe
from provisioning.hosts.host import Host, on_all
from systems.deployment import Endpoints, Plan, SoftwareStore, require_hosts
from systems.evidence import fetch_evidence
from systems.jvm import class_data
from systems.jvm.processes import daemon, shell
from systems.overrides import CLIENT, check_overrides, overrides_for
from systems.placement import place
from systems.pulsar import layout as places
from systems.pulsar.admin import Admin
from systems.pulsar.durability import level_settings
from systems.pulsar.layout import Process
from systems.pulsar.readback import ledger_settings, read_processes
from systems.settings import Settings, joined

QUORUM_LIMIT_S = 600.0
INIT_TIMEOUT_S = 600.0  # with 65 tasks waiting for two cores it took more than 300
START_LIMIT_S = 600.0  # generous: brokers give way to others, and a death is noticed at once anyway
STOP_GRACE_S = 20.0


class PulsarDeployment:
    """Pulsar with its bookies and ZooKeeper; see `Deployment` for the verbs."""

    system = "pulsar"
    storing_daemon = "bookie"

    def __init__(self, hosts: Sequence[Host], store: SoftwareStore) -> None:
        self.version = store.version(self.system)
        self._store = store
        self._layout = places.layout(hosts)
        self._software = ""  # relative to a host's root; known once installed
        self._plan: Plan | None = None
        self._intended: dict[str, dict[str, str]] = {}
        self._ledgers: dict[str, list[str]] = {}  # topic -> its partitions' ledgers, as they were when all were open
        self._admin = Admin(self._layout)

    def install(self) -> None:
        self._software = self._store.deploy(self.system, self._layout.hosts)

    def intended_settings(self, plan: Plan) -> Settings:
        return self._render(plan)[1]

    def configure(self, plan: Plan) -> Settings:
        rendered, intended = self._render(plan)
        on_all(
            "pulsar: writing configuration",
            self._layout.hosts,
            lambda host: place(
                host, rendered[host.name], emptied=[process.log_path for process in self._layout.on(host)]
            ),
        )
        self._plan = plan
        self._intended = intended
        self._ledgers = {}
        return intended

    def _render(self, plan: Plan) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, str]]]:
        """Every host's files (path -> content), and the settings in them."""
        level = level_settings(plan.durability)
        require_hosts(self.system, plan, len(self._layout.bookies))
        rendered: dict[str, dict[str, str]] = {host.name: {} for host in self._layout.hosts}
        intended: dict[str, dict[str, str]] = {}
        for process in self._layout.processes:
            own = places.files(process, self._layout, plan)
            rendered[process.host.name] |= own
            intended |= places.settings_of(process, own)
        intended["namespace"] = (
            level.namespace(plan.replication_factor)
            | {"numBundles": places.bundles(plan)}
            | overrides_for(plan, "namespace")
        )
        # the ledgers that the topic really writes to
        intended["ledgers"] = {
            "ensembleSize": intended["namespace"]["bookkeeperEnsemble"],
            "writeQuorumSize": intended["namespace"]["bookkeeperWriteQuorum"],
            "ackQuorumSize": intended["namespace"]["bookkeeperAckQuorum"],
        }
        intended["topic/layout"] = {"partitions": str(plan.topics[0].partitions)}
        check_overrides(plan, (intended.keys() | {places.DIRECTORIES}) - {"topic/layout", "ledgers"})
        return rendered, intended

    def primed(self) -> bool:
        kinds = [(each.host, each.daemon) for each in self._layout.processes]
        return class_data.there([*kinds, (self._layout.setup_host, places.SETUP)], self._software)

    def keep_priming(self) -> None:
        class_data.keep(self._layout.hosts, self._software)

    def start(self) -> None:
        if self._planned().prime:
            class_data.prepare(self._layout.hosts, self._software)
        zookeepers, stores = self._layout.zookeepers, self._layout.bookies + self._layout.brokers
        identities = {process.host.name: at for at, process in enumerate(zookeepers, start=1)}
        on_all(
            "pulsar: making data directories",
            self._layout.hosts,
            lambda host: self._make_directories(host, identities.get(host.name)),
        )
        self._start(zookeepers)
        quorum = [Probe("a ZooKeeper quorum", ("Mode:",), port=places.ZOOKEEPER_PORT, send="srvr")]
        # it connects as soon as there is a quorum, and until then loads its classes
        with ThreadPoolExecutor(max_workers=1) as pool:
            initialised = pool.submit(self._initialise_metadata)
            self._await("pulsar: starting ZooKeeper", zookeepers, quorum, limit_s=QUORUM_LIMIT_S)
            initialised.result()
        self._start(stores)
        addresses = [process.address for process in self._layout.brokers]
        registered = tuple(f"{address}:{places.WEB_PORT}" for address in addresses)
        stored = tuple(f"{address}:{places.BOOKIE_PORT}" for address in addresses)
        base = "http://{address}:" + str(places.WEB_PORT) + "/admin/v2"
        members = [
            Probe("all brokers to register", registered, url=f"{base}/brokers/{places.CLUSTER}"),
            Probe("all bookies to register", stored, url=f"{base}/bookies/all"),
        ]
        self._await("pulsar: starting bookies and brokers", stores, members, limit_s=START_LIMIT_S)
        self._admin.set_persistence(self._intended["namespace"])

    def create_topics(self) -> None:
        plan = self._planned()
        self._ledgers = self._admin.create_topics([plan.probe, *plan.topics])

    def effective_settings(self) -> Settings:
        topics = self._planned().topics
        with ThreadPoolExecutor(max_workers=2 + len(topics)) as pool:
            processes = pool.submit(read_processes, self._layout, self._intended, self._software + places.LIBS)
            namespace = pool.submit(self._admin.namespace)
            counts = pool.map(self._admin.partition_count, topics)
            ledgers = [self._ledgers.get(topic.name) or self._admin.internal_stats(topic) for topic in topics]
        effective = processes.result() | {"namespace": namespace.result()}
        effective["ledgers"] = joined(ledger_settings(stats) for of_topic in ledgers for stats in of_topic)
        effective["topic/layout"] = joined({"partitions": str(count)} for count in counts)
        return effective

    def endpoints(self) -> Endpoints:
        return Endpoints(self._layout.service_url, overrides_for(self._planned(), CLIENT))

    def messages_stored(self) -> int:
        # Messages, not entries: an entry is a batch. The counter is the owning broker's; nothing is unloaded during a trial.
        return sum(self._admin.messages_in(topic) for topic in self._planned().topics)

    def leaders(self) -> Mapping[str, int]:
        addresses = self._admin.owners(self._planned().topics)
        return {process.host.name: addresses.count(process.address) for process in self._layout.brokers}

    def under_replicated(self) -> Sequence[str]:
        # With an ensemble of all bookies, one that takes no writes leaves every ledger a copy short.
        return [f"ledgers on {component}" for component in self._admin.lacking_bookies()]

    def daemons(self) -> Sequence[DaemonState]:
        expected = [(each.host, each.daemon) for each in self._layout.processes]
        return daemons.expected_states("pulsar: looking for daemons", expected)

    def stop(self) -> None:
        for processes in (self._layout.brokers, self._layout.bookies, self._layout.zookeepers):
            hosts = [process.host for process in processes]
            names = [processes[0].daemon]
            on_all(
                f"pulsar: stopping {names[0]}s",
                hosts,
                lambda host, names=names: daemons.stop(host, names, grace_s=STOP_GRACE_S),  # type: ignore[misc]
            )

    def collect_logs(self, target: Path) -> None:
        on_all(
            "pulsar: fetching logs",
            self._layout.hosts,
            lambda host: fetch_evidence(host, self.system, target / host.name),
        )

    def _planned(self) -> Plan:
        if self._plan is None or not self._software:
            raise DeploymentError("pulsar: install and configure come first.")
        return self._plan

    def _software_on(self, host: Host) -> str:
        return f"{host.record.root}/{self._software}"

    def _make_directories(self, host: Host, zookeeper_id: int | None) -> None:
        """Here, not in `configure`: a reset may come between and wipe the data directories."""
        plan, made = self._planned(), []
        if host.record.role != "metadata":
            made = [*places.journal_dirs(host, plan), *places.ledger_dirs(host, plan)]
        commands = [f"mkdir -p {quote(path)}" for path in made]
        if zookeeper_id is not None:
            data = quote(places.zookeeper_dir(host))
            commands.append(f"mkdir -p {data} && echo {zookeeper_id} > {data}/myid")
        host.run(" && ".join(commands))

    def _start(self, processes: Sequence[Process]) -> None:
        hosts = {process.host.name: process.host for process in processes}
        plan = self._planned()

        def start(host: Host) -> None:
            own = [process for process in processes if process.host.name == host.name]
            daemons.start(host, [_daemon(process, self._software_on(host), plan) for process in own])

        on_all("pulsar: starting", list(hosts.values()), start)

    def _await(self, action: str, processes: Sequence[Process], probes: Sequence[Probe], *, limit_s: float) -> None:
        hosts = {process.host.name: process.host for process in processes}
        at_host = {name: [_at(probe, host.record.address) for probe in probes] for name, host in hosts.items()}
        names = {name: [each.daemon for each in processes if each.host.name == name] for name in hosts}
        daemons.await_ready(action, at_host, names, list(hosts.values()), limit_s=limit_s)

    def _initialise_metadata(self) -> None:
        """Once per wipe: the marker lies with ZooKeeper's data and is wiped with them."""
        host = self._layout.setup_host
        zookeepers, broker = f"zk:{self._layout.zookeeper_addresses}", self._layout.brokers[0].address
        argv = places.setup_argv(
            host,
            self._software_on(host),
            *(
                "--cluster",
                places.CLUSTER,
                "--metadata-store",
                zookeepers,
                "--configuration-metadata-store",
                zookeepers,
            ),
            *("--zookeeper-session-timeout-ms", str(round(QUORUM_LIMIT_S * 1000))),
            *("--default-namespace-bundle-number", self._intended["namespace"]["numBundles"]),
            *("--web-service-url", f"http://{broker}:{places.WEB_PORT}"),
            *("--broker-service-url", f"pulsar://{broker}:{places.SERVICE_PORT}"),
            prime=self._planned().prime,
        )
        marker = quote(f"{places.zookeeper_dir(host)}/initialised")
        host.run(f"test -f {marker} || {{ {shell(argv)} && touch {marker}; }}", timeout_s=INIT_TIMEOUT_S)


def _daemon(process: Process, software: str, plan: Plan) -> Daemon:
    argv = places.argv(process, software, prime=plan.prime)
    tier, niceness = places.TIERS[process.daemon], plan.daemon_niceness
    return daemon(process.daemon, argv, process.log_path, tier=tier, niceness=niceness)


def _at(probe: Probe, address: str) -> Probe:
    """The probe for one host: each is asked about itself, at its own address."""
    return replace(probe, url=probe.url.replace("{address}", address), address=address)
