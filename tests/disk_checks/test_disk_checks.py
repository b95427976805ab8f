"""disk-checks as hosts run it: from the folder and from the pushed archive, through its command line."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from provisioning.hosts.disk_checks import archive, archive_sha256

FOLDER = Path(__file__).resolve().parents[2] / "disk-checks"
MIB = 1024 * 1024


@pytest.fixture(params=["folder", "archive"])
def program(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Both forms in which disk-checks is run."""
    if request.param == "folder":
        return str(FOLDER)
    packed = tmp_path / "disk-checks.pyz"
    packed.write_bytes(archive())
    return str(packed)


def run(program: str, *arguments: object) -> tuple[int, dict[str, Any]]:
    """Exit status and the printed JSON."""
    done = subprocess.run([sys.executable, program, *map(str, arguments)], capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    return done.returncode, json.loads(done.stdout)


def deleted_probe_of(pid: int) -> bool:
    """Whether the process holds an unlinked probe file open."""
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed since it was listed
            target = str(link.readlink())
            if ".samebox-probe-" in target and target.endswith("(deleted)"):
                return True
    return False


def await_true(condition: Any, what: str) -> None:
    """Waits up to ten seconds."""
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def test_throughput_writes_and_reads_what_was_asked(program: str, tmp_path: Path) -> None:
    """Both directions move exactly the size asked for, by dd's own clock, and leave no file."""
    place = tmp_path / "data"
    place.mkdir()
    status, result = run(program, "throughput", place, "--bytes", 3 * MIB - 1)
    assert status == 0
    for direction in ("write", "read"):
        assert result[direction]["bytes"] == 3 * MIB
        assert result[direction]["timed_by"] == "dd"
        assert 0 < result[direction]["seconds"] <= result[direction]["wall_s"]
    assert list(place.iterdir()) == []


def test_fsync_keeps_every_sample(program: str, tmp_path: Path) -> None:
    """As many samples as asked for, in nanoseconds, none of them zero."""
    status, result = run(program, "fsync", tmp_path, "--count", 25)
    assert status == 0
    assert len(result["samples_ns"]) == result["count"] == 25
    assert all(isinstance(sample, int) and sample > 0 for sample in result["samples_ns"])


def test_too_little_room_is_refused_before_writing(program: str, tmp_path: Path) -> None:
    """A probe larger than the free space starts nothing and says how much is there."""
    status, result = run(program, "throughput", tmp_path, "--bytes", 1 << 60)
    assert (status, result["error"]["kind"]) == (3, "no-space")
    assert "MB free" in result["error"]["message"]


@pytest.mark.parametrize("probe", ["throughput", "fsync", "device", "residency", "records"])
def test_a_missing_directory_is_an_error_in_json(probe: str) -> None:
    """No probe answers a wrong path with a traceback."""
    status, result = run(str(FOLDER), probe, "/nowhere/at/all")
    assert status == 3
    assert "/nowhere/at/all" in result["error"]["message"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_no_probe_file_outlives_a_signal(number: signal.Signals, tmp_path: Path) -> None:
    """However the probe is ended, its directory is empty: while it runs already."""
    child = subprocess.Popen(
        [sys.executable, str(FOLDER), "fsync", str(tmp_path), "--count", "10000000", "--bytes", "1"],
        stdout=subprocess.DEVNULL,
    )
    try:
        await_true(lambda: deleted_probe_of(child.pid), "the probe never opened its file")
        assert list(tmp_path.iterdir()) == []
        child.send_signal(number)
        assert child.wait(timeout=60) != 0
    finally:
        child.kill()
        child.wait()
    assert list(tmp_path.iterdir()) == []


def test_dd_ends_with_the_probe(tmp_path: Path) -> None:
    """A probe that is ended as soon as dd runs doesn't leave dd writing: it may not even have heard yet that dd was started."""
    (tmp_path / "bin").mkdir()
    slow_dd = tmp_path / "bin" / "dd"
    slow_dd.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nkill -TERM $PPID\nexec sleep 60\n")
    slow_dd.chmod(0o755)
    environment = {**os.environ, "PATH": f"{slow_dd.parent}:{os.environ['PATH']}"}
    for _ in range(10):
        child = subprocess.run([sys.executable, str(FOLDER), "throughput", str(tmp_path)], env=environment, timeout=60)
        assert child.returncode == 128 + signal.SIGTERM
        dd = int((tmp_path / "pid").read_text())
        await_true(partial(ended, dd), "dd goes on")


def ended(pid: int) -> bool:
    """Whether a process is gone, or only waits for somebody to take notice of it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_a_failing_dd_is_reported_with_its_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """dd's own complaint reaches the reader."""
    broken_dd = tmp_path / "dd"
    broken_dd.write_text("#!/bin/sh\necho 'dd: writing: Input/output error' >&2\nexit 1\n")
    broken_dd.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    status, result = run(str(FOLDER), "throughput", tmp_path, "--bytes", MIB)
    assert (status, result["error"]["kind"]) == (3, "dd-failed")
    assert "Input/output error" in result["error"]["message"]


def test_device_facts_name_the_mount_and_space(tmp_path: Path) -> None:
    """What the kernel always knows is there: number, mount, file system, free bytes."""
    status, result = run(str(FOLDER), "device", tmp_path)
    facts = result["devices"][0]
    number = tmp_path.stat().st_dev
    assert status == 0
    assert facts["device_number"] == f"{os.major(number)}:{os.minor(number)}"
    assert str(tmp_path).startswith(facts["mount"])
    assert facts["filesystem"]
    assert facts["free_bytes"] > 0


def test_idleness_sees_a_busy_machine() -> None:
    """A spinning process shows in the busy share."""
    spinner = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        _, result = run(str(FOLDER), "idle", "--seconds", 0.4)
    finally:
        spinner.kill()
        spinner.wait()
    assert result["busy_share"] > 0.5 / (os.cpu_count() or 1)


def test_records_and_cpu_give_rates(tmp_path: Path) -> None:
    """The client probes give rates above zero and leave no file."""
    _, records = run(str(FOLDER), "records", tmp_path, "--bytes", MIB)
    _, cpu = run(str(FOLDER), "cpu", "--seconds", 0.05)
    assert records["bytes"] == MIB
    assert records["bytes_per_s"] > 0
    assert cpu["bytes_per_s"] > 0
    assert list(tmp_path.iterdir()) == []


def test_network_counts_what_the_far_side_received() -> None:
    """Over loopback: all round trips are kept, bytes arrive, and the server ends with its standard input."""
    server = subprocess.Popen(
        [sys.executable, str(FOLDER), "serve", "127.0.0.1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert server.stdout is not None
    assert server.stdin is not None
    try:
        port = json.loads(server.stdout.readline())["port"]
        status, result = run(str(FOLDER), "network", "127.0.0.1", port, "--seconds", 0.1, "--round-trips", 20)
        assert status == 0
        assert len(result["round_trips_ns"]) == 20
        assert result["bytes"] > 2**20  # many times what one read takes
        server.stdin.close()
        assert server.wait(timeout=60) == 0
    finally:
        server.kill()
        server.wait()
        server.stdout.close()
    status, result = run(str(FOLDER), "network", "127.0.0.1", port)
    assert (status, result["error"]["kind"]) == (3, "no-connection")


def test_canary_is_resident_until_evicted(tmp_path: Path) -> None:
    """A file just read is in the page cache, and gone from it after the eviction of its tree."""
    canaries = [str(tmp_path / "canary-1"), str(tmp_path / "canary-2")]
    _, made = run(str(FOLDER), "canary", *canaries, "--bytes", 2 * MIB)
    assert all(each["resident_share"] > 0.99 for each in made["files"])
    _, evicted = run(str(FOLDER), "evict", tmp_path)
    _, after = run(str(FOLDER), "residency", *canaries)
    assert (evicted["files"], evicted["bytes"], evicted["resident_bytes_after"]) == (2, 4 * MIB, 0)
    assert [each["path"] for each in after["files"]] == canaries
    assert [(each["pages"], each["resident_share"]) for each in after["files"]] == [(2 * MIB // 4096, 0)] * 2


def test_the_archive_is_the_same_for_the_same_sources() -> None:
    """Its hash identifies the probes that ran, so packing twice must not differ."""
    first = archive_sha256()
    archive.cache_clear()
    assert archive_sha256() == first
