"""Takes the probes of vetting on hosts and keeps every sample; judge.py judges them.

1. push the probes, ask which device is under every data directory
2. group: a device of a machine (boot id and device number) is probed once, whichever hosts use it
3. `repeats` rounds spread over time; machines at the same time, the disks of one machine one after another
4. client hosts: record writing and CPU, once per machine and round
5. network from every client to every broker: one stream and round trips, one pair after another (two at once would measure each other)
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from provisioning.errors import HostError
from provisioning.hosts.disk_checks import ProbeFailed, check_command, install_checks, run_check
from provisioning.hosts.host import Host, on_all
from provisioning.hosts.inventory import HostRecord
from provisioning.vetting.thresholds import Profile

Progress = Callable[[int, int, str], None]  # (steps done, of, what comes next)
DeviceKey = tuple[str, str, str]  # kind, boot id, device number
_SLOWEST_FSYNC_S = 0.05  # for deadlines only
_STARTUP_S = 60.0  # for deadlines: starting Python on a busy host


@dataclass(frozen=True)
class Repeat:
    """One round on one disk: results as the probes printed them; `errors` maps a probe to why it could not be taken."""

    started_ns: int
    results: Mapping[str, Mapping[str, Any]]
    errors: Mapping[str, str]


@dataclass(frozen=True)
class Series:
    """All rounds on one disk or client machine. `hosts` are all that use it; `facts` are those of disk-checks' `device`."""

    kind: str  # "disk" or "client"
    directory: str
    facts: Mapping[str, Any]
    hosts: tuple[HostRecord, ...]
    repeats: tuple[Repeat, ...] = ()

    @property
    def device(self) -> str:
        """What people call it."""
        return str(self.facts["disk"] or self.facts["device"] or self.facts["device_number"])

    @property
    def host_names(self) -> list[str]:
        """Of all that use it."""
        return [host.name for host in self.hosts]

    def to_json(self) -> dict[str, Any]:
        """The part that all documents about it have in common: every sample."""
        repeats = [asdict(repeat) for repeat in self.repeats]
        return {"kind": self.kind, "device": self.device, "directory": self.directory, "repeats": repeats}


@dataclass(frozen=True)
class Pair:
    """The network from one client to one broker; `result` None when there was no connection (`error` says why)."""

    client: str
    broker: str
    machines: tuple[str, str]
    result: Mapping[str, Any] | None
    error: str


@dataclass(frozen=True)
class Probes:
    """Everything measured about a set of hosts, before any judgement."""

    hosts: tuple[HostRecord, ...]
    boot_ids: Mapping[str, str]
    series: tuple[Series, ...]
    pairs: tuple[Pair, ...] = ()


@dataclass(frozen=True)
class Target:
    """One device to be probed: its series, still without repeats, the host it is probed through, and how much is probed."""

    series: Series
    through: Host
    profile: Profile

    @property
    def boot_id(self) -> str:
        """Tells its machine."""
        return str(self.series.facts["boot_id"])

    @property
    def key(self) -> DeviceKey:
        """Tells it from all others."""
        return self.series.kind, self.boot_id, self.series.facts["device_number"]


def find_targets(
    hosts: Sequence[Host], profile_of: Callable[[str], Profile]
) -> tuple[tuple[Target, ...], dict[str, str]]:
    """What is to be probed, each device once, and every host's boot id; pushes the probes to all hosts first.

    `profile_of`: instance type -> how much is probed.
    """

    def look(host: Host) -> list[tuple[str, str, dict[str, Any]]]:
        install_checks(host)
        wanted = [("client" if host.record.role == "client" else "root", host.record.root)]
        wanted += [("disk", data_dir.path) for data_dir in host.record.data_dirs]
        devices = run_check(host, "device", *(path for _, path in wanted))["devices"]
        return [(kind, path, facts) for (kind, path), facts in zip(wanted, devices, strict=True)]

    found = on_all("reading device facts", hosts, look)
    boot_ids = {name: str(seen[0][2]["boot_id"]) for name, seen in found.items()}
    targets: dict[DeviceKey, Target] = {}
    for host in hosts:
        for kind, directory, facts in found[host.name]:
            if kind == "root":
                continue  # asked for the boot id only
            fresh = Target(Series(kind, directory, facts, (host.record,)), host, profile_of(host.record.instance_type))
            known = targets.setdefault(fresh.key, fresh)
            if host.record not in known.series.hosts:
                series = replace(known.series, hosts=(*known.series.hosts, host.record))
                targets[fresh.key] = replace(known, series=series)
    return tuple(targets.values()), boot_ids


def take_series(
    targets: Sequence[Target],
    *,
    progress: Progress,
    steps: tuple[int, int],
    sleep: Callable[[float], None] = time.sleep,
) -> tuple[Series, ...]:
    """All rounds on all targets. `steps` are (done before, of all) for `progress`."""
    machines: dict[str, list[Target]] = defaultdict(list)
    for target in targets:
        machines[target.boot_id].append(target)
    through = {together[0].through.name: together for together in machines.values()}
    rounds: list[dict[DeviceKey, Repeat]] = []
    repeats = max((target.profile.repeats for target in targets), default=0)
    for index in range(repeats):
        if index:
            sleep(max(target.profile.spread_s for target in targets))
        progress(steps[0] + index, steps[1], f"disks and clients, repeat {index + 1} of {repeats}")
        hosts = [together[0].through for together in through.values()]
        taken = on_all("probing", hosts, lambda host: _take_round(through[host.name]))
        rounds.append({key: repeat for some in taken.values() for key, repeat in some.items()})
    return tuple(replace(target.series, repeats=tuple(each[target.key] for each in rounds)) for target in targets)


def _take_round(targets: Sequence[Target]) -> dict[DeviceKey, Repeat]:
    """One round on one machine. Idleness first and once: a probe would make the machine busy."""
    idle = _take(targets[0], ("idle", "--seconds", targets[0].profile.idle_s))
    return {target.key: _probe(target, idle) for target in targets}


def _probe(target: Target, idle: Repeat) -> Repeat:
    profile, directory = target.profile, target.series.directory
    if target.series.kind == "disk":
        return _take(
            target,
            ("throughput", directory, "--bytes", profile.throughput_bytes),
            ("fsync", directory, "--count", profile.fsync_count),
            after=idle,
        )
    records = ("records", directory, "--bytes", profile.records_bytes)
    return _take(target, records, ("cpu", "--seconds", profile.cpu_s), after=idle)


def _take(target: Target, *probes: tuple[str | int | float, ...], after: Repeat | None = None) -> Repeat:
    """Takes probes one after another; the results of `after` are part of the round."""
    profile = target.profile
    deadline_s = _STARTUP_S + profile.idle_s + profile.cpu_s + profile.fsync_count * _SLOWEST_FSYNC_S
    deadline_s += 2 * max(profile.throughput_bytes, profile.records_bytes) / profile.slowest_bytes_per_s
    started_ns = time.time_ns()
    results, errors = (dict(after.results), dict(after.errors)) if after else ({}, {})
    for probe in probes:
        try:
            results[str(probe[0])] = run_check(target.through, *probe, timeout_s=deadline_s)
        except ProbeFailed as error:
            errors[str(probe[0])] = error.reason
    return Repeat(started_ns, results, errors)


def machine_pairs(hosts: Sequence[Host], boot_ids: Mapping[str, str]) -> list[tuple[Host, Host]]:
    """(client, broker) of every pair of machines, once: hosts of one machine count as one end."""
    pairs: dict[tuple[str, str], tuple[Host, Host]] = {}
    for client in (host for host in hosts if host.record.role == "client"):
        for broker in (host for host in hosts if host.record.role == "broker"):
            pairs.setdefault((boot_ids[client.name], boot_ids[broker.name]), (client, broker))
    return list(pairs.values())


def take_pairs(
    pairs: Sequence[tuple[Host, Host]],
    boot_ids: Mapping[str, str],
    profile_of: Callable[[str], Profile],
    progress: Callable[[str], None],
) -> tuple[Pair, ...]:
    """Measures every pair. A pair without a connection is kept with its error."""
    taken = []
    for client, broker in pairs:
        progress(f"network {client.name} to {broker.name}")
        machines = (boot_ids[client.name], boot_ids[broker.name])
        try:
            result = _measure_pair(client, broker, profile_of(client.record.instance_type))
        except ProbeFailed as error:
            taken.append(Pair(client.name, broker.name, machines, None, error.reason))
        else:
            taken.append(Pair(client.name, broker.name, machines, result, ""))
    return tuple(taken)


def _measure_pair(client: Host, broker: Host, profile: Profile) -> Mapping[str, object]:
    server = broker.spawn(check_command(broker, "serve", broker.record.address))
    try:
        first = next(server.lines(), "")
        try:
            port = int(json.loads(first)["port"])
        except (ValueError, KeyError, TypeError):
            reason = first or server.wait(timeout_s=10).stderr[-400:] or "it printed nothing"
            raise HostError(broker.name, f"the network probe's server did not start: {reason}") from None
        timeout_s = 60 + profile.network_s + profile.network_round_trips * 0.05
        options = ("--seconds", profile.network_s, "--round-trips", profile.network_round_trips)
        return run_check(client, "network", broker.record.address, port, *options, timeout_s=timeout_s)
    finally:
        server.close()
