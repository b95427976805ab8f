"""The sampler: on time, never two machines' numbers in one, never a daemon's counter going backwards."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench.telemetry.collect import SAMPLER_FILES
from bench.telemetry.sampler import INTERVAL_NS, Clock, Daemons, Machine, device_number, following_tick_ns

REPOSITORY = Path(__file__).parents[2]


def process(proc: Path, pid: int, *, started: int, ticks: int) -> None:
    """A process in a made-up /proc."""
    (proc / str(pid)).mkdir(parents=True, exist_ok=True)
    stat = f"{pid} (java) S 1 1 1 0 -1 0 0 0 0 0 {ticks} 100 0 0 20 0 5 0 {started} 0 10 0\n"
    (proc / str(pid) / "stat").write_text(stat)


def test_ticks_never_drift_and_missed_ones_are_skipped() -> None:
    """However long a sample took, the next is on the same raster and ahead."""
    assert following_tick_ns(0, 5) == INTERVAL_NS
    assert following_tick_ns(0, INTERVAL_NS - 1) == INTERVAL_NS
    assert following_tick_ns(0, INTERVAL_NS) == 2 * INTERVAL_NS
    assert following_tick_ns(7, 3 * INTERVAL_NS + 8) == 4 * INTERVAL_NS + 7


def test_the_clock_is_the_epoch_and_never_goes_back() -> None:
    """Anchored once: the difference of two readings is that of the monotonic clock."""
    clock = Clock()
    readings = [clock.epoch_ns() for _ in range(1000)]
    assert readings == sorted(readings)
    assert abs(clock.epoch_ns() - time.time_ns()) < 50_000_000


def test_daemons_come_and_go_and_their_cpu_time_only_grows(tmp_path: Path) -> None:
    """After a restart the new process' time is added to the old one's."""
    run, proc = tmp_path / "run", tmp_path / "proc"
    run.mkdir()
    daemons = Daemons(run, proc)
    assert daemons.sample() == {}
    process(proc, 10, started=1, ticks=300)
    (run / "broker.pid").write_text("10\n1\n/box/broker.log\n0\n")
    first = daemons.sample()["broker"]
    assert first == {"rss_bytes": 10 * os.sysconf("SC_PAGE_SIZE"), "cpu_s": 4.0, "cpu_user_s": 3.0, "threads": 5}
    (proc / "10" / "stat").unlink()
    assert daemons.sample() == {}
    process(proc, 11, started=2, ticks=50)
    (run / "broker.pid").write_text("11\n2\n/box/broker.log\n0\n")
    second = daemons.sample()["broker"]
    assert (second["cpu_s"], second["cpu_user_s"]) == (5.5, 3.5)


def test_a_recycled_pid_is_not_the_daemon(tmp_path: Path) -> None:
    """The kernel start time in the pid file must be the process' own; a half-written pid file is no daemon yet."""
    process(tmp_path / "proc", 10, started=77, ticks=300)
    (tmp_path / "run").mkdir()
    for content in ("10\n1\nlog\n0\n", "10", "", "10\n"):
        (tmp_path / "run" / "broker.pid").write_text(content)
        assert Daemons(tmp_path / "run", tmp_path / "proc").sample() == {}


def test_what_the_kernel_does_not_offer_is_left_out(tmp_path: Path) -> None:
    """Without pressure files there is no pressure metric, rather than zeros."""
    for name, text in (("stat", "cpu  1 1 1 1 1 1 1 1 0 0\ncpu0 1\n"), ("meminfo", ""), ("diskstats", "")):
        (tmp_path / name).write_text(text)
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "dev").write_text("a\nb\n")
    metrics = Machine([], tmp_path, tmp_path / "none").sample()
    assert metrics["cpus"] == 1
    assert not [name for name in metrics if name.startswith(("psi_", "disk_"))]


def test_a_disk_is_found_below_a_directory(tmp_path: Path) -> None:
    """Where the inventory's device isn't a block device here, the directory's file system tells it."""
    number = tmp_path.stat().st_dev
    expected = (os.major(number), os.minor(number))
    assert device_number("overlay", str(tmp_path)) == device_number("/dev/null", str(tmp_path)) == expected


@pytest.mark.parametrize("name", SAMPLER_FILES)
def test_what_runs_on_hosts_needs_python_3_9_and_nothing_else(name: str) -> None:
    """Broker hosts have their distribution's Python and no packages of ours."""
    tree = ast.parse((REPOSITORY / "bench" / "telemetry" / name).read_text(), feature_version=(3, 9))
    for node in ast.walk(tree):
        modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            modules = [node.module or ""]
        assert {module.split(".")[0] for module in modules} <= sys.stdlib_module_names


@pytest.mark.timeout(60)
@pytest.mark.parametrize("way", ["input closes", "parent dies"])
def test_it_ends_when_nobody_wants_it(way: str, tmp_path: Path) -> None:
    """A lost connection shows as closed input; a dead parent is noticed even when the input stays open."""
    words = [sys.executable, "-m", "bench.telemetry.sampler", "--root", str(tmp_path), "--out", str(tmp_path / "out")]
    between = "import subprocess, sys; subprocess.Popen(sys.argv[1:]).wait()"
    reading, writing = os.pipe()
    try:
        with subprocess.Popen(
            [sys.executable, "-c", between, *words], cwd=REPOSITORY, stdin=reading, stdout=subprocess.PIPE, text=True
        ) as parent:
            os.close(reading)
            assert parent.stdout is not None
            assert parent.stdout.readline() == "sampling\n"
            if way == "parent dies":
                parent.kill()
            else:
                os.close(writing)
            # The end of its output is the end of the sampler: both processes hold it, and the parent's end isn't enough.
            assert parent.stdout.read() == ""
    finally:
        if way == "parent dies":
            os.close(writing)
    lines = (tmp_path / "out").read_text().splitlines()
    assert lines and all(json.loads(line)["time_ns"] > 0 for line in lines)
