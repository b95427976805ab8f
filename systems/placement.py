"""Rendered files onto a host, and logs emptied before a start. It renders nothing and starts nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from shlex import quote

from provisioning.hosts.host import Host


def place(host: Host, rendered: Mapping[str, str], *, emptied: Sequence[str]) -> None:
    """Writes every file (path -> content) and removes the logs of earlier trials, whose evidence is not this trial's.

    What earlier processes left in their scratch goes, too: one that was killed can't tidy up (libraries of many megabytes).
    """
    for path, content in rendered.items():
        host.put(content.encode(), path)
    folder = quote(scratch(host))
    host.run(f"rm -rf {folder}; mkdir -p {folder}; rm -f " + " ".join(quote(path) for path in emptied))


def scratch(host: Host) -> str:
    """Where a system's processes put what they need for a while."""
    return f"{host.record.root}/tmp/processes"
