"""Kernel, disk and limit settings that every host must have, as data: how to read each back, how to set it, and why.

Only what bears on a comparison and has a reason stands here; what is left alone, and why, is in docs/own-hosts.md. Settings live
until the next boot (the limit excepted): a rebooted host is prepared again.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Literal

from provisioning.hosts.inventory import HostRecord

_CHOICE = r"sed 's/.*\[\(.*\)\].*/\1/'"  # the bracketed word of the kernel's "always [madvise] never"
# C1 of today's server processors is left within 2 us; the deeper ones take 10 to some 100 us
_SHALLOW_EXIT_US = 2
OPEN_FILES = 300_000
LEAST_OPEN_FILES = 100_000


@dataclass(frozen=True)
class Setting:
    """`read` prints the value and nothing where the host has no such thing; `write` is run as root.

    `rule`: "equal", or "at least" for a number that may be larger on a host already.
    """

    name: str
    read: str
    write: str
    wanted: str
    why: str
    rule: Literal["equal", "at least"] = "equal"

    def met_by(self, found: str) -> bool:
        """Whether a value that was read is what is wanted."""
        if self.rule == "equal":
            return found == self.wanted
        return found == "unlimited" or (found.isdigit() and int(found) >= int(self.wanted))

    @property
    def asked(self) -> str:
        """What is wanted, as people read it."""
        return self.wanted if self.rule == "equal" else f">= {self.wanted}"


def _kernel(
    key: str, wanted: int, why: str, rule: Literal["equal", "at least"] = "equal", tree: str = "/proc/sys"
) -> Setting:
    path = f"{tree}/{key.replace('.', '/')}"
    return Setting(key, f"cat {path}", f"echo {wanted} > {path}", str(wanted), why, rule)


KERNEL = (
    _kernel(
        "vm.swappiness",
        1,
        "a broker's memory in swap would be measured as a slow broker (Confluent's and Canonical's guides for brokers: 1)",
    ),
    _kernel(
        "vm.dirty_background_ratio",
        3,
        "when written pages begin to go to disk decides how un-synced levels behave; the published campaigns ran on tuned's"
        " latency-performance, which has 3",
    ),
    _kernel(
        "vm.dirty_ratio",
        10,
        "when writers are made to wait for the disk; the published campaigns ran on tuned's latency-performance, which has 10",
    ),
    _kernel(
        "vm.max_map_count",
        262_144,
        "brokers map index files, two areas a log segment (OpenMessaging Benchmark's deployment: 262144)",
        "at least",
    ),
    Setting(
        "transparent huge pages",
        f"{_CHOICE} /sys/kernel/mm/transparent_hugepage/enabled",
        "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
        "madvise",
        "distributions differ; `always` has the kernel move pages under brokers that never asked for it",
    ),
    Setting(
        "CPU governor",
        "cat /sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor | sort -u | xargs",
        "for file in /sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor; do echo performance > $file; done",
        "performance",
        "else latency depends on how busy the CPU was before (tuned's latency-performance)",
    ),
    Setting(
        "deep C-states enabled",
        'seen=; n=0; for state in /sys/devices/system/cpu/cpu[0-9]*/cpuidle/state[0-9]*; do [ -e "$state/disable" ] || continue;'
        f' seen=1; read -r us < "$state/latency"; read -r off < "$state/disable";'
        f' if [ "$us" -gt {_SHALLOW_EXIT_US} ] && [ "$off" = 0 ]; then n=$((n + 1)); fi; done; [ -z "$seen" ] || echo $n',
        'for state in /sys/devices/system/cpu/cpu[0-9]*/cpuidle/state[0-9]*; do read -r us < "$state/latency";'
        f' if [ "$us" -gt {_SHALLOW_EXIT_US} ]; then echo 1 > "$state/disable"; fi; done',
        "0",
        "waking up from one takes as long as a round trip between the hosts (tuned's latency-performance forbids them)",
    ),
)


def settings_of(record: HostRecord) -> tuple[Setting, ...]:
    """Everything that a host must have: the kernel's, the limit of its SSH user, the queues of its owned disks."""
    devices = dict.fromkeys(data_dir.device for data_dir in record.data_dirs if data_dir.owned)
    return (*KERNEL, _open_files(record.ssh.user), *(setting for device in devices for setting in _queue(device)))


def _open_files(user: str) -> Setting:
    path = "/etc/security/limits.d/90-samebox.conf"
    return Setting(
        "open files",
        "ulimit -Hn",
        f"printf '%s hard nofile {OPEN_FILES}\\n' {shlex.quote(user)} > {path}",
        str(LEAST_OPEN_FILES),
        "broker documentation asks for at least 100,000 each; a JVM raises its own limit to this one",
        "at least",
    )


def _queue(device: str) -> tuple[Setting, ...]:
    """Settings of the disk that an owned device is or lies on; spinning disks keep their scheduler."""
    find = (
        f'device=$(readlink -f -- {shlex.quote(device)}); disk=$(lsblk -ndo PKNAME "$device" | head -n 1);'
        ' queue=/sys/block/${disk:-$(basename "$device")}/queue;'
    )
    return (
        Setting(
            f"{device} scheduler",
            f'{find} read -r spins < $queue/rotational; [ "$spins" = 1 ] || {_CHOICE} $queue/scheduler',
            f"{find} echo none > $queue/scheduler",
            "none",
            "an NVMe disk orders its own queue; a scheduler before it adds CPU and another order",
        ),
        Setting(
            f"{device} read-ahead KiB",
            f"{find} cat $queue/read_ahead_kb",
            f"{find} echo 128 > $queue/read_ahead_kb",
            "128",
            "catch-up reads are sequential and depend on it; 128 is the kernel's default, tuned profiles differ",
        ),
    )
