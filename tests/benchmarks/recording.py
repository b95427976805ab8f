"""What keeping a record of every message costs: time and bytes per message, and a worker's memory over minutes."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.load.floor import NULL_MODULE, null_broker
from bench.load.load import LoadSpec
from bench.load.worker_pool import run_load
from bench.worker.clock import anchored_clock
from bench.worker.open_loop import chunks_of
from bench.worker.records import RecordFiles, WrittenFile
from bench.worker.schedule import SECOND_NS, Schedule
from bench.worker.send_log import SendLog
from contract.workload import Workload
from provisioning.hosts.host import Host

PARTITIONS = 6
SAMPLE_EVERY_S = 2.0
# The resident memory of this host's producer worker, by the variable that every process of a local host carries.
_RSS_COMMAND = """python3 - <<'END'
import os, pathlib
root = os.environ["SAMEBOX_HOST_ROOT"].encode()
for folder in pathlib.Path("/proc").iterdir():
    try:
        if folder.name.isdigit() and b"bench.worker.main" in (folder / "cmdline").read_bytes().split(bytes(1)):
            if b"SAMEBOX_HOST_ROOT=" + root in (folder / "environ").read_bytes().split(bytes(1)):
                print(int((folder / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
    except OSError:
        continue
END"""


@dataclass(frozen=True)
class Recording:
    """CPU microseconds per message in which its times are noted and written."""

    messages: int
    us_per_message: float


@dataclass(frozen=True)
class Memory:
    """Resident bytes of the producer and consumer worker together, the highest of each tenth of the run's samples."""

    minutes: float
    highest_bytes: tuple[int, ...]

    @property
    def growth(self) -> float:
        """The last tenth against the third: how much memory grew once the run had settled (1 = not at all)."""
        return self.highest_bytes[-1] / self.highest_bytes[2]


def recording_cost(messages: int, folder: Path) -> Recording:
    """The send log alone, without a client: every time noted, every file written, on one thread."""
    clock = anchored_clock()
    files: list[WrittenFile] = []
    schedule = Schedule(1_000_000, 1, "constant", 0, messages * SECOND_NS // 1_000_000, seed=1)
    start_ns = clock.now_ns()
    log = SendLog(0, RecordFiles(folder, clock.anchor_ns, lambda: schedule.phases(start_ns), files.append))
    began_s = time.process_time()
    for first, intended_ns in chunks_of(schedule, 0, start_ns):
        block = log.open(first, intended_ns)
        for position in range(len(intended_ns)):
            log.handed_over += 1
            block.sent[position] = time.monotonic_ns()
            log.acknowledged(first + position, position % PARTITIONS)
        block.passed = True
        log.sweep()
    log.close(iter(()), clock.now_ns())
    spent_s = time.process_time() - began_s
    rows = sum(file.rows for file in files)
    return Recording(rows, spent_s * 1e6 / rows)


def memory_over(minutes: float, rate_per_s: int, client: Host, pythons: Mapping[str, str]) -> Memory:
    """Runs a producer and a consumer against a broker that stores nothing, and watches their memory."""
    workload = Workload(
        name="memory", rate_per_s=rate_per_s, message_bytes=1024, measure_s=minutes * 60, warmup_s=0
    )  # fmt: skip
    samples: list[int] = []
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(SAMPLE_EVERY_S):
            found = [int(line) for line in client.run(_RSS_COMMAND).stdout.split()]
            if len(found) == 2:  # while one of them starts or ends there is nothing to compare
                samples.append(sum(found))

    watcher = threading.Thread(target=watch)
    with null_broker(client, pythons[client.name]) as service_url:
        spec = LoadSpec(workload, NULL_MODULE, service_url, client_settings={}, topics=("memory",), seed=1)
        watcher.start()
        try:
            result = run_load(spec, [client], pythons)
        finally:
            ended.set()
            watcher.join()
            client.run(f"rm -rf {client.record.root}/load")
    if result.abort is not None:
        raise RuntimeError(result.abort["reason"])
    if len(samples) < 10:
        raise RuntimeError(f"{len(samples)} samples of memory in {minutes:g} minutes are too few; make it longer")
    tenth = len(samples) // 10
    return Memory(minutes, tuple(max(samples[at : at + tenth]) for at in range(0, 10 * tenth, tenth)))
