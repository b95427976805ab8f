"""The toy: a log server in Python, on the first broker host, with one copy of each message. How a system is added, in three files."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from provisioning.cache import Notice, sha256_of
from provisioning.errors import DeploymentError
from provisioning.hosts import daemons
from provisioning.hosts.daemons import Daemon, Probe
from provisioning.hosts.host import Host
from provisioning.software.software import entry_of
from systems.deployment import Endpoints, Placement, Plan, SoftwareStore, level_of
from systems.processes import Process, await_ready, hosts_for, on_each, place, running
from systems.settings import Settings
from systems.system import ProducerRate, System

HERE = Path(__file__).parent
PORT = 7070
# by level: whether a message is synced before it is acknowledged
LEVELS = {"1": True, "2": False}
ASK = "python3 -c " + shlex.quote(
    "import socket, sys; c = socket.create_connection((sys.argv[1], int(sys.argv[2])), 10); "
    "c.sendall(sys.argv[3].encode() + b'\\n'); print(c.makefile().read())"
)


class Server:
    """Its one file; see Software."""

    name, version = "toy", "1.0"

    @property
    def digest(self) -> str:
        return sha256_of(HERE / "server.py")

    def fetch(self, cache_dir: Path, *, notice: Notice) -> Path:
        notice("toy 1.0: copied")
        entry = entry_of(self, cache_dir)
        entry.mkdir(parents=True, exist_ok=True)
        shutil.copy(HERE / "server.py", entry)
        return entry


class ToyDeployment:
    """See Deployment."""

    system = "toy"
    storing_daemon = "log"

    def __init__(self, hosts: Sequence[Host], store: SoftwareStore) -> None:
        brokers, _ = hosts_for("toy", hosts)
        self.processes = on_each("toy", "log", [min(brokers, key=lambda host: host.name)], "log.json")
        [self._log] = self.processes
        self._host = self._log.host
        self._store, self.version = store, store.version("toy")
        self._software = ""
        self._plan: Plan | None = None

    def install(self) -> None:
        self._software = self._store.deploy("toy", [self._host])

    def intended_settings(self, plan: Plan) -> Settings:
        plan.require_brokers("toy", 1)
        sync = str(level_of("toy", LEVELS, plan.durability)).lower()
        asked = {"address": self._log.address, "port": str(PORT), "log": self._folder, "sync": sync}
        intended = {"log": asked | plan.overrides_for("log")}
        plan.check_overrides(intended.keys())
        return intended

    def configure(self, plan: Plan) -> Settings:
        intended = self.intended_settings(plan)
        config = {**intended["log"], "port": PORT, "sync": intended["log"]["sync"] == "true"}
        place(self.processes, {self._host.name: {self._log.config_path: json.dumps(config)}})
        self._plan = plan
        return intended

    def primed(self) -> bool:
        return True

    def keep_priming(self) -> None:
        return None

    def start(self) -> None:
        self._host.run(f"mkdir -p {shlex.quote(self._folder)}")
        server = f"{self._host.record.root}/{self._software}/server.py"
        daemons.start(self._host, [Daemon("log", ("python3", server, self._log.config_path), self._log.log_path)])
        ready = Probe("the log to open", ("ready",), path=self._log.log_path)
        await_ready("toy: starting", self.processes, lambda _process: ready, limit_s=60.0)

    def create_topics(self) -> None:
        return None

    def effective_settings(self) -> Settings:
        found = json.loads(self._asked("settings"))
        return {
            "log": {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in found.items()}
        }

    def endpoints(self) -> Endpoints:
        return Endpoints(f"{self._log.address}:{PORT}", {})

    def messages_stored(self) -> int:
        return sum(int(self._asked(f"count {topic.name}")) for topic in self._planned().topics)

    def leaders(self) -> Mapping[str, int]:
        return {self._host.name: 1}

    def under_replicated(self) -> Sequence[str]:
        return ()

    def placement(self, topic: int, partition: int) -> Placement:
        self._planned().topic_at(topic, partition)
        return Placement(self.coordinator(), ())

    def coordinator(self) -> Process:
        running(self.processes)
        return self._log

    def start_again(self, process: Process) -> None:
        del process  # there is one
        self.start()

    def data_of(self, process: Process) -> Sequence[str]:
        del process
        return (self._folder,)

    def _planned(self) -> Plan:
        if self._plan is None:
            raise DeploymentError("toy: configure comes first.")
        return self._plan

    @property
    def _folder(self) -> str:
        return f"{self._host.record.data_dirs[0].path}/toy"

    def _asked(self, what: str) -> str:
        return self._host.run(f"{ASK} {self._log.address} {PORT} {shlex.quote(what)}").stdout


TOY = System(
    deployment=ToyDeployment,
    client_module="tests.toy.client",
    durability=lambda _copies: {name: {"log": {"sync": str(sync).lower()}} for name, sync in LEVELS.items()},
    cannot=dict.fromkeys(("3", "4", "none"), "the toy has one copy of everything"),
    software=(Server(),),
    ports=(PORT,),
    start_s=2,
    producer_rate=ProducerRate(1_000, "nobody has measured it"),
)
