"""Whether a testbed can do the faults of a campaign, asked before anything of it is started."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from contract.workload import Workload
from provisioning.errors import InvalidInput
from provisioning.faults.host_fault import ask, send
from provisioning.hosts.host import Host, on_all

_DEPENDS = ("cut", "slow-disk")  # on the host; signals always work on what was started by the same user
_NEXT = {
    "cut": "It takes nftables and root (or password-less sudo) on the brokers' hosts; on a local testbed, cgroup 2 as well.",
    "slow-disk": "It takes control groups that limit a real disk, and root, on the brokers' hosts.",
}


def require_possible(workloads: Iterable[Workload], hosts: Sequence[Host], *, shared: bool) -> None:
    """`shared`: whether they share a machine. Raises InvalidInput naming workload, fault, hosts and reason, or HostsFailed."""
    serving = [host for host in hosts if host.record.role != "client"]
    asked = {fault.do: each.name for each in workloads for fault in each.faults if fault.do in _DEPENDS}
    if not asked:
        return
    send(serving)

    def able(host: Host) -> Any:
        directory = host.record.data_dirs[0].path if host.record.data_dirs else ""
        return ask(host, {"verb": "able", "faults": list(asked), "shared": shared, "directory": directory})

    answers = on_all("asking which faults can be done", serving, able)
    for do, workload in asked.items():
        reasons = {name: answer[do] for name, answer in answers.items() if answer[do]}
        if reasons:
            said = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
            raise InvalidInput(
                f"workload {workload!r} has a fault that this testbed can't do, {do}: {said}.",
                next_step=f"{_NEXT[do]} Or remove the fault from the campaign.",
            )
