"""How many bytes a campaign's largest trial puts on disk, and whether they fit. Estimates only; reads free space over SSH."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.campaign.campaign import TrialSpec
from bench.campaign.estimate import messages, messages_kept, sending_s
from provisioning.errors import MissingRequirement
from provisioning.hosts.host import Host, on_all
from systems.registry import DURABILITY, SYSTEMS

RECORD_BYTES_PER_MESSAGE = 60  # a produced and a consumed row with margin, before they are fetched
USABLE_SHARE = 0.5  # brokers stop accepting writes well before a disk is full


@dataclass(frozen=True)
class DiskNeed:
    """Bytes the largest trial of a campaign puts on the brokers' disks, and which trial that is."""

    trial: str
    bytes: int
    sentence: str


def need_of(trial: TrialSpec) -> DiskNeed:
    """rate x size x copies x write amplification x time, plus the records."""
    workload = trial.workload
    variant = DURABILITY[trial.durability].variant
    factor = (variant or SYSTEMS[trial.system]).write_amplification
    total = int(messages(workload) * workload.message_bytes * trial.replication_factor * factor + record_bytes(trial))
    about = "" if workload.pacing == "open-loop" else "about "
    seconds = sending_s(workload)
    sentence = (
        f"{about}{messages(workload) / seconds:,.0f} messages/s x {workload.message_bytes:,} bytes x "
        f"{trial.replication_factor} copies x {factor:g} (how often each is written) x {seconds:,.0f} s"
    )
    return DiskNeed(trial.trial, total, sentence)


def record_bytes(trial: TrialSpec) -> float:
    """What a trial's records take at most."""
    if trial.generator == "native":
        return 0.0
    workload = trial.workload
    readers = (workload.subscriptions if workload.consumers else 0) + (
        workload.backlog.subscriptions if workload.backlog else 0
    )
    return messages_kept(workload) * RECORD_BYTES_PER_MESSAGE * max(1, readers)


def free_bytes(hosts: Sequence[Host]) -> Mapping[str, int]:
    """Free bytes per distinct disk of the brokers' data directories: "boot id:device" -> bytes, one round trip a host."""

    def read(host: Host) -> list[tuple[str, int]]:
        paths = " ".join(shlex.quote(directory.path) for directory in host.record.data_dirs)
        answer = host.run(f"cat /proc/sys/kernel/random/boot_id; df -B1 --output=source,avail -- {paths}")
        boot_id, _, *lines = answer.stdout.splitlines()
        return [(f"{boot_id}:{line.split()[0]}", int(line.split()[-1])) for line in lines]

    disks: dict[str, int] = {}
    for answers in on_all("reading free disk space", hosts, read).values():
        disks.update(answers)
    return disks


def largest_need(trials: Sequence[TrialSpec]) -> DiskNeed:
    """That of the trial that writes most; every trial begins on wiped disks."""
    return max((need_of(trial) for trial in trials), key=lambda need: need.bytes)


def check_space(trials: Sequence[TrialSpec], brokers: Sequence[Host]) -> DiskNeed:
    """The largest need. Raises MissingRequirement when it exceeds half of what is free on the brokers' distinct disks."""
    largest = largest_need(trials)
    disks = free_bytes(brokers)
    free = sum(disks.values())
    if largest.bytes > free * USABLE_SHARE:
        raise MissingRequirement(
            f"not enough disk: {largest.trial} writes about {gibibytes(largest.bytes)} ({largest.sentence}), and half of what is free "
            f"on {len(disks)} disk{'s' if len(disks) > 1 else ''} is {gibibytes(free * USABLE_SHARE)}.",
            next_step="Run it at a smaller --scale, lower rate_per_s, message_bytes or measure_s in the campaign file, or free space.",
        )
    return largest


def gibibytes(count: float) -> str:
    """Bytes as TiB, GiB or MiB, three figures."""
    for exponent, unit in ((40, "TiB"), (30, "GiB")):
        if count >= 2**exponent:
            return f"{count / 2**exponent:.3g} {unit}"
    return f"{count / 2**20:.3g} MiB"
