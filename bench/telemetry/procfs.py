"""Reads Linux' own counters out of /proc text, by the names and units of docs/records.md. Pure functions on text.

Runs on the hosts: standard library only, Python 3.9 and later.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple

Metrics = dict[str, float]

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
SECTOR_BYTES = 512  # of /proc/diskstats, whatever the device's own

_MEMORY = {
    "Dirty": "dirty_bytes",
    "Writeback": "writeback_bytes",
    "Cached": "cached_bytes",
    "MemAvailable": "available_bytes",
}


class ProcessCounters(NamedTuple):
    """One process as /proc/<pid>/stat has it. `started_ticks` tells it from an earlier one with the same pid."""

    started_ticks: int
    cpu_s: float
    user_s: float
    threads: int
    rss_bytes: int


def cpu(stat: str) -> Metrics:
    """/proc/stat. User includes nice, system includes interrupts; the run queue doesn't count the reader itself."""
    metrics: Metrics = {}
    cpus = 0
    for line in stat.splitlines():
        if line.startswith("cpu "):
            user, nice, system, idle, iowait, irq, softirq, steal = (int(field) for field in line.split()[1:9])
            metrics["cpu_user_s"] = (user + nice) / TICKS_PER_S
            metrics["cpu_system_s"] = (system + irq + softirq) / TICKS_PER_S
            metrics["cpu_iowait_s"] = iowait / TICKS_PER_S
            metrics["cpu_steal_s"] = steal / TICKS_PER_S
            metrics["cpu_idle_s"] = idle / TICKS_PER_S
        elif line.startswith("cpu"):
            cpus += 1
        elif line.startswith("procs_running "):
            metrics["run_queue"] = max(0, int(line.split()[1]) - 1)
    metrics["cpus"] = cpus
    return metrics


def pressure(resource: str, text: str) -> Metrics:
    """/proc/pressure/<resource>: seconds stalled since boot. `full` is kept for io only, as the contract says."""
    metrics: Metrics = {}
    for line in text.splitlines():
        share, _, rest = line.partition(" ")
        if share == "some" or (share == "full" and resource == "io"):
            metrics[f"psi_{resource}_{share}_s"] = int(rest.rpartition("total=")[2]) / 1e6
    return metrics


def memory(meminfo: str) -> Metrics:
    """/proc/meminfo."""
    metrics: Metrics = {}
    for line in meminfo.splitlines():
        name, _, value = line.partition(":")
        if name in _MEMORY:
            metrics[_MEMORY[name]] = int(value.split()[0]) * 1024
    return metrics


def disks(diskstats: str, devices: set[tuple[int, int]]) -> Metrics:
    """/proc/diskstats, summed over the devices given by (major, minor); a partition has its own line."""
    rows = [line.split() for line in diskstats.splitlines()]
    found = [fields for fields in rows if (int(fields[0]), int(fields[1])) in devices]
    if not found:
        return {}
    reads, read, writes, written, busy_ms = (sum(int(fields[at]) for fields in found) for at in (3, 5, 7, 9, 12))
    return {
        "disk_read_bytes": read * SECTOR_BYTES,
        "disk_written_bytes": written * SECTOR_BYTES,
        "disk_reads": reads,
        "disk_writes": writes,
        "disk_busy_s": busy_ms / 1e3,
    }


def network(net_dev: str, stacked: Iterable[str] = ()) -> Metrics:
    """/proc/net/dev, summed over interfaces. Loopback counts: on a testbed in one machine it is the network.

    `stacked` interfaces (bonds, VLANs, bridges) are left out: their bytes were counted in the interface below.
    """
    left_out = set(stacked)
    received = sent = 0
    for line in net_dev.splitlines()[2:]:
        name, _, counters = line.partition(":")
        if name.strip() not in left_out:
            fields: list[str] = counters.split()
            received += int(fields[0])
            sent += int(fields[8])
    return {"net_received_bytes": received, "net_sent_bytes": sent}


def process(stat: str) -> ProcessCounters:
    """/proc/<pid>/stat; the command name may hold blanks and brackets, so fields are counted from its last bracket."""
    fields = stat.rpartition(")")[2].split()
    return ProcessCounters(
        started_ticks=int(fields[19]),
        cpu_s=(int(fields[11]) + int(fields[12])) / TICKS_PER_S,
        user_s=int(fields[11]) / TICKS_PER_S,
        threads=int(fields[17]),
        rss_bytes=int(fields[21]) * PAGE_BYTES,
    )
