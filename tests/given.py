"""Archives that an operator gives to the tests of systems that can't be fetched: `make test-<system> <SYSTEM>=FILE`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from systems.registry import lacking


def archives_of(system: str) -> dict[str, Path]:
    """What `registry.software` is given for a system: nothing where it is pinned. A test without its file fails; it isn't skipped."""
    if system not in lacking(()):
        return {}
    variable = f"SAMEBOX_{system.upper()}"
    file = Path(os.environ.get(variable, ""))
    if not file.is_file():
        pytest.fail(f"{variable} names no file: make test-{system} {system.upper()}=FILE", pytrace=False)
    return {system: file}
