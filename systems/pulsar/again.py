"""What it takes to start one of Pulsar's processes again. It renders and touches no host.

A bookie that finds an empty disk where the metadata know of a cookie refuses to start. Told to check the data's integrity it takes the
metadata's word for what it should have instead: it marks those ledgers as incomplete, makes new cookies, starts, and copies the
ledgers' entries from the other bookies (BookKeeper's DataIntegrityCookieValidation and DataIntegrityCheckImpl). Ledgers that are open
are closed for it, as after any crash; brokers go on in new ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from shlex import quote

from provisioning.hosts.daemons import Probe
from systems.processes import Process
from systems.pulsar.layout import BOOKIE_HTTP_PORT, BOOKIE_PORT, CLUSTER, WEB_PORT

_COOKIE = "current/VERSION"
_REPLACED = """
# Of a disk that was replaced: what should be on it is copied from the other bookies.
dataIntegrityChecking=true
dataIntegrityStampMissingCookies=true
"""
_COPIED = "Event: FULL_CHECK_COMPLETE"


def has_cookies(directories: Sequence[str]) -> str:
    """A shell command that succeeds where each of a bookie's directories has its cookie."""
    return " && ".join(f"test -f {quote(f'{directory}/{_COOKIE}')}" for directory in directories)


def replaced(bookie: Process) -> Process:
    """The bookie with the configuration of one whose disk was replaced."""
    return replace(bookie, config="bookkeeper-replaced.conf")


def replaced_config(config: str) -> str:
    """That configuration, from its own."""
    return config + _REPLACED


def copied(bookie: Process) -> Probe:
    """What shows that a replaced bookie has everything that it should have."""
    return Probe(f"{bookie.component} to copy its ledgers", (_COPIED,), path=bookie.log_path)


def sign(process: Process) -> Probe | None:
    """What shows that a bookie or a broker is there, whatever the others do; None = it is another process."""
    if process.daemon == "bookie":
        listed = f"http://{process.address}:{BOOKIE_HTTP_PORT}/api/v1/bookie/list_bookies?type=rw"
        return Probe(f"{process.component} to take writes", (f"{process.address}:{BOOKIE_PORT}",), url=listed)
    if process.daemon == "broker":
        listed = f"http://{process.address}:{WEB_PORT}/admin/v2/brokers/{CLUSTER}"
        return Probe(f"{process.component} to register", (f"{process.address}:{WEB_PORT}",), url=listed)
    return None
