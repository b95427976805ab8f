"""Control groups of hosts that share a machine go again, also where the kernel takes a moment to let go of them."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from provisioning.faults.on_host import groups

real_rmdir = Path.rmdir


def busy(times: int) -> Callable[[Path], None]:
    """A kernel that says so many times that a group is busy."""
    left = [times]

    def rmdir(path: Path) -> None:
        if left[0]:
            left[0] -= 1
            raise OSError(errno.EBUSY, "Device or resource busy", str(path))
        real_rmdir(path)

    return rmdir


@pytest.fixture
def noted(tmp_path: Path) -> tuple[Path, Path]:
    """A host's run folder and its group, in which nothing runs; a directory stands for the group, whose files the kernel takes away."""
    run_dir, group = tmp_path / "run", tmp_path / "group"
    run_dir.mkdir()
    group.mkdir()
    (run_dir / groups.GROUP_FILE).write_text(f"{group}\n")
    return run_dir, group


def emptied(monkeypatch: pytest.MonkeyPatch, rmdir: Callable[[Path], None]) -> None:
    monkeypatch.setattr(Path, "rmdir", rmdir)
    monkeypatch.setattr(
        Path, "read_text", lambda path, real=Path.read_text: "" if path.name == "cgroup.procs" else real(path)
    )


def test_a_group_of_a_process_that_is_still_ending_is_removed(
    noted: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It lists no process any more and is busy twice: then it goes, and its note with it."""
    run_dir, group = noted
    emptied(monkeypatch, busy(2))
    groups.remove_group(run_dir)
    assert not group.exists()
    assert not (run_dir / groups.GROUP_FILE).exists()


def test_a_group_that_stays_busy_is_an_error_and_stays_noted(
    noted: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that whoever heals or takes down later finds it."""
    run_dir, group = noted
    monkeypatch.setattr(groups, "GONE_WITHIN_S", 0.05)
    emptied(monkeypatch, busy(10**9))
    with pytest.raises(OSError, match="busy"):
        groups.remove_group(run_dir)
    assert group.exists()
    assert (run_dir / groups.GROUP_FILE).exists()
