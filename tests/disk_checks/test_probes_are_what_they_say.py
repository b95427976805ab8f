"""What a probe asks of the kernel and of dd: a flush that is one, I/O past the page cache. A figure alone can't tell."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

Script = Callable[[str], ModuleType]
MIB = 1024 * 1024
WRITE_NS, SYNC_NS = 3_000, 1_000_000
FAKE_DD = """\
#!{python}
import fcntl, json, pathlib, sys
direction = "write" if "if=/dev/zero" in sys.argv else "read"
note = {{"operands": sys.argv[1:], "flags": [fcntl.fcntl(number, fcntl.F_GETFL) for number in (0, 1)]}}
pathlib.Path({notes!r}, direction + ".json").write_text(json.dumps(note))
print("{size} bytes (2.1 MB, 2.0 MiB) copied, 0.5 s, 4.2 MB/s", file=sys.stderr)
"""


class Clock:
    """A clock that only moves when a system call is made."""

    def __init__(self) -> None:
        self.now_ns = 0
        self.calls: list[tuple[str, int, int]] = []  # name, descriptor, bytes

    def write(self, descriptor: int, block: bytes) -> int:
        """A write that takes WRITE_NS and stores nothing."""
        self.calls.append(("write", descriptor, len(block)))
        self.now_ns += WRITE_NS
        return len(block)

    def fdatasync(self, descriptor: int) -> None:
        """A flush that takes SYNC_NS."""
        self.calls.append(("fdatasync", descriptor, 0))
        self.now_ns += SYNC_NS


def test_every_sample_of_the_fsync_probe_is_a_write_and_its_flush(
    script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each write is followed by an fdatasync of the same file, and the time of both is the sample."""
    clock, probe = Clock(), script("disk")
    monkeypatch.setattr(os, "write", clock.write)
    monkeypatch.setattr(os, "fdatasync", clock.fdatasync)
    monkeypatch.setattr(probe.time, "monotonic_ns", lambda: clock.now_ns)
    result = probe.fsync_latency(str(tmp_path), 4, 4096)
    monkeypatch.undo()
    (descriptor,) = {call[1] for call in clock.calls}
    assert clock.calls == [("write", descriptor, 4096), ("fdatasync", descriptor, 0)] * 4
    assert result["samples_ns"] == [WRITE_NS + SYNC_NS] * 4


@pytest.fixture
def recorded_dd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A dd that notes its operands and how its standard input and output are open; returns the folder of the notes."""
    dd = tmp_path / "bin" / "dd"
    dd.parent.mkdir()
    dd.write_text(FAKE_DD.format(python=sys.executable, notes=str(tmp_path), size=2 * MIB))
    dd.chmod(0o755)
    monkeypatch.setenv("PATH", f"{dd.parent}:{os.environ['PATH']}")
    return tmp_path


def test_dd_writes_and_reads_past_the_page_cache(script: Script, recorded_dd: Path) -> None:
    """The file is opened for direct I/O, dd is told so too, and a write ends with a flush before dd's clock stops."""
    result = script("disk").throughput(str(recorded_dd), 2 * MIB)
    write, read = (json.loads((recorded_dd / f"{direction}.json").read_text()) for direction in ("write", "read"))
    assert write["operands"] == [f"bs={MIB}", "count=2", "if=/dev/zero", "oflag=direct", "conv=fsync"]
    assert read["operands"] == [f"bs={MIB}", "count=2", "of=/dev/null", "iflag=direct"]
    assert write["flags"][1] & os.O_DIRECT
    assert read["flags"][0] & os.O_DIRECT
    assert (result["write"]["bytes_per_s"], result["read"]["bytes_per_s"]) == (4 * MIB, 4 * MIB)
