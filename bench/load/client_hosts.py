"""What client hosts get of this checkout: the workers and each system's client, with their libraries."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench.checkout import CHECKOUT
from provisioning.cache import Notice
from provisioning.hosts.host import Host
from provisioning.software.delivery import DIRECT, Way
from provisioning.software.python_environment import Environment, deploy_environment
from systems.registry import SYSTEMS

LOCK_FILE = CHECKOUT / "bench" / "worker" / "requirements.lock"
# the packages' own files are all but empty: importing one brings nothing of the operator's side
SHARED = (
    *("bench/__init__.py", "bench/worker", "contract", "systems/__init__.py"),
    *("systems/client.py", "systems/connection.py", "systems/keys.py", "systems/null_client.py"),
)


def client_environment() -> Environment:
    """What a worker needs: its own code, what it shares, and every system's client, once where it drives several."""
    clients = (
        file
        for system in SYSTEMS.values()
        for file in (*system.client_files, str(Path(system.client_files[0]).with_name("__init__.py")))
    )
    return Environment("client", LOCK_FILE, "worker", tuple(dict.fromkeys((*SHARED, *clients))))


def deploy_client(hosts: Sequence[Host], cache_dir: Path, notice: Notice, way: Way = DIRECT) -> dict[str, str]:
    """Puts everything that a worker needs on the hosts where it is missing.

    Host name -> the shell words that run Python with it: `<words> -m bench.worker.main`.
    """
    return deploy_environment(client_environment(), hosts, cache_dir, notice, way)
