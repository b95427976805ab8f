"""The verbs that put Redpanda on hosts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from shlex import quote

from provisioning.errors import DeploymentError
from provisioning.hosts import daemons
from provisioning.hosts.daemons import Probe
from provisioning.hosts.host import Host, on_all
from systems.deployment import CLIENT, Endpoints, Placement, Plan, SoftwareStore
from systems.kafka.wire import QUICK_S, NewTopic, Partition, layout_of
from systems.processes import Process, await_ready, hosts_of, place, running
from systems.redpanda import layout
from systems.redpanda.admin import Admin
from systems.redpanda.config_text import flat, settings_of
from systems.redpanda.durability import level_settings
from systems.redpanda.readback import broker_settings, options, partitions_of
from systems.settings import Settings, joined

START_LIMIT_S = 300.0  # generous: brokers give way to others, and a death is noticed at once anyway


class RedpandaDeployment:
    """Redpanda brokers, one on each broker host; see `Deployment` for the verbs."""

    system = "redpanda"
    storing_daemon = layout.BROKER

    def __init__(self, hosts: Sequence[Host], store: SoftwareStore) -> None:
        self.version = store.version(self.system)
        self._store = store
        self.processes = layout.brokers(hosts)
        self._brokers = {broker.host.name: broker for broker in self.processes}
        self._hosts = hosts_of(self.processes)
        self._admin = Admin(self.processes)
        self._software = ""  # relative to a host's root; known once installed
        self._plan: Plan | None = None
        self._intended: Settings = {}
        self._complete: list[Partition] = []  # as they were when all were complete

    def install(self) -> None:
        self._software = self._store.deploy(self.system, self._hosts)

    def intended_settings(self, plan: Plan) -> Settings:
        return self._render(plan)[1]

    def configure(self, plan: Plan) -> Settings:
        files, intended = self._render(plan)
        place(self.processes, files)
        self._plan, self._intended, self._complete = plan, intended, []
        return intended

    def _render(self, plan: Plan) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, str]]]:
        """Every host's files (path -> content), and the settings in them."""
        level = level_settings(plan.durability)
        plan.require_brokers(self.system, len(self.processes))
        if plan.replication_factor % 2 == 0:
            raise DeploymentError(
                f"redpanda keeps topics in an odd number of copies; {plan.replication_factor} were asked for.",
                next_step="Set the campaign's replication_factor to 1, 3 or 5, or leave redpanda out.",
            )
        files, intended = dict[str, dict[str, str]](), dict[str, dict[str, str]]()
        bootstrap = layout.bootstrap(plan)
        for name, broker in self._brokers.items():
            text = layout.config(broker, self.processes, plan)
            files[name] = {broker.config_path: text, layout.bootstrap_path(broker): bootstrap}
            intended |= layout.intended(broker, text, plan)
        intended[layout.CLUSTER] = settings_of(bootstrap)
        intended["topic"] = level.topic | plan.overrides_for("topic")
        plan.check_overrides(intended.keys())
        self._refuse_development(intended, "asked for")
        intended[layout.BUILD] = {"version": self.version}
        intended["topic/layout"] = {
            "partitions": str(plan.topics[0].partitions),
            "replication.factor": str(plan.replication_factor),
        }
        return files, intended

    def primed(self) -> bool:
        return True

    def keep_priming(self) -> None:
        return None

    def start(self) -> None:
        on_all("redpanda: starting", self._hosts, lambda host: self._start(self._brokers[host.name]))
        await_ready("redpanda: starting", self.processes, _started, limit_s=START_LIMIT_S)
        self._admin.await_members(START_LIMIT_S)
        self._refuse_development(self._of_brokers(), "what the running brokers say")

    def create_topics(self) -> None:
        plan = self._planned()
        self._complete = self._admin.create(
            [NewTopic(topic, plan.replication_factor, self._intended["topic"]) for topic in (plan.probe, *plan.topics)]
        )

    def effective_settings(self) -> Settings:
        plan = self._planned()
        effective = self._of_brokers()
        self._refuse_development(effective, "what the running brokers say")
        known = self._admin.versions()
        effective[layout.BUILD] = joined({"version": known[broker.number]} for broker in self.processes)
        effective[layout.CLUSTER] = joined(
            flat(each) for each in self._admin.documents("cluster_config?include_defaults=true").values()
        )
        names = self._measured()
        effective["topic"] = joined(self._admin.settings(names).values())
        found = self._admin.wire.partitions(names)
        effective["topic/layout"] = joined(layout_of(topic, found) for topic in plan.topics)
        return effective

    def _of_brokers(self) -> dict[str, dict[str, str]]:
        """What each broker and its process say of themselves. Raises DeploymentError if one doesn't run any more."""
        pids = running(self.processes)
        said = self._admin.documents("node_config")

        def command_line(host: Host) -> str:
            return host.run(f"tr '\\0' '\\n' < /proc/{pids[host.name][layout.BROKER]}/cmdline").stdout

        started = on_all("redpanda: reading options", self._hosts, command_line)
        found = {}
        for name, broker in self._brokers.items():
            found[broker.component] = broker_settings(said[name])
            found[layout.options_component(broker)] = options(started[name])
        return found

    def _refuse_development(self, settings: Mapping[str, Mapping[str, str]], whose: str) -> None:
        if found := layout.development(settings):
            raise DeploymentError(
                f"redpanda: its development mode is refused, in which nothing need be on disk ({whose}): {', '.join(found)}",
                next_step="Remove these settings from the campaign; if it doesn't have them, look at the host's own files.",
            )

    def endpoints(self) -> Endpoints:
        plan = self._planned()
        promised = level_settings(plan.durability).client
        return Endpoints(layout.service_url(self.processes), {**plan.overrides_for(CLIENT), **promised})

    def messages_stored(self) -> int:
        offsets, expected = (
            self._admin.wire.end_offsets(self._measured()),
            sum(each.partitions for each in self._planned().topics),
        )
        if len(offsets) != expected:
            raise DeploymentError(f"redpanda: got the end offsets of only {len(offsets)} of {expected} partitions")
        return sum(offsets.values())

    def leaders(self) -> Mapping[str, int]:
        names = self._measured()
        led = Counter(each.leader for each in self._complete if each.topic in names)
        return {name: led[broker.number] for name, broker in self._brokers.items()}

    def under_replicated(self) -> Sequence[str]:
        return partitions_of(self._measured(), self._admin.health())

    def placement(self, topic: int, partition: int) -> Placement:
        name = self._planned().topic_at(topic, partition).name
        at = {broker.number: broker for broker in self.processes}
        for each in self._admin.wire.partitions([name], answer_s=QUICK_S):
            if each.number == partition and each.leader in at:
                return Placement(
                    at[each.leader], tuple(at[number] for number in each.replicas if number != each.leader)
                )
        raise DeploymentError(f"redpanda: nobody leads {name}-{partition} now.")

    def coordinator(self) -> Process:
        """The leader of the controllers' own partition."""
        leader = self._admin.controller()
        for broker in self.processes:
            if broker.number == leader:
                return broker
        raise DeploymentError("redpanda: the controllers have no leader now.")

    def start_again(self, process: Process) -> None:
        """On the data that it had: with an empty disk it could not come back under its old node id (`CANNOT_FAULT`)."""
        self._start(process)
        await_ready("redpanda: starting again", [process], _started, limit_s=START_LIMIT_S)

    def data_of(self, process: Process) -> Sequence[str]:
        return (layout.data_directory(process),)

    def _measured(self) -> list[str]:
        """The plan's topics."""
        return [topic.name for topic in self._planned().topics]

    def _planned(self) -> Plan:
        if self._plan is None or not self._software:
            raise DeploymentError("redpanda: call install and configure first.")
        return self._plan

    def _start(self, broker: Process) -> None:
        # here, not in `configure`: a reset may come between and wipe the data directories
        broker.host.run(f"mkdir -p {quote(layout.data_directory(broker))}")
        software = f"{broker.host.record.root}/{self._software}"
        daemons.start(broker.host, [layout.daemon(broker, software, self._planned())])


def _started(broker: Process) -> Probe:
    # it says so when it is a member of the cluster and serves clients, not merely when it listens
    return Probe(f"{broker.component} to start", ("Successfully started Redpanda!",), path=broker.log_path)
