"""What is found of brokers and hosts just before a load and just after it. It changes nothing and judges nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from provisioning import facts
from provisioning.clocks import ClockBound, clock_bounds
from provisioning.deployment import DaemonState, Deployment
from provisioning.errors import DeploymentError, HostError, HostsFailed
from provisioning.host import Host
from provisioning.settings import Settings, drift


@dataclass(frozen=True)
class Before:
    """What was found before the load; `settings` as trial.json has them, `boot_ids` by host name."""

    settings: Mapping[str, Any]
    daemons: Sequence[DaemonState]
    boot_ids: Mapping[str, str]


NOTHING_FOUND = Before({"intended": {}, "effective": {}, "drift": [], "client": {}}, (), {})


def look_before(deployment: Deployment, intended: Settings, hosts: Sequence[Host]) -> Before:
    """Asks running processes for their settings and what they are. Raises DeploymentError, HostsFailed."""
    started, boot_ids = deployment.daemons(), facts.boot_ids(hosts)
    effective = deployment.effective_settings()
    settings = {
        "intended": intended,
        "effective": effective,
        "drift": [dataclasses.asdict(each) for each in drift(intended, effective)],
        "client": dict(deployment.endpoints().client_settings),
    }
    return Before(settings, started, boot_ids)


def look_after(
    deployment: Deployment,
    before: Before,
    clocks_before: Mapping[str, ClockBound],
    hosts: Sequence[Host],
    *,
    ask_system: bool,
) -> dict[str, Any]:
    """What became of it, as observations of trial.json; without `ask_system` the system's own counters are null.

    Raises HostsFailed.
    """
    reads: dict[str, Callable[[], Any]] = {
        "messages_stored": deployment.messages_stored,
        "under_replicated": lambda: list(deployment.under_replicated()),
    }
    with ThreadPoolExecutor() as pool:
        asked = {name: pool.submit(or_none, read) for name, read in reads.items()} if ask_system else {}
        ended = {(state.host, state.daemon): state for state in deployment.daemons()}
        boot_ids = {"before": before.boot_ids, "after": facts.boot_ids(hosts)}
    counted = {name: asked[name].result() if name in asked else None for name in reads}
    clocks = clock_bounds(hosts)
    return counted | {
        "boot_ids": boot_ids,
        "daemons": [
            {
                "host": state.host,
                "daemon": state.daemon,
                "pid_at_start": state.pid,
                "pid_at_end": ended[state.host, state.daemon].pid,
                "rss_peak_bytes": ended[state.host, state.daemon].rss_peak_bytes,
                "out_of_memory": ended[state.host, state.daemon].out_of_memory,
            }
            for state in before.daemons
        ],
        "clocks": [
            {"host": host, "bound_before_ns": bound.bound_ns, "bound_after_ns": clocks[host].bound_ns}
            for host, bound in clocks_before.items()
        ],
    }


def or_none(read: Callable[[], Any]) -> Any:
    """A counter that a broken system can't give any more is null, which no check takes for a pass."""
    try:
        return read()
    except (DeploymentError, HostError, HostsFailed):
        return None
