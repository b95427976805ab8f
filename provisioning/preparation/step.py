"""One thing that preparation looked after on one host, and how commands become root there."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Literal

# as wanted: found so. changed: set and read back. not there: the host has no such thing. left: differs, but the host is the
# operator's own machine, which is not ours to change.
Status = Literal["as wanted", "changed", "not there", "left"]


@dataclass(frozen=True)
class Step:
    """`before` is what was found, `after` what was read back at the end; both as people read them."""

    host: str
    name: str
    wanted: str
    before: str
    after: str
    status: Status
    why: str


def as_root(script: str) -> str:
    """The command line that runs `script` as root: as it is for root, else by password-less sudo. Programs for root are found."""
    quoted = shlex.quote(f"PATH=$PATH:/usr/sbin:/sbin; {script}")
    return f'if [ "$(id -u)" = 0 ]; then sh -c {quoted}; else sudo -n sh -c {quoted}; fi'
