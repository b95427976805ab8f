"""Whom a fault is done to: a role, resolved to the processes that have it now."""

from __future__ import annotations

import random
from collections.abc import Sequence

from contract.fault import ALL, ANY, COORDINATOR, Fault
from provisioning.errors import DeploymentError
from systems.deployment import Breakable
from systems.processes import Process


def resolve(fault: Fault, deployment: Breakable, seed: str) -> tuple[Process, ...]:
    """The processes, at least one. `seed`: what `any` is drawn by. Raises DeploymentError where nobody has the role now."""
    storing = [process for process in deployment.processes if process.daemon == deployment.storing_daemon]
    if fault.target == ALL:
        return tuple(storing)
    if fault.target == ANY:
        return (_drawn(storing, seed),)
    if fault.target == COORDINATOR:
        return (deployment.coordinator(),)
    placement = deployment.placement(*fault.partition)
    if fault.target.startswith("leader"):
        return (placement.leader,)
    if not placement.followers:
        raise DeploymentError(f"no host keeps another copy of partition {fault.partition[1]}: nobody follows")
    return (_drawn(placement.followers, seed),)


def _drawn(processes: Sequence[Process], seed: str) -> Process:
    # by name, not by place: the order of a trial's hosts is drawn, too
    by_host = {process.host.name: process for process in processes}
    return by_host[random.Random(seed).choice(sorted(by_host))]
