"""Waiting for quiet disks: how many looks it takes, what counts as busy, and when it gives up."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

Script = Callable[[str], ModuleType]
FOLDER = Path(__file__).resolve().parents[2] / "disk-checks"
MIB = 1 << 20


class Disks:
    """Looks as they are scripted, the last one for ever; time passes by sleeping only."""

    def __init__(self, *looks: tuple[int, int, int]) -> None:
        self._looks: Iterator[tuple[int, int, int]] = iter(looks)
        self._last = looks[-1]
        self.now_s = 0.0
        self.looked = 0

    def look(self, disks: Iterable[str]) -> dict[str, Any]:
        """Requests in flight, dirty and written-back bytes."""
        del disks
        self.looked += 1
        self._last = next(self._looks, self._last)
        return dict(zip(("in_flight", "dirty_bytes", "writeback_bytes"), self._last, strict=True))

    def sleep(self, seconds: float) -> None:
        """Time passes."""
        self.now_s += seconds


def settled(script: Script, place: Path, *looks: tuple[int, int, int]) -> tuple[dict[str, Any], Disks]:
    """With 16 MiB as the most that may be left to write, and 10 s."""
    disks = Disks(*looks)
    settle = script("quiet").settle
    found = settle([str(place)], 10.0, 16 * MIB, look=disks.look, now_s=lambda: disks.now_s, sleep=disks.sleep)
    return found, disks


def test_quiet_disks_are_looked_at_five_times(script: Script, tmp_path: Path) -> None:
    """One quiet look between two requests is no rest."""
    found, disks = settled(script, tmp_path, (0, 0, 0))
    assert (found["quiet"], found["waited_s"], disks.looked) == (True, 0.4, 5)


@pytest.mark.parametrize("busy", [(1, 0, 0), (0, 17 * MIB, 0), (0, 0, 17 * MIB), (0, 9 * MIB, 9 * MIB)])
def test_the_count_begins_anew_after_a_busy_look(script: Script, tmp_path: Path, busy: tuple[int, int, int]) -> None:
    """A request in flight, or more than the bound to be written back, each by itself."""
    found, disks = settled(script, tmp_path, (0, 0, 0), (0, 0, 0), busy, (0, 4096, 0))
    assert (found["quiet"], disks.looked) == (True, 8)
    assert found["dirty_bytes"] == 4096


def test_a_disk_that_never_rests_is_reported_when_time_is_up(script: Script, tmp_path: Path) -> None:
    """With what it was still doing."""
    found, disks = settled(script, tmp_path, (3, 0, 0))
    assert (found["quiet"], found["in_flight"]) == (False, 3)
    assert found["waited_s"] == pytest.approx(10.0, abs=0.2)
    assert disks.looked == pytest.approx(101, abs=2)


def test_on_a_real_host_it_answers_with_what_it_saw(tmp_path: Path) -> None:
    """Through the command line; a machine that is busy may not be quiet, but it says so in time."""
    command = [sys.executable, str(FOLDER), "settle", str(tmp_path), "--seconds", "1.0"]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout)
    assert set(found) == {"quiet", "waited_s", "disks", "in_flight", "dirty_bytes", "writeback_bytes"}
    assert found["dirty_bytes"] >= 0
