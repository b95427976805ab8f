"""Fixtures for tests of the command line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.campaign.command import samebox


@pytest.fixture
def home_with_testbed(tmp_path: Path) -> Iterator[Path]:
    """A folder with a testbed up, for the command's state and results."""
    up = samebox(tmp_path, "up")
    assert up.returncode == 0, up.stderr
    try:
        yield tmp_path
    finally:
        assert samebox(tmp_path, "down").returncode == 0
