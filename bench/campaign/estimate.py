"""How long a workload's load takes, how much it sends, and what that puts on disk: estimates from what the campaign's file says."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.campaign.order import TrialSpec
from bench.load.search import most_steps, step_of, warmup_of
from contract.workload import Workload
from provisioning.errors import MissingRequirement
from provisioning.hosts.host import Host, on_all
from systems.registry import DURABILITY, SYSTEMS

# A search that expects a quarter of what it finds, and begins up to an octave below that: three runs until the brokers are warm, two
# or three doublings, one that fails, three to five halvings of the bracket, every second of which is tried again, and the bracket's
# upper end once more (10 steps where they are short, 14 where they are not); one search in five has a confirmation that fails. Its
# steps are at twice the rate that is expected, on the average.
SEARCH_WARMUPS = 3
SEARCH_STEPS = 12
SEARCH_CONFIRMATIONS = 1.2
SEARCH_RISES = 2
SEARCH_FINDS = 4
# Once a load, workers connect and in the end leave; around each of its runs they get their jobs, and consumers drain.
CONNECT_S = 4.0
AROUND_A_RUN_S = 3.5
# Readers of a backlog are faster than its writers: in the published campaigns six to twelve times; half as long is for safety.
CATCH_UP_SHARE = 0.5
RECORD_BYTES_PER_MESSAGE = 60  # a produced and a consumed row with margin, before they are fetched
USABLE_SHARE = 0.5  # brokers stop accepting writes well before a disk is full


def sending_s(workload: Workload) -> float:
    """The seconds for which producers send: warm-up, search, backlog (while it is built and while it is read), measurement."""
    if workload.pacing != "search":
        return _run_s(workload)
    steps_s = SEARCH_WARMUPS * _run_s(warmup_of(workload)) + _search_steps(workload) * _run_s(step_of(workload))
    return steps_s + SEARCH_CONFIRMATIONS * _run_s(workload)


def load_s(workload: Workload) -> float:
    """The seconds that the load takes, from the first worker to the last."""
    searching = workload.pacing == "search"
    runs = SEARCH_WARMUPS + _search_steps(workload) + SEARCH_CONFIRMATIONS if searching else 1
    return sending_s(workload) + CONNECT_S + runs * AROUND_A_RUN_S


def messages(workload: Workload) -> float:
    """About how many messages are sent."""
    return _rate_per_s(workload, SEARCH_RISES) * sending_s(workload)


def messages_kept(workload: Workload) -> float:
    """About how many of them are in the trial's records: of a search only the last run is."""
    return _rate_per_s(workload, SEARCH_FINDS) * _run_s(workload)


def _search_steps(workload: Workload) -> int:
    return min(SEARCH_STEPS, most_steps(workload))


def _rate_per_s(workload: Workload, search_factor: int) -> int:
    factor = search_factor if workload.pacing == "search" else 1
    return min(factor * workload.planned_rate_per_s, workload.rate_per_s)


def _run_s(workload: Workload) -> float:
    catch_up_s = min(workload.backlog.catch_up_s, workload.build_s * CATCH_UP_SHARE) if workload.backlog else 0.0
    return workload.warmup_s + workload.build_s + catch_up_s + workload.measure_s


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
