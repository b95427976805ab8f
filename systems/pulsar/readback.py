"""The effective settings of Pulsar's running processes, from the processes and not from their files.

A bookie shows every key of its file, known to it or not, and ZooKeeper turns every unknown key into a system property. So a key counts
as effective only if the classes on their class path have it as a string: a misspelt key is then found as drift. What this can't see is
a key that the code knows by name and ignores.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from provisioning.hosts.agents import HttpRequest, http
from provisioning.hosts.host import Host, on_all
from systems.jvm.readback import look
from systems.processes import Process, hosts_of, running
from systems.pulsar.admin import bodies
from systems.pulsar.layout import BOOKIE_HTTP_PORT, WEB_PORT, ZOOKEEPER_PORT, Layout

# Where the keys of a bookie's and of ZooKeeper's configuration are read, as jar names.
JARS = ("bookkeeper-*.jar", "*http-server-*.jar", "prometheus-metrics-provider-*.jar", "zookeeper-*.jar")
_OPTIONAL = re.compile(r"Optional\[(.*)\]")
_LIST = re.compile(r"\[(.*)\]")
_WHOLE = re.compile(r"(-?\d+)\.0")
_SERVER = re.compile(r"^(server\.\d+)=([^;\s]+?)(?::participant)?(?:;.*)?$", re.M)
_NO_SETTING = ("server.", "dataDirSize=", "dataLogSize=")
_ZOOKEEPER_PROPERTY = "zookeeper."
_VERSION_DIR = "/version-2"
_MODE = re.compile(r"^Mode: (\w+)$", re.M)
LEADS = ("leader", "standalone")


def normal(printed: str) -> str:
    """A value as its file would write it: Optional[6650] -> 6650, [a, b] -> a,b, -1.0 -> -1."""
    inner = _OPTIONAL.fullmatch(printed)
    value = inner[1] if inner else printed
    entries = _LIST.fullmatch(value)
    if entries:
        value = ",".join(part.strip() for part in entries[1].split(","))
    whole = _WHOLE.fullmatch(value)
    return whole[1] if whole else value


def broker_settings(body: str) -> dict[str, str]:
    """`/admin/v2/brokers/configuration/runtime`: every key that the broker knows, with the value it runs with."""
    return {key: normal(str(value)) for key, value in json.loads(body).items()}


def bookie_settings(body: str, known: frozenset[str]) -> dict[str, str]:
    """`/api/v1/config/server_config`: the keys of the bookie's file, less those that its classes don't know."""
    return {key: normal(str(value)) for key, value in json.loads(body).items() if key in known}


def zookeeper_settings(conf: str, system_properties: Mapping[str, str], known: frozenset[str]) -> dict[str, str]:
    """The `conf` command without the sizes that it measures, and the system properties that ZooKeeper's classes know."""
    settings = dict(
        line.split("=", 1) for line in conf.splitlines() if "=" in line and not line.startswith(_NO_SETTING)
    )
    settings |= dict(_SERVER.findall(conf))
    for key in ("dataDir", "dataLogDir"):
        settings[key] = settings.get(key, "").removesuffix(_VERSION_DIR)
    properties = {
        key: value for key, value in system_properties.items() if key.startswith(_ZOOKEEPER_PROPERTY) and key in known
    }
    return settings | {key.removeprefix(_ZOOKEEPER_PROPERTY): value for key, value in properties.items()}


def zookeeper_mode(srvr: str) -> str:
    """The `srvr` command: leader, follower or standalone; "" while it is none of them."""
    found = _MODE.search(srvr)
    return found[1] if found else ""


def zookeeper_modes(zookeepers: Sequence[Process]) -> Mapping[str, str]:
    """Host -> the mode of its ZooKeeper server, of those that answer."""
    servers = {each.host.name: each for each in zookeepers}

    def mode(host: Host) -> str:
        return zookeeper_mode(look(host, {}, say=[(servers[host.name].address, ZOOKEEPER_PORT, "srvr")]).said[0])

    unanswered: dict[str, BaseException] = {}
    return on_all("pulsar: asking ZooKeeper", hosts_of(zookeepers), mode, failures=unanswered)


def ledger_settings(internal_stats: str) -> dict[str, str]:
    """Ensemble and quorums of the ledger that a partition writes to, from its metadata."""
    metadata = str(json.loads(internal_stats)["ledgers"][-1]["metadata"])
    return dict(re.findall(r"(ensembleSize|writeQuorumSize|ackQuorumSize)=(\d+)", metadata))


def read_processes(
    everything: Layout, intended: Mapping[str, Mapping[str, str]], libs: str
) -> dict[str, dict[str, str]]:
    """Every process: its own settings and its JVM's flags. `intended` only says which keys to look for in the classes."""
    pids = running(everything.processes)
    read = on_all(
        "reading settings back",
        hosts_of(everything.processes),
        lambda host: _read_host(host, everything, pids[host.name], intended, f"{host.record.root}/{libs}"),
    )
    return {component: settings for of_host in read.values() for component, settings in of_host.items()}


def _read_host(
    host: Host, everything: Layout, pids: Mapping[str, int], intended: Mapping[str, Mapping[str, str]], libs: str
) -> dict[str, dict[str, str]]:
    processes = {process.daemon: process for process in everything.on(host)}
    zookeeper, broker = processes.get("zookeeper"), processes.get("broker")
    keys = {key for process in processes.values() for key in intended.get(process.component, {})}
    evidence = look(
        host,
        pids,
        properties_of=["zookeeper"] if zookeeper else (),
        folder=libs,
        jars=JARS,
        names=keys | {_ZOOKEEPER_PROPERTY + key for key in keys},
        say=[(zookeeper.address, ZOOKEEPER_PORT, "conf")] if zookeeper else (),
    )
    effective = {f"jvm/{each.component}": evidence.flags[each.daemon] for each in processes.values()}
    if zookeeper:
        settings = zookeeper_settings(evidence.said[0], evidence.properties["zookeeper"], evidence.constants)
        # no command tells the address that it binds: the process' own listening socket does
        ending = f":{settings.get('clientPort')}"
        bound = [address for address in evidence.listeners["zookeeper"] if address.endswith(ending)]
        settings["clientPortAddress"] = ",".join(address.removesuffix(ending) for address in bound)
        effective[zookeeper.component] = settings
    if broker:
        urls = [
            f"http://{broker.address}:{WEB_PORT}/admin/v2/brokers/configuration/runtime",
            f"http://{broker.address}:{BOOKIE_HTTP_PORT}/api/v1/config/server_config",
        ]
        answers = http(host, [HttpRequest("GET", url) for url in urls], parallel=2)
        of_broker, of_bookie = bodies([f"{url} on {host.name}" for url in urls], answers)
        effective[broker.component] = broker_settings(of_broker)
        effective[processes["bookie"].component] = bookie_settings(of_bookie, evidence.constants)
    return effective
