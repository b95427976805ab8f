"""The processes of a system on its hosts: which runs where, and what is done with them in the same way for every system."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from provisioning.errors import DeploymentError
from provisioning.hosts import daemons
from provisioning.hosts.daemons import DaemonState, Probe
from provisioning.hosts.host import Host, on_all


@dataclass(frozen=True)
class Process:
    """One process of a system. A host runs at most one of each `daemon`; `number` counts these, from 1.

    `config` is the name of its configuration file.
    """

    system: str
    daemon: str
    host: Host
    number: int
    config: str

    @property
    def address(self) -> str:
        return self.host.record.address

    @property
    def component(self) -> str:
        """Its name in settings."""
        return f"{self.daemon}/{self.host.name}"

    @property
    def etc(self) -> str:
        """Where the system's rendered files are."""
        return f"{self.host.record.root}/etc/{self.system}"

    @property
    def config_path(self) -> str:
        return f"{self.etc}/{self.config}"

    @property
    def log_path(self) -> str:
        return f"{self.host.record.root}/log/{self.system}-{self.daemon}.log"


def on_each(system: str, daemon: str, hosts: Sequence[Host], config: str) -> tuple[Process, ...]:
    """One process of a kind on each of these hosts."""
    return tuple(Process(system, daemon, host, number, config) for number, host in enumerate(hosts, start=1))


def hosts_for(system: str, hosts: Sequence[Host]) -> tuple[list[Host], list[Host]]:
    """The broker hosts and the metadata hosts. Raises DeploymentError without a broker host or a data directory on each."""
    brokers, metadata = ([host for host in hosts if host.record.role == role] for role in ("broker", "metadata"))
    if not brokers:
        raise DeploymentError(f"{system} needs hosts of role broker; the inventory has none.")
    for host in brokers + metadata:
        if not host.record.data_dirs:
            raise DeploymentError(
                f"{host.name}: {system} needs a data directory; the inventory lists none for this host."
            )
    return brokers, metadata


def hosts_of(processes: Sequence[Process]) -> tuple[Host, ...]:
    """Each host once."""
    return tuple({process.host.name: process.host for process in processes}.values())


def on_host(processes: Sequence[Process], host: Host) -> tuple[Process, ...]:
    """The processes of one host."""
    return tuple(process for process in processes if process.host.name == host.name)


def scratch(host: Host) -> str:
    """Where processes put their temporary files."""
    return f"{host.record.root}/tmp/processes"


def place(processes: Sequence[Process], files: Mapping[str, Mapping[str, str]]) -> None:
    """Writes each host's files (host name -> path -> content).

    Removes the logs of earlier trials, whose evidence is not this trial's, and the temporary files of earlier processes: one that was
    killed can't tidy up (libraries of many megabytes).
    """

    def write(host: Host) -> None:
        for path, content in files[host.name].items():
            host.put(content.encode(), path)
        folder, logs = quote(scratch(host)), [f"{quote(each.log_path)}*" for each in on_host(processes, host)]
        host.run(f"rm -rf {folder}; mkdir -p {folder}; rm -f {' '.join(logs)}")

    on_all(f"{processes[0].system}: writing configuration", hosts_of(processes), write)


def await_ready(
    action: str, processes: Sequence[Process], probe_of: Callable[[Process], Probe], *, limit_s: float
) -> None:
    """Waits until the probe of each process is met, while all of them live. Raises DeploymentError."""
    hosts = hosts_of(processes)
    probes = {host.name: [probe_of(each) for each in on_host(processes, host)] for host in hosts}
    names = {host.name: [each.daemon for each in on_host(processes, host)] for host in hosts}
    daemons.await_ready(action, probes, names, hosts, limit_s=limit_s)


def states(processes: Sequence[Process]) -> tuple[DaemonState, ...]:
    """What became of each of them."""
    expected = [(process.host, process.daemon) for process in processes]
    return daemons.expected_states(f"{processes[0].system}: looking for daemons", expected)


def running(processes: Sequence[Process]) -> dict[str, dict[str, int]]:
    """Host name -> daemon -> pid. Raises DeploymentError if one of them doesn't run any more."""
    found: dict[str, dict[str, int]] = {host.name: {} for host in hosts_of(processes)}
    dead = []
    for state in states(processes):
        if state.pid is None:
            dead.append(f"{state.host}: {state.daemon}")
        else:
            found[state.host][state.daemon] = state.pid
    if dead:
        raise DeploymentError(f"{processes[0].system}: no longer running, so they can't be asked: {', '.join(dead)}")
    return found


def collect_logs(processes: Sequence[Process], target: Path) -> None:
    """Fetches each host's rendered files and logs of the system into `target`/<host>/; what was never written is left out."""
    system = processes[0].system

    def fetch(host: Host) -> None:
        root = quote(host.record.root)
        found = host.run(
            f"find {root}/etc/{quote(system)} {root}/log -maxdepth 1 -type f "
            f"\\( -path '*/etc/*' -o -name {quote(system + '-*')} \\) 2>/dev/null || true"
        )
        folder = target / host.name
        folder.mkdir(parents=True, exist_ok=True)
        for path in found.stdout.splitlines():
            host.fetch(path, folder / Path(path).name)

    on_all(f"{system}: fetching logs", hosts_of(processes), fetch)
