"""The hosts' clock: chrony, following the testbed's own time server where it has one. It steps no clock by itself.

Without a time server (own hosts) the operator's time service is left as it is; whether clocks agree is asked elsewhere.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable

from provisioning.errors import HostError
from provisioning.host import Host
from provisioning.looks import looks
from provisioning.preparation.step import Status, Step, as_root

WHY = "every host by the same server, near by: end-to-end latency is told by two clocks"
AWAIT_S = 90.0
_POLL_S = 2.0
SOURCES = "chronyc -n -c sources"
# Distributions differ in where chrony reads sources from and in what its service is called.
_FOLDERS = ("/etc/chrony.d", "/etc/chrony/sources.d")
_SERVICES = ("chronyd", "chrony")


def provide_time_server(
    host: Host, time_server: str, *, may_change: bool, sleep: Callable[[float], None] = time.sleep
) -> Step:
    """Has chrony follow `time_server` and waits until it does. Raises HostError with chrony's own words if it won't."""
    before = _selected(host)
    wanted = f"follows {time_server}"
    if before == time_server or not may_change:
        status: Status = "as wanted" if before == time_server else "left"
        return Step(host.name, "clock", wanted, _shown(before), _shown(before), status, WHY)
    completed = host.run(as_root(follow_script(time_server)), check=False)
    if completed.exit_status != 0:
        raise HostError(host.name, f"chrony can't be told to follow {time_server}: {completed.stderr.strip()[-400:]}")
    for _ in looks(AWAIT_S, every_s=_POLL_S, sleep=sleep):
        after = _selected(host)
        if after == time_server:
            return Step(host.name, "clock", wanted, _shown(before), _shown(after), "changed", WHY)
    sources = host.run("chronyc -n sources", check=False).stdout.strip()
    raise HostError(
        host.name,
        f"clock: wanted chrony to follow {time_server}, found {_shown(after)} after {AWAIT_S:g} s.\n{sources}",
        next_step=f"See whether {host.name} reaches {time_server} (UDP port 123).",
    )


def follow_script(time_server: str) -> str:
    """A source file of our own, preferred, asked every 16 s; then chrony anew."""
    line = f"server {time_server} prefer iburst minpoll 4 maxpoll 4"
    folders, services = " ".join(_FOLDERS), " ".join(_SERVICES)
    return (
        f"for folder in {folders}; do if [ -d $folder ]; then found=$folder; fi; done;"
        ' [ -n "$found" ] || { echo chrony has no folder for sources here >&2; exit 1; };'
        f" echo {shlex.quote(line)} > $found/samebox.sources;"
        f" for unit in {services}; do if systemctl cat $unit.service >/dev/null 2>&1; then"
        " exec systemctl restart $unit.service; fi; done; echo chrony has no service here >&2; exit 1"
    )


def selected(sources: str) -> str | None:
    """The server that chrony follows now, from `chronyc -n -c sources`: mode, state, name, ... ("*" = selected)."""
    for line in sources.splitlines():
        fields = line.split(",")
        if len(fields) > 3 and fields[1] == "*":
            return fields[2]
    return None


def _selected(host: Host) -> str | None:
    return selected(host.run(SOURCES, check=False).stdout)


def _shown(server: str | None) -> str:
    return f"follows {server}" if server else "follows no server"
