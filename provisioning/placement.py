"""Rendered files onto a host, and logs emptied before a start. It renders nothing and starts nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from shlex import quote

from provisioning.host import Host


def place(host: Host, rendered: Mapping[str, str], *, emptied: Sequence[str]) -> None:
    """Writes every file (path -> content) and removes the logs of earlier trials, whose evidence is not this trial's."""
    for path, content in rendered.items():
        host.put(content.encode(), path)
    host.run(f"mkdir -p {quote(scratch(host))}; rm -f " + " ".join(quote(path) for path in emptied))


def scratch(host: Host) -> str:
    """Where processes of the host put what they need for a while."""
    return f"{host.record.root}/tmp"
