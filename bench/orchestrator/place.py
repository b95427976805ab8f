"""Where a detached campaign lives: which host of an inventory, and what its folder there holds. Paths only."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from provisioning.hosts.inventory import HostRecord, Inventory

PROCESS = "campaign"  # the daemon's name: its pid file is run/campaign.pid


def orchestrator_of(inventory: Inventory) -> HostRecord:
    """The host that runs a detached campaign: the first metadata host, which carries the least load, else the first client."""
    return (*inventory.with_role("metadata"), *inventory.with_role("client"), *inventory.hosts)[0]


@dataclass(frozen=True)
class Place:
    """The folder on that host. It is there exactly as long as a campaign has claimed the testbed."""

    folder: str

    @property
    def identity_file(self) -> str:
        """The private key; it is made there and never leaves."""
        return f"{self.folder}/key"

    @property
    def inventory_file(self) -> str:
        return f"{self.folder}/inventory.json"

    @property
    def vetting_file(self) -> str:
        return f"{self.folder}/vetting.json"

    @property
    def task_file(self) -> str:
        return f"{self.folder}/task.json"

    @property
    def start_file(self) -> str:
        """How the process is started, for whoever starts it again."""
        return f"{self.folder}/start.json"

    @property
    def run_dir(self) -> str:
        """The pid file's folder; not that of the daemons which every trial ends."""
        return f"{self.folder}/run"

    @property
    def log_file(self) -> str:
        return f"{self.folder}/log"

    @property
    def progress_file(self) -> str:
        return f"{self.folder}/progress.json"

    @property
    def outcome_file(self) -> str:
        """How the process ended; a process that was killed leaves none."""
        return f"{self.folder}/outcome.json"

    def results_dir(self, campaign: str) -> str:
        return f"{self.folder}/results/{campaign}"


def place_on(record: HostRecord) -> Place:
    """The folder on a host."""
    return Place(f"{record.root}/orchestrator")


def seen_from_inside(inventory: Inventory, identity_file: str) -> Inventory:
    """The inventory for a host of the testbed: the others by the address that brokers and clients use, and a key of its own."""
    hosts = tuple(
        dataclasses.replace(host, ssh=dataclasses.replace(host.ssh, address=host.address)) for host in inventory.hosts
    )
    return dataclasses.replace(inventory, identity_file=identity_file, hosts=hosts)
