"""Ending what belongs to local hosts."""

from __future__ import annotations

import subprocess
import time

import pytest

from provisioning.testbeds.local import processes


def test_what_was_killed_on_a_busy_machine_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look that takes longer than there is time finds a process and kills it: whether that can't be killed, the next look says."""
    monkeypatch.setattr(processes, "END_TIMEOUT_S", 0.2)
    child = subprocess.Popen(["sleep", "600"])
    looked: list[int] = []

    def slowly(pid: int) -> bool:
        if pid != child.pid:
            return False
        looked.append(pid)
        if len(looked) == 1:
            time.sleep(0.3)
            return True
        child.wait(60)  # as an init would
        return False

    assert processes.end_processes(slowly) == 1
