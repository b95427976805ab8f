"""The hosts' clock: chrony, following the testbed's own time server where it has one.

A host with a PTP hardware clock of AWS (/dev/ptp_ena; infra/on_host/samebox-ptp asks its driver for it) follows that one, or else the
server. Without a time server (own hosts) the operator's time service is left as it is; whether clocks agree is asked elsewhere.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable

from provisioning.errors import HostError
from provisioning.hosts.host import Host
from provisioning.hosts.looks import looks
from provisioning.preparation.step import Status, Step, as_root

WHY = "all hosts by the same server, close by: end-to-end latency is measured with two clocks"
AWAIT_S = 90.0
_POLL_S = 2.0
PTP_DEVICE = "/dev/ptp_ena"
# As https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/configure-ec2-ntp.html says. It can't stand in a file of sources, which hold
# servers only.
PTP_LINE = f"refclock PHC {PTP_DEVICE} poll 0 delay 0.000010 prefer"
PTP_SOURCE = "PHC0"
SOURCES = f"chronyc -n -c sources; if [ -e {PTP_DEVICE} ]; then echo {PTP_DEVICE}; fi"
_CONFIGS = ("/etc/chrony.conf", "/etc/chrony/chrony.conf")
# Distributions differ in where chrony reads sources from and in what its service is called.
_FOLDERS = ("/etc/chrony.d", "/etc/chrony/sources.d")
_SERVICES = ("chronyd", "chrony")


def provide_time_server(
    host: Host, time_server: str, *, may_change: bool, sleep: Callable[[float], None] = time.sleep
) -> Step:
    """Has chrony follow the host's PTP hardware clock, or `time_server` where it has none that works, and waits until it does.

    Raises HostError with chrony's own words if it follows neither.
    """
    sources = host.run(SOURCES, check=False).stdout
    before, ptp = selected(sources), PTP_DEVICE in sources.splitlines()
    best = PTP_SOURCE if ptp else time_server
    wanted = f"follows {best}"
    if before == best or not may_change:
        status: Status = "as wanted" if before == best else "left"
        return Step(host.name, "clock", wanted, _shown(before), _shown(before), status, WHY)
    completed = host.run(as_root(follow_script(time_server, ptp=ptp)), check=False)
    if completed.exit_status != 0:
        raise HostError(host.name, f"chrony can't be made to follow {best}: {completed.stderr.strip()[-400:]}")
    for _ in looks(AWAIT_S, every_s=_POLL_S, sleep=sleep):
        after = selected(host.run(SOURCES, check=False).stdout)
        if after == best:
            return Step(host.name, "clock", wanted, _shown(before), _shown(after), "changed", WHY)
    if after == time_server:  # a PTP clock that chrony doesn't take; what was followed is recorded with every trial
        return Step(host.name, "clock", wanted, _shown(before), _shown(after), "changed", WHY)
    table = host.run("chronyc -n sources", check=False).stdout.strip()
    raise HostError(
        host.name,
        f"clock: wanted chrony to follow {best}, found {_shown(after)} after {AWAIT_S:g} s.\n{table}",
        next_step=f"Check that {host.name} reaches {time_server} (UDP port 123).",
    )


def follow_script(time_server: str, *, ptp: bool = False) -> str:
    """A source file of our own, preferred, asked every 16 s; with `ptp` the hardware clock in chrony's own file; then chrony anew."""
    line = f"server {time_server} prefer iburst minpoll 4 maxpoll 4"
    folders, services = " ".join(_FOLDERS), " ".join(_SERVICES)
    clock = (
        f"for config in {' '.join(_CONFIGS)}; do if [ -f $config ]; then"
        f" grep -qxF {shlex.quote(PTP_LINE)} $config || echo {shlex.quote(PTP_LINE)} >> $config; fi; done;"
    )
    return (clock if ptp else "") + (
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


def _shown(server: str | None) -> str:
    return f"follows {server}" if server else "follows no server"
