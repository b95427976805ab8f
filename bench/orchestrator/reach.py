"""Runs on the orchestrator's host before a campaign is left to it: can it log in to every host? Exits 1 with the reason if not.

python -m bench.orchestrator.reach INVENTORY
"""

from __future__ import annotations

import sys
from pathlib import Path

from provisioning.errors import SameboxError
from provisioning.hosts.host import on_all
from provisioning.hosts.inventory import load_inventory
from provisioning.hosts.ssh import connected

if __name__ == "__main__":
    try:
        with connected(load_inventory(Path(sys.argv[1]))) as hosts:
            on_all("logging in from the orchestrator's host", hosts, lambda host: host.run("true"))
    except SameboxError as error:
        sys.exit(str(error))
