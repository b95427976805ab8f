"""The verbs that put Valkey on hosts. Every question to a server is asked on its own host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from provisioning.errors import DeploymentError
from provisioning.hosts import daemons
from provisioning.hosts.host import Host, on_all
from systems.deployment import CLIENT, Endpoints, Placement, Plan, SoftwareStore, Topic
from systems.processes import Process, await_ready, hosts_of, place, running
from systems.settings import Settings, joined
from systems.valkey import layout
from systems.valkey.config_text import settings
from systems.valkey.durability import level_settings
from systems.valkey.readback import info, online, read_servers
from systems.valkey.server import Command, ask_server
from systems.valkey.topic_client import PARTITIONS, stream_of

START_LIMIT_S = 300.0  # generous: servers give way to others, and a death is noticed at once anyway
COPIED_LIMIT_MS = 30_000
SOON_S = 3.0  # within which a primary that isn't frozen says that it is one
_MAKER = "samebox"  # a consumer group that lives just long enough to make an empty stream


class ValkeyDeployment:
    """Valkey: a primary with every stream, and its replicas; see `Deployment` for the verbs."""

    system = "valkey"
    storing_daemon = layout.DAEMON

    def __init__(self, hosts: Sequence[Host], store: SoftwareStore) -> None:
        self.version = store.version(self.system)
        self._store = store
        self.processes = layout.servers(hosts)
        self._hosts = hosts_of(self.processes)
        self._software = ""  # relative to a host's root; known once installed
        self._plan: Plan | None = None

    def install(self) -> None:
        self._software = self._store.deploy(self.system, self._hosts)

    def intended_settings(self, plan: Plan) -> Settings:
        return self._render(plan)[1]

    def configure(self, plan: Plan) -> Settings:
        rendered, intended = self._render(plan)
        place(self.processes, rendered)
        self._plan = plan
        return intended

    def _render(self, plan: Plan) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, str]]]:
        """Every host's files (path -> content), and the settings in them."""
        level_settings(plan.durability)
        plan.require_brokers(self.system, len(self.processes))
        texts = [(each, layout.config(each, self.processes, plan)) for each in self.processes]
        intended = {each.component: settings(text) for each, text in texts}
        plan.check_overrides(intended.keys())
        for each in self.processes:
            intended[f"build/{each.host.name}"] = {
                # the packager counts its own builds of a version behind it
                "version": self.version.partition(".post")[0],
                "mem_allocator": layout.ALLOCATOR,
            }
            intended[f"replication/{each.host.name}"] = self._place(each, plan)
        intended["topic/layout"] = {"partitions": str(plan.topics[0].partitions)}
        return {each.host.name: {each.config_path: text} for each, text in texts}, intended

    def _place(self, process: Process, plan: Plan) -> dict[str, str]:
        """What a server should say of its place among the others, in its own words."""
        replicas = layout.replicas_of(self.processes, plan)
        if process in replicas:
            return {"role": "slave", "master_host": self.processes[0].address, "master_link_status": "up"}
        followers = len(replicas) if process is self.processes[0] else 0
        return {"role": "master", "connected_slaves": str(followers)}

    def primed(self) -> bool:
        return True

    def keep_priming(self) -> None:
        """There is nothing that makes a start quicker."""

    def start(self) -> None:
        primary, *others = self.processes
        # a replica that finds no primary waits for a second before it looks again
        for some in ([primary], others):
            on_all("valkey: starting", hosts_of(some), lambda host: self._start(host))
            await_ready("valkey: starting", some, self._listening, limit_s=START_LIMIT_S)
        plan = self._planned()
        await_ready(
            "valkey: replicating",
            self.processes,
            lambda each: layout.sign(each, self.processes, plan),
            limit_s=START_LIMIT_S,
        )

    def create_topics(self) -> None:
        plan = self._planned()
        commands: list[Command] = []
        for topic in (plan.probe, *plan.topics):
            commands.append(("HSET", topic.name, PARTITIONS, str(topic.partitions)))
            for stream in _streams(topic):
                commands.append(("XGROUP", "CREATE", stream, _MAKER, "$", "MKSTREAM"))
                commands.append(("XGROUP", "DESTROY", stream, _MAKER))
        replicas = len(layout.replicas_of(self.processes, plan))
        if replicas:
            commands.append(("WAIT", str(replicas), str(COPIED_LIMIT_MS)))
        copied = ask_server(self.processes[0], commands)[-1]
        if replicas and copied != replicas:
            raise DeploymentError(
                f"valkey: only {copied!r} of {replicas} replicas had the topics within {COPIED_LIMIT_MS / 1000:g} s."
            )

    def effective_settings(self) -> Settings:
        plan = self._planned()
        running(self.processes)
        effective = read_servers(self.processes)
        effective["topic/layout"] = joined({"partitions": str(len(self._found(topic)))} for topic in plan.topics)
        return effective

    def endpoints(self) -> Endpoints:
        plan = self._planned()
        promised = level_settings(plan.durability).client(plan.replication_factor)
        return Endpoints(layout.service_url(self.processes), {**plan.overrides_for(CLIENT), **promised})

    def messages_stored(self) -> int:
        # Nothing is ever taken out of a stream in a trial, so its length is what it has accepted; XINFO would send messages along.
        return sum(sum(self._found(topic)) for topic in self._planned().topics)

    def leaders(self) -> Mapping[str, int]:
        primary = self.processes[0]
        led = sum(len(self._found(topic)) for topic in self._planned().topics)
        return {each.host.name: led if each is primary else 0 for each in self.processes}

    def under_replicated(self) -> Sequence[str]:
        # All streams are on one primary: a replica that isn't in step lacks all of them.
        [reply] = ask_server(self.processes[0], [("INFO", "replication")])
        there = online(reply)
        expected = layout.replicas_of(self.processes, self._planned())
        return [f"streams on {each.component}" for each in expected if each.address not in there]

    def placement(self, topic: int, partition: int) -> Placement:
        """Every stream is on the primary. Nobody takes its place while it is down."""
        plan = self._planned()
        plan.topic_at(topic, partition)
        return Placement(self.coordinator(), layout.replicas_of(self.processes, plan))

    def coordinator(self) -> Process:
        """The primary: nobody else decides anything."""
        primary = self.processes[0]
        [reply] = ask_server(primary, [("INFO", "replication")], timeout_s=SOON_S)
        if (role := info(reply).get("role")) != "master":
            raise DeploymentError(
                f"valkey: {primary.component} is no primary any more; it says that its role is {role!r}."
            )
        return primary

    def start_again(self, process: Process) -> None:
        """It reads its own file, and a replica then gets all that it lacks, which is everything if its disk is empty.

        A primary that comes back without its data is empty, and so are its replicas as soon as they have found it
        (valkey.io/topics/replication, "Safety of replication when primary has persistence turned off"): see `CANNOT_FAULT`.
        """
        self._start(process.host)
        for sign in (self._listening, lambda each: layout.sign(each, self.processes, self._planned(), alone=True)):
            await_ready("valkey: starting again", [process], sign, limit_s=START_LIMIT_S)

    def data_of(self, process: Process) -> Sequence[str]:
        return (layout.data_dir(process),)

    def _found(self, topic: Topic) -> list[int]:
        """How many messages are in each stream of a topic that the primary has. Raises DeploymentError."""
        streams = list(_streams(topic))
        asked = [question for stream in streams for question in (("EXISTS", stream), ("XLEN", stream))]
        replies = ask_server(self.processes[0], asked)
        return [
            length
            for there, length in zip(replies[::2], replies[1::2], strict=True)
            if there == 1 and isinstance(length, int)
        ]

    def _planned(self) -> Plan:
        if self._plan is None or not self._software:
            raise DeploymentError("valkey: call install and configure first.")
        return self._plan

    def _start(self, host: Host) -> None:
        """The folder is made here, not in `configure`: a reset may come between and wipe the data directories."""
        [process] = (each for each in self.processes if each.host.name == host.name)
        host.run(layout.make_folder(process))
        daemons.start(host, [layout.daemon(process, f"{host.record.root}/{self._software}", self._planned())])

    def _listening(self, process: Process) -> daemons.Probe:
        return daemons.Probe(
            f"{process.component} to answer",
            ("+PONG",),
            address=process.address,
            port=layout.PORT,
            send="PING\r\nQUIT\r\n",
        )


def _streams(topic: Topic) -> list[str]:
    return [stream_of(topic.name, partition) for partition in range(topic.partitions)]
