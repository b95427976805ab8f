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


NOTHING_COUNTED = {"messages_stored": None, "under_replicated": None}
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


def count_stored(deployment: Deployment) -> dict[str, Any]:
    """The system's own counters, as observations of trial.json."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        stored = pool.submit(or_none, deployment.messages_stored)
        under_replicated = or_none(lambda: list(deployment.under_replicated()))
    return {"messages_stored": stored.result(), "under_replicated": under_replicated}


def look_after(
    deployment: Deployment, before: Before, clocks_before: Mapping[str, ClockBound], hosts: Sequence[Host]
) -> dict[str, Any]:
    """What became of processes, clocks and hosts, as observations of trial.json. Raises HostsFailed."""
    ended = {(state.host, state.daemon): state for state in deployment.daemons()}
    clocks = clock_bounds(hosts)
    return {
        "boot_ids": {"before": before.boot_ids, "after": facts.boot_ids(hosts)},
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
