"""Loads the scripts of disk-checks/ as modules; they are no package, because hosts run the folder as it is."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

DISK_CHECKS = Path(__file__).resolve().parents[2] / "disk-checks"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    """A script by name, fresh for each test and forgotten after it."""
    monkeypatch.syspath_prepend(str(DISK_CHECKS))
    before = set(sys.modules)
    yield importlib.import_module
    names = {path.stem for path in DISK_CHECKS.glob("*.py")}
    for name in (set(sys.modules) - before) & names:
        del sys.modules[name]
