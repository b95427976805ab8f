"""Runs on the orchestrator's host before a campaign is left to itself: does it get to every host?

python -m bench.orchestrator.reach INVENTORY
"""

from __future__ import annotations

import sys
from pathlib import Path

from provisioning.errors import SameboxError
from provisioning.hosts.host import on_all
from provisioning.hosts.inventory import load_inventory
from provisioning.hosts.ssh import connected


def main() -> int:
    """Logs in to every host; says on standard error where that failed."""
    try:
        with connected(load_inventory(Path(sys.argv[1]))) as hosts:
            on_all("logging in from the orchestrator's host", hosts, lambda host: host.run("true"))
    except SameboxError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
