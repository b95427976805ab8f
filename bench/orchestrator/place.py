"""Where a detached campaign lives: which host of an inventory, what its folder there holds, and what it is told to do."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

from bench.campaign.choice import Choice
from bench.run.manifest import Origin
from provisioning.hosts.inventory import HostRecord, Inventory

TASK_SCHEMA = 1
PROCESS = "campaign"  # the daemon's name: its pid file is run/campaign.pid


def orchestrator_of(inventory: Inventory) -> HostRecord:
    """The host that runs a detached campaign: the first metadata host, which carries the least load, else the first client."""
    return (*inventory.with_role("metadata"), *inventory.with_role("client"), *inventory.hosts)[0]


@dataclass(frozen=True)
class Place:
    """The folder on that host, and what is in it. It is there exactly as long as a campaign has claimed the testbed."""

    folder: str
    identity_file: str  # the private key; it is made there and never leaves
    log_file: str
    run_dir: str  # of the pid file; not that of the daemons which every trial ends
    inventory_file: str
    vetting_file: str
    task_file: str
    start_file: str  # how the process is started, for whoever starts it again
    progress_file: str
    outcome_file: str  # how the process ended; a process that was killed leaves none

    def results_dir(self, campaign: str) -> str:
        return f"{self.folder}/results/{campaign}"


def place_in(folder: str) -> Place:
    """What is where in the folder of a detached campaign."""
    documents = (f"{folder}/{name}.json" for name in ("inventory", "vetting", "task", "start", "progress", "outcome"))
    return Place(folder, f"{folder}/key", f"{folder}/log", f"{folder}/run", *documents)


def place_on(record: HostRecord) -> Place:
    """The same on a host of a testbed."""
    return place_in(f"{record.root}/orchestrator")


def seen_from_inside(inventory: Inventory, identity_file: str) -> Inventory:
    """The inventory for a host of the testbed: the others by the address that brokers and clients use, and a key of its own."""
    hosts = tuple(
        dataclasses.replace(host, ssh=dataclasses.replace(host.ssh, address=host.address)) for host in inventory.hosts
    )
    return dataclasses.replace(inventory, identity_file=identity_file, hosts=hosts)


@dataclass(frozen=True)
class Task:
    """What a detached campaign is told to do. Paths are of its host; `tarballs`: system -> tarball used instead of pinned artifacts."""

    schema: int
    campaign_file: str
    tarballs: Mapping[str, str]
    repeat: tuple[str, ...]
    origin: Origin
    choice: Choice
