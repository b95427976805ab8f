"""What running servers say of themselves (/varz) and of their streams (/jsz), as settings and as streams."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from systems.nats.config_text import digest, duration, settings_of
from systems.nats.layout import DIGEST, MEMORY_LIMIT

Document = Mapping[str, Any]
_STORE = "/jetstream"  # the folder that a server makes in its store_dir
# What a server shows of each setting: its path -> how to read it from /varz. A path that isn't there isn't shown.
_SHOWN: Mapping[str, Callable[[Document], object]] = {
    "server_name": lambda varz: varz["server_name"],
    "listen": lambda varz: f"{varz['host']}:{varz['port']}",
    "http": lambda varz: f"{varz['http_host']}:{varz['http_port']}",
    "max_payload": lambda varz: varz["max_payload"],
    "max_pending": lambda varz: varz["max_pending"],
    "max_connections": lambda varz: varz["max_connections"],
    "max_control_line": lambda varz: varz["max_control_line"],
    "write_deadline": lambda varz: duration(varz["write_deadline"]),
    "ping_interval": lambda varz: duration(varz["ping_interval"]),
    "ping_max": lambda varz: varz["ping_max"],
    "jetstream.store_dir": lambda varz: varz["jetstream"]["config"]["store_dir"].removesuffix(_STORE),
    "jetstream.sync_interval": lambda varz: sync_interval(varz["jetstream"]["config"]),
    "jetstream.max_memory_store": lambda varz: varz["jetstream"]["config"]["max_memory"],
    "jetstream.max_file_store": lambda varz: varz["jetstream"]["config"]["max_storage"],
    "jetstream.strict": lambda varz: varz["jetstream"]["config"].get("strict", False),
    "cluster.name": lambda varz: varz["cluster"]["name"],
    "cluster.listen": lambda varz: f"{varz['cluster']['addr']}:{varz['cluster']['cluster_port']}",
    "cluster.pool_size": lambda varz: varz["cluster"]["pool_size"],
}


@dataclass(frozen=True)
class Stream:
    """A stream as its leader sees it. `lagging`: the replicas that aren't caught up. `copies` counts the leader, too."""

    name: str
    leader: str
    copies: int
    lagging: tuple[str, ...]
    messages: int
    config: Document


def sync_interval(jetstream: Document) -> str:
    """When a server syncs: "always", or an interval."""
    return "always" if jetstream.get("sync_always") else duration(jetstream["sync_interval"])


def server_settings(varz: Document, file: str) -> dict[str, str]:
    """The settings that a server shows, the digest of all that it has read, and what it has read and doesn't show.

    The latter are those of `file`, and only if the digest is that of this very file: a server refuses keys that it doesn't know.
    """
    found = {DIGEST: str(varz.get(DIGEST))}
    for path, read in _SHOWN.items():
        try:
            value = read(varz)
        except KeyError:
            continue
        found[path] = str(value).lower() if isinstance(value, bool) else str(value)
    if found[DIGEST] == digest(file):
        found = settings_of(file) | found
    return found


def runtime_settings(varz: Document) -> dict[str, str]:
    """The settings of a server's Go runtime; a limit that isn't set isn't shown."""
    return {MEMORY_LIMIT: str(varz.get("gomemlimit", "off"))}


def streams_of(told: Mapping[str, Document]) -> dict[str, Stream]:
    """Every stream that has a leader, by name, from what each server (name -> /jsz?accounts=1&streams=1&config=1) tells of its own."""
    return {
        stream.name: stream
        for server, jsz in told.items()
        for account in jsz.get("account_details") or ()
        for detail in account.get("stream_detail") or ()
        for stream in _led_by(server, detail)
    }


def _led_by(server: str, detail: Document) -> Iterable[Stream]:
    # a server alone has no cluster, and is every stream's leader
    cluster = detail.get("cluster") or {"leader": server}
    if cluster.get("leader") == server:
        replicas = cluster.get("replicas") or ()
        lagging = tuple(each["name"] for each in replicas if not each["current"] or each.get("offline"))
        messages = int(detail["state"]["messages"])
        yield Stream(detail["name"], server, 1 + len(replicas), lagging, messages, detail["config"])


def holders(info: Document, asked: str) -> tuple[str, tuple[str, ...]]:
    """A stream's leader, and the servers that have its other copies: from what $JS.API.STREAM.INFO says ("" = it has no leader)."""
    # a server alone has no cluster, and is every stream's leader
    cluster = info.get("cluster") or {"leader": asked}
    return cluster.get("leader", ""), tuple(each["name"] for each in cluster.get("replicas") or ())


def meta_leader(told: Mapping[str, Document], servers: int) -> str | None:
    """The leader of the cluster's metadata: whom more than half of all its servers name. None = nobody.

    `told`: server -> /jsz, of those that answer. One that lost the others may take itself for the leader for a while.
    """
    if servers == 1:
        return next(iter(told))
    named = Counter((jsz.get("meta_cluster") or {}).get("leader") for jsz in told.values())
    return next((name for name, voices in named.items() if name and 2 * voices > servers), None)


def stream_settings(config: Document, keys: Iterable[str]) -> dict[str, str]:
    """Of a stream's configuration the values of these keys, as they are asked for."""
    return {key: str(config[key]).lower() for key in keys if key in config}


def missing_members(told: Mapping[str, Document]) -> list[str]:
    """Servers that their cluster doesn't count as members that have caught up, as its leader sees them; all if there is none.

    `told`: server -> /jsz.
    """
    for server, jsz in told.items():
        cluster = jsz.get("meta_cluster") or {}
        if cluster.get("leader") == server:
            known = {
                each["name"] for each in cluster.get("replicas") or () if each["current"] and not each.get("offline")
            }
            return sorted(told.keys() - known - {server})
    return sorted(told)
