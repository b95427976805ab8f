"""How far the hosts' clocks may be apart: a bound for every host on its offset to the other hosts.

Three ways, the tightest for each pair of hosts counts:
- `same-clock`: two hosts of one machine (same boot id) read one clock. What may differ is the anchor that ties the monotonic
  clock to the epoch, taken once per process; the bound is the difference of anchors taken in two processes, plus their reading time.
- `chrony`: both hosts' time service states how far from true time they may be (offset + root dispersion + half the root delay). A PTP
  hardware clock tells chrony nothing of its own error, which would be taken for none: its driver's figure is added.
- `exchange`: request and answer over SSH, as NTP does: the fastest of several; offset = host clock - middle of the round trip,
  uncertain by half of it. The operator's own clock cancels out between two hosts.
"""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from provisioning.errors import HostError
from provisioning.hosts.agents import PYTHON
from provisioning.hosts.host import Host, on_all

EXCHANGES = 20
PTP_PREFIX = "PHC"  # how chrony names PTP hardware clocks
# Prints once who the machine is and what its time service says, then answers every line with
# [wall clock, monotonic clock, time that reading both took] in ns.
_ANSWERER = """
import glob, json, subprocess, sys, time
try:
    chrony = subprocess.run(["chronyc", "-n", "-c", "tracking"], capture_output=True, text=True, timeout=5).stdout
except (OSError, subprocess.TimeoutExpired):
    chrony = ""
phc = [open(path).read().strip() for path in glob.glob("/sys/bus/pci/devices/*/phc_error_bound")]
boot_id = open("/proc/sys/kernel/random/boot_id").read().strip()
print(json.dumps({"boot_id": boot_id, "chrony": chrony, "phc_error_bounds_ns": phc}), flush=True)
for _ in sys.stdin:
    before = time.monotonic_ns()
    wall = time.time_ns()
    after = time.monotonic_ns()
    print(json.dumps([wall, (before + after) // 2, after - before]), flush=True)
"""
ANSWER_COMMAND = f"{PYTHON} -u -c {shlex.quote(_ANSWERER)}"


@dataclass(frozen=True)
class ClockReading:
    """What one host's clock showed. `offset_ns` is against the operator's clock, give or take `uncertainty_ns`.

    `source`: what chrony follows, by its own name for it (an address, PHC0); None = nothing, or there is no chrony.
    """

    boot_id: str
    offset_ns: int
    uncertainty_ns: int
    anchor_ns: int
    anchor_uncertainty_ns: int
    chrony_bound_ns: int | None
    source: str | None = None


@dataclass(frozen=True)
class ClockBound:
    """A host's clock is at most `bound_ns` from any other host's; `method` tells how the loosest pair was bounded.

    `source`: what the host's own time service follows; None = not known.
    """

    host: str
    bound_ns: int
    method: str
    source: str | None = None


def clock_bounds(hosts: Sequence[Host]) -> dict[str, ClockBound]:
    """Host name -> bound, all hosts at once. Raises HostsFailed."""
    return bounds(on_all("reading clocks", hosts, read_clock))


def bounds(readings: dict[str, ClockReading]) -> dict[str, ClockBound]:
    """For each host the loosest of its pairs; a host alone is bounded by its own reading time."""
    result = {}
    for name, reading in readings.items():
        pairs = [_pair_bound(reading, other) for peer, other in readings.items() if peer != name]
        bound_ns, method = max(pairs, default=(reading.anchor_uncertainty_ns, "same-clock"))
        result[name] = ClockBound(name, bound_ns, method, reading.source)
    return result


def _pair_bound(one: ClockReading, other: ClockReading) -> tuple[int, str]:
    exchange_ns = abs(one.offset_ns - other.offset_ns) + one.uncertainty_ns + other.uncertainty_ns
    candidates = [(exchange_ns, "exchange")]
    if one.boot_id == other.boot_id:
        apart_ns = abs(one.anchor_ns - other.anchor_ns) + one.anchor_uncertainty_ns + other.anchor_uncertainty_ns
        candidates.append((apart_ns, "same-clock"))
    if one.chrony_bound_ns is not None and other.chrony_bound_ns is not None:
        candidates.append((one.chrony_bound_ns + other.chrony_bound_ns, "chrony"))
    return min(candidates)


def read_clock(host: Host) -> ClockReading:
    """The fastest of EXCHANGES exchanges with one host, and its tightest anchor."""
    process = host.spawn(ANSWER_COMMAND)
    try:
        lines = process.lines()
        first = _json_line(host, next(lines, ""))
        exchanges = []
        for _ in range(EXCHANGES):
            wall_before_ns, sent_ns = time.time_ns(), time.monotonic_ns()
            process.send_line("?")
            wall_ns, monotonic_ns, reading_ns = _json_line(host, next(lines, ""))
            round_trip_ns = time.monotonic_ns() - sent_ns
            offset_ns = wall_ns - (wall_before_ns + round_trip_ns // 2)
            exchanges.append((round_trip_ns, offset_ns, reading_ns, wall_ns - monotonic_ns))
    finally:
        process.close()
    fastest = min(exchanges)
    tightest = min(exchanges, key=lambda exchange: exchange[2])
    return ClockReading(
        boot_id=first["boot_id"],
        offset_ns=fastest[1],
        uncertainty_ns=fastest[0] // 2,
        anchor_ns=tightest[3],
        anchor_uncertainty_ns=tightest[2],
        chrony_bound_ns=parse_chrony(first["chrony"], first.get("phc_error_bounds_ns", ())),
        source=chrony_source(first["chrony"]),
    )


def parse_chrony(tracking: str, phc_error_bounds_ns: Sequence[str] = ()) -> int | None:
    """The bound on the distance to true time, in ns, of `chronyc -c tracking`; None if it isn't synchronised or isn't there.

    Fields: id, name, stratum, reference time, system time offset, last offset, RMS offset, frequency, residual frequency,
    skew, root delay, root dispersion, update interval, leap status; seconds. `phc_error_bounds_ns`: what the drivers of PTP hardware
    clocks say of their clocks' error; where chrony follows such a clock and no driver says it, the bound is None.
    """
    source = chrony_source(tracking)
    if source is None:
        return None
    fields = tracking.strip().split(",")
    offset_s, delay_s, dispersion_s = (float(fields[index]) for index in (4, 10, 11))
    stated_ns = round((abs(offset_s) + dispersion_s + delay_s / 2) * 1e9)
    if not source.startswith(PTP_PREFIX):
        return stated_ns
    errors_ns = [int(text) for text in phc_error_bounds_ns if text.isdigit()]
    return stated_ns + max(errors_ns) if errors_ns else None


def chrony_source(tracking: str) -> str | None:
    """What chrony follows, by its name in `chronyc -c tracking`; None if it isn't synchronised or isn't there."""
    fields = tracking.strip().split(",")
    return None if len(fields) != 14 or fields[13].strip() == "Not synchronised" else fields[1]


def _json_line(host: Host, line: str) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError:
        raise HostError(host.name, f"its clock can't be read: the answer was {line[:200]!r}") from None
