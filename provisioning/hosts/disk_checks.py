"""The disk-checks archive on hosts: packs it, pushes it, runs one probe and returns its JSON.

The folder disk-checks/ is packed into one zip that plain `python3` runs, the same bytes for the same sources.
"""

from __future__ import annotations

import hashlib
import io
import json
import shlex
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

from provisioning.errors import CommandFailed, HostError
from provisioning.hosts.agents import PYTHON
from provisioning.hosts.host import COMMAND_TIMEOUT_S, Host

SOURCES = Path(__file__).resolve().parents[2] / "disk-checks"
_FIXED_DATE = (2020, 1, 1, 0, 0, 0)
_EXIT_NOT_MEASURED = 3


class ProbeFailed(HostError):
    """A probe could not be run on a host (no room, no direct I/O); `reason` is the message without the host's name."""

    def __init__(self, host: str, reason: str) -> None:
        super().__init__(host, reason)
        self.reason = reason


@cache
def archive() -> bytes:
    """disk-checks/ as a runnable zip."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as target:
        for source in sorted(SOURCES.glob("*.py")):
            target.writestr(zipfile.ZipInfo(source.name, _FIXED_DATE), source.read_bytes())
    return packed.getvalue()


def archive_sha256() -> str:
    """What identifies the probes that ran."""
    return hashlib.sha256(archive()).hexdigest()


def install_checks(host: Host) -> None:
    """Pushes the archive to the host. Idempotent."""
    host.put(archive(), _remote_path(host))


def check_command(host: Host, *arguments: str | int | float) -> str:
    """The shell command of one probe."""
    return f"{PYTHON} {shlex.join([_remote_path(host), *map(str, arguments)])}"


def run_check(host: Host, *arguments: str | int | float, timeout_s: float = COMMAND_TIMEOUT_S) -> dict[str, Any]:
    """Runs one probe: `run_check(host, "fsync", "/data", "--count", 1000)`. Raises ProbeFailed, CommandFailed.

    The archive must be there (`install_checks`).
    """
    completed = host.run(check_command(host, *arguments), timeout_s=timeout_s, check=False)
    try:
        result = json.loads(completed.stdout)
    except json.JSONDecodeError:
        result = None
    if completed.exit_status == _EXIT_NOT_MEASURED and isinstance(result, dict) and "error" in result:
        raise ProbeFailed(host.name, result["error"]["message"])
    if completed.exit_status != 0 or not isinstance(result, dict):
        raise CommandFailed(host.name, completed)
    return result


def _remote_path(host: Host) -> str:
    return f"{host.record.root}/tools/disk-checks.pyz"
