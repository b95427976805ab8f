"""What is written to the kernel's switch for the page cache, and when: the command itself, with a file in the switch's place."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from provisioning.reset.reset import DROP_COMMAND

SWITCH = "/proc/sys/vm/drop_caches"


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a `sync` that notes what the switch holds at that moment, and a `sudo` that just does as it is told."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "sync").write_text(
        f"#!/bin/sh\ncat {tmp_path}/switch >> {tmp_path}/at-sync 2>/dev/null || echo none >> {tmp_path}/at-sync\n"
    )
    (folder / "sudo").write_text(
        f'#!/bin/sh\n[ "$1" = -n ] || exit 64\nshift\necho "$@" > {tmp_path}/by-sudo\nexec "$@"\n'
    )
    for tool in folder.iterdir():
        tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return tmp_path


@pytest.mark.parametrize(("mine", "by_sudo"), [(True, False), (False, True)])
def test_the_switch_gets_a_three_after_a_sync(tools: Path, mine: bool, by_sudo: bool) -> None:
    """3 drops pages, dentries and inodes; 1 or 2 would leave some, and 0 isn't a drop. Dirty pages are flushed first."""
    switch = tools / "switch"
    if mine:
        switch.write_text("0\n")
    assert SWITCH in DROP_COMMAND
    command = DROP_COMMAND.replace(SWITCH, str(switch))
    subprocess.run(["sh", "-c", command], check=True, timeout=120)
    assert switch.read_text() == "3\n"
    assert (tools / "at-sync").read_text() == ("0\n" if mine else "none\n")
    assert (tools / "by-sudo").exists() is by_sudo
