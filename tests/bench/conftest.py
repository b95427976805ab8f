"""What tests of a whole load share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.thread_host import ThreadHost


@pytest.fixture
def quick_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten times the usual pace, so that a test needn't wait for the next second."""
    monkeypatch.setattr("bench.worker.work.PROGRESS_EVERY_S", 0.1)


@pytest.fixture
def clients(tmp_path: Path) -> list[ThreadHost]:
    """Two client hosts."""
    return [ThreadHost("client-1", tmp_path), ThreadHost("client-2", tmp_path)]
