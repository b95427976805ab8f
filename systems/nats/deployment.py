"""The verbs that put NATS on hosts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from shlex import quote

from provisioning.errors import DeploymentError
from provisioning.hosts import daemons
from provisioning.hosts.daemons import Probe
from provisioning.hosts.host import Host, on_all
from systems.deployment import CLIENT, Endpoints, Placement, Plan, SoftwareStore
from systems.nats import layout
from systems.nats.admin import Admin, lacks
from systems.nats.durability import level_settings
from systems.nats.readback import Stream, holders, runtime_settings, server_settings, stream_settings
from systems.processes import Process, await_ready, hosts_of, place, running
from systems.release import facts_of
from systems.settings import Settings, joined

START_LIMIT_S = 300.0  # generous: servers give way to others, and a death is noticed at once anyway
# What the server makes of a stream for which only its name, subjects and copies are given, written down so that it is read back.
STREAM: Mapping[str, str] = {
    "storage": "file",
    "retention": "limits",
    "discard": "old",
    "compression": "none",
    "max_bytes": "-1",
    "duplicate_window": "120000000000",
}


class NatsDeployment:
    """NATS servers with JetStream, one on each broker host; see `Deployment` for the verbs."""

    system = "nats"
    storing_daemon = layout.SERVER

    def __init__(self, hosts: Sequence[Host], store: SoftwareStore) -> None:
        self.version = store.version(self.system)
        self._store = store
        self.processes = layout.servers(hosts)
        self._servers = {server.host.name: server for server in self.processes}
        self._hosts = hosts_of(self.processes)
        self._admin = Admin(self.processes)
        self._software = ""  # relative to a host's root; known once installed
        self._plan: Plan | None = None
        self._files: dict[str, str] = {}  # host name -> its server's rendered file
        self._intended: Settings = {}
        self._complete: dict[str, Stream] = {}  # the streams as they were when all were complete

    def install(self) -> None:
        self._software = self._store.deploy(self.system, self._hosts)

    def intended_settings(self, plan: Plan) -> Settings:
        return self._render(plan)[1]

    def configure(self, plan: Plan) -> Settings:
        files, intended = self._render(plan)
        place(self.processes, {name: {self._servers[name].config_path: text} for name, text in files.items()})
        self._plan, self._files, self._intended, self._complete = plan, files, intended, {}
        return intended

    def _render(self, plan: Plan) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
        """Every host's file, and the settings."""
        level = level_settings(plan.durability)
        plan.require_brokers(self.system, len(self.processes))
        files, intended = {}, dict[str, dict[str, str]]()
        lacks = facts_of(self.system, self.version).without
        for name, server in self._servers.items():
            files[name] = layout.config(server, self.processes, plan, level, lacks)
            intended |= layout.intended(server, files[name], plan)
        intended["topic"] = {**STREAM, **plan.overrides_for("topic")}
        plan.check_overrides(intended.keys())
        intended["topic/layout"] = {
            "partitions": str(plan.topics[0].partitions),
            "replicas": str(plan.replication_factor),
        }
        return files, intended

    def primed(self) -> bool:
        return True

    def keep_priming(self) -> None:
        return None

    def start(self) -> None:
        on_all("nats: starting", self._hosts, lambda host: self._start(self._servers[host.name]))
        await_ready("nats: starting", self.processes, _healthy, limit_s=START_LIMIT_S)
        if len(self.processes) > 1:
            self._admin.await_members(START_LIMIT_S)

    def create_topics(self) -> None:
        plan = self._planned()
        configs = {
            name: {
                "name": name,
                "subjects": layout.subjects(topic, partition),
                "num_replicas": plan.replication_factor,
                **{key: api_value(value) for key, value in self._intended["topic"].items()},
            }
            for topic in (plan.probe, *plan.topics)
            for partition, name in enumerate(layout.stream_names(topic))
        }
        self._complete = self._admin.create_streams(configs, plan.replication_factor)

    def effective_settings(self) -> Settings:
        plan = self._planned()
        running(self.processes)
        told = self._admin.accounts("varz")
        effective = {}
        for name, server in self._servers.items():
            effective[server.component] = server_settings(told[name], self._files[name])
            effective[layout.runtime_component(server)] = runtime_settings(told[name])
        streams = self._admin.streams()
        found = [[streams[name] for name in layout.stream_names(topic) if name in streams] for topic in plan.topics]
        keys = self._intended["topic"]
        effective["topic"] = joined(stream_settings(each.config, keys) for of_topic in found for each in of_topic)
        effective["topic/layout"] = joined(
            {"partitions": str(len(of_topic)), "replicas": ",".join(sorted({str(each.copies) for each in of_topic}))}
            for of_topic in found
        )
        return effective

    def endpoints(self) -> Endpoints:
        plan = self._planned()
        promised = level_settings(plan.durability).client
        return Endpoints(layout.service_url(self.processes), {**plan.overrides_for(CLIENT), **promised})

    def messages_stored(self) -> int:
        streams, wanted = self._admin.streams(), self._measured()
        if lacking := [name for name in wanted if name not in streams]:
            raise DeploymentError(f"nats: streams without a leader, which counts their messages: {', '.join(lacking)}")
        return sum(streams[name].messages for name in wanted)

    def leaders(self) -> Mapping[str, int]:
        led = Counter(self._complete[name].leader for name in self._measured() if name in self._complete)
        return {name: led[name] for name in self._servers}

    def under_replicated(self) -> Sequence[str]:
        plan, streams = self._planned(), self._admin.streams()
        return [
            name for name in self._measured() if name not in streams or lacks(streams[name], plan.replication_factor)
        ]

    def placement(self, topic: int, partition: int) -> Placement:
        name = layout.stream_names(self._planned().topic_at(topic, partition))[partition]
        leader, others = holders(self._admin.stream_info(name), self.processes[0].host.name)
        if leader not in self._servers:
            raise DeploymentError(f"nats: nobody leads {name} now.")
        return Placement(self._servers[leader], tuple(self._servers[each] for each in others))

    def coordinator(self) -> Process:
        """JetStream's meta leader."""
        return self._servers[self._admin.meta_leader()]

    def start_again(self, process: Process) -> None:
        """On an empty disk it is taken for the server that it was, by its name, and gets everything from the streams' leaders.

        It is ready when it has caught up with the cluster's metadata, and with all streams that it has a copy of.
        """
        self._start(process)
        await_ready("nats: starting again", [process], _healthy, limit_s=START_LIMIT_S)

    def data_of(self, process: Process) -> Sequence[str]:
        return (layout.store_dir(process),)

    def _measured(self) -> list[str]:
        """The streams of the plan's topics."""
        return [name for topic in self._planned().topics for name in layout.stream_names(topic)]

    def _planned(self) -> Plan:
        if self._plan is None or not self._software:
            raise DeploymentError("nats: call install and configure first.")
        return self._plan

    def _start(self, server: Process) -> None:
        # here, not in `configure`: a reset may come between and wipe the data directories
        server.host.run(f"mkdir -p {quote(layout.store_dir(server))}")
        software = f"{server.host.record.root}/{self._software}"
        daemons.start(server.host, [layout.daemon(server, software, self._planned())])


def api_value(value: str) -> object:
    """A setting of a stream as its configuration has it: a number, true or false, or a string."""
    try:
        return json.loads(value)
    except ValueError:
        return value


def _healthy(server: Process) -> Probe:
    # it says so when JetStream is up and has caught up with the cluster's metadata, which takes a leader
    return Probe(f"{server.component} to join", ('"status":"ok"',), url=layout.monitor_url(server, "healthz"))
