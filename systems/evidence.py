"""Logs and the configuration files that daemons ran with, from a host to the operator's disk. It changes nothing on the host."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

from provisioning.hosts.host import Host


def fetch_evidence(host: Host, system: str, target: Path) -> None:
    """Fetches `<root>/etc/<system>/*` and `<root>/log/<system>-*` into `target`; what was never written is not there."""
    root = host.record.root
    found = host.run(
        f"find {quote(root)}/etc/{quote(system)} {quote(root)}/log -maxdepth 1 -type f "
        f"\\( -path '*/etc/*' -o -name {quote(system + '-*')} \\) 2>/dev/null || true"
    )
    target.mkdir(parents=True, exist_ok=True)
    for path in found.stdout.splitlines():
        host.fetch(path, target / Path(path).name)
