"""The network between clients and brokers: throughput of one stream and round trips, pair by pair. It measures, never judges.

Pairs run one after another (two at once would measure each other); hosts of one machine count as one end.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from provisioning.errors import HostError
from provisioning.hosts.disk_checks import ProbeFailed, check_command, run_check
from provisioning.hosts.host import Host
from provisioning.vetting.probes import Pair
from provisioning.vetting.thresholds import Profile


def machine_pairs(hosts: Sequence[Host], boot_ids: Mapping[str, str]) -> list[tuple[Host, Host]]:
    """(client, broker) of every pair of machines, once."""
    pairs: dict[tuple[str, str], tuple[Host, Host]] = {}
    for client in (host for host in hosts if host.record.role == "client"):
        for broker in (host for host in hosts if host.record.role == "broker"):
            pairs.setdefault((boot_ids[client.name], boot_ids[broker.name]), (client, broker))
    return list(pairs.values())


def take_pairs(
    pairs: Sequence[tuple[Host, Host]],
    boot_ids: Mapping[str, str],
    profile_of: Callable[[Host], Profile],
    *,
    progress: Callable[[str], None],
) -> tuple[Pair, ...]:
    """Measures every pair. A pair without a connection is kept with its error."""
    taken = []
    for client, broker in pairs:
        progress(f"network {client.name} to {broker.name}")
        machines = (boot_ids[client.name], boot_ids[broker.name])
        try:
            result = _measure(client, broker, profile_of(client))
        except ProbeFailed as error:
            taken.append(Pair(client.name, broker.name, machines, None, error.reason))
        else:
            taken.append(Pair(client.name, broker.name, machines, result, ""))
    return tuple(taken)


def _measure(client: Host, broker: Host, profile: Profile) -> Mapping[str, object]:
    server = broker.spawn(check_command(broker, "serve", broker.record.address))
    try:
        first = next(server.lines(), "")
        try:
            port = int(json.loads(first)["port"])
        except (ValueError, KeyError, TypeError):
            reason = first or server.wait(timeout_s=10).stderr[-400:] or "it printed nothing"
            raise HostError(broker.name, f"the network probe's server did not start: {reason}") from None
        timeout_s = 60 + profile.network_s + profile.network_round_trips * 0.05
        return run_check(
            client,
            "network",
            broker.record.address,
            port,
            "--seconds",
            profile.network_s,
            "--round-trips",
            profile.network_round_trips,
            timeout_s=timeout_s,
        )
    finally:
        server.close()
