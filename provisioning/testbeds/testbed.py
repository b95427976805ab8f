"""What every testbed can do; how its hosts come to be is in local/ and aws/."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from provisioning.hosts.inventory import Inventory

BROKERS = 3  # hosts of that role, where nothing says how many


class Testbed(Protocol):
    """A set of hosts that can be brought up, changed host by host, and taken away."""

    if not TYPE_CHECKING:
        __test__ = False  # not a pytest class; and nothing that a testbed must have

    def up(self) -> Inventory:
        """Brings the hosts up and returns them; a healthy testbed that is up already is returned unchanged.

        Raises MissingRequirement, HostUnreachable, HostsFailed, or InvalidInput when another shape of it is up. What a crashed run
        left is removed first. Interrupted at any moment, it leaves nothing that `down` doesn't remove.
        """

    def inventory(self) -> Inventory | None:
        """The testbed that is up, found alive; None when there is none or it isn't whole."""

    def replace(self, names: Sequence[str]) -> Inventory:
        """Those hosts anew: same name and address, generation + 1, another instance id, empty directories, new host key.

        Raises InvalidInput for a name that isn't a host's or when no testbed is up. Their processes are killed.
        """

    def down(self) -> None:
        """Takes everything away: no process, listener or directory of it is left. Idempotent."""
