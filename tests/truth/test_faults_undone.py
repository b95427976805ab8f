"""The orchestrator killed again and again around faults: nothing stays frozen, cut off or slowed down, and the campaign can go on."""

from __future__ import annotations

import random
import subprocess
import threading
import time
from pathlib import Path

import pytest

from bench.results.folder import Results
from provisioning.faults.on_host import cut
from provisioning.testbeds.local.processes import belongs_under
from tests.campaign.command import samebox, start
from tests.provisioning.test_faults_by_kernel import may_cut

pytestmark = [pytest.mark.integration, pytest.mark.truth, pytest.mark.timeout(3600)]
KILLS = 50
LIMIT_S = 300.0
UNDONE_WITHIN_S = 5.0
# from the load's beginning: clients connect, and then a fault every three seconds
EARLIEST_S, LATEST_S = 3.0, 17.0
TRIAL = "b01-1-nats-l2-disturbed"
CAMPAIGN = """
schema = 1
name = "killed"
question = "Is every fault undone, whoever dies?"
seed = 1
systems = ["nats"]
durability = [2]
blocks = 1

[[workloads]]
name = "disturbed"
rate_per_s = 200
message_bytes = 256
partitions = 1
warmup_s = 1
measure_s = 14
"""
FAULTS = """
[[workloads.faults]]
at_s = 1
do = "freeze"
target = "all"
for_s = 2

[[workloads.faults]]
at_s = 4
do = "cut"
target = "leader:0/0"
for_s = 2

[[workloads.faults]]
at_s = 7
do = "freeze"
target = "coordinator"
for_s = 2

[[workloads.faults]]
at_s = 10
do = "kill"
target = "follower:0/0"
for_s = 1
"""


def killed_in_its_load(home: Path, words: list[str], after_s: float) -> str:
    """Runs the command until so long after its load began, and kills it; what it said. It must not have ended before."""
    said: list[str] = []
    with start(home, *words, "--plain") as process:
        assert process.stderr is not None
        guard = threading.Timer(LIMIT_S, process.kill)
        guard.start()
        try:
            for line in process.stderr:
                said.append(line)
                if line.startswith("[") and ": load " in line:
                    break
            time.sleep(after_s)
            assert process.poll() is None, said
        finally:
            guard.cancel()
            process.kill()
            subprocess.Popen.communicate(process)
    return "".join(said)


def in_effect(home: Path) -> list[str]:
    """Which faults are in effect on the testbed: frozen processes, tables that drop packets, groups that slow a disk, notes of any."""
    ours = belongs_under(home / ".samebox")
    found = [f"process {pid} is frozen" for pid in _pids() if _state(pid) in ("T", "t") and ours(pid)]
    found += [line for line in cut.nft(["list", "tables"], "").splitlines() if "samebox_" in line]
    found += [str(group) for group in Path("/sys/fs/cgroup").glob("*/samebox-slow-*")]
    return found + [str(mark) for mark in (home / ".samebox").glob("**/run/faults/*.json")]


def _pids() -> list[int]:
    return [int(folder.name) for folder in Path("/proc").iterdir() if folder.name.isdigit()]


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def test_a_killed_orchestrator_leaves_no_fault_behind(tmp_path: Path) -> None:
    """However it dies around its faults, they are undone within seconds without it; in the end the campaign completes."""
    if why := may_cut():
        pytest.skip(why)
    file = tmp_path / "killed.toml"
    file.write_text(CAMPAIGN + FAULTS)
    results = Results(tmp_path / "results" / "killed")
    chooser = random.Random(26)
    assert samebox(tmp_path, "up").returncode == 0
    try:
        words, left = ["run", str(file)], dict[str, list[str]]()
        for number in range(KILLS):
            after_s = chooser.uniform(EARLIEST_S, LATEST_S)
            killed_in_its_load(tmp_path, words, after_s)
            deadline = time.monotonic() + UNDONE_WITHIN_S
            while (found := in_effect(tmp_path)) and time.monotonic() < deadline:
                time.sleep(0.05)
            if found:
                left[f"kill {number}, {after_s:.1f} s into the load"] = found
            words = ["resume", str(results.root)]
        assert left == {}
        assert results.finished() == ()
        resumed = samebox(tmp_path, "resume", str(results.root), "--plain")
    finally:
        down = samebox(tmp_path, "down")
    assert down.returncode == 0, down.stdout + down.stderr
    assert in_effect(tmp_path) == []
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    assert results.finished() == (TRIAL,)
