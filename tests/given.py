"""Archives of systems that can't be fetched: given to a test (`make test-<system> <SYSTEM>=FILE`), or added for good."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

import pytest

from provisioning.cache import user_cache
from systems.registry import SYSTEMS, lacking
from systems.software.added import added, needed


def archives_of(system: str) -> dict[str, Path]:
    """What `registry.software` is given for a system: nothing where it is pinned. A test without its file fails; it isn't skipped."""
    if system not in lacking(()):
        return {}
    variable = f"SAMEBOX_{system.upper()}"
    file = Path(os.environ.get(variable, ""))
    if not file.is_file():
        pytest.fail(f"{variable} names no file: make test-{system} {system.upper()}=FILE", pytrace=False)
    return {system: file}


def systems_here() -> list[str]:
    """The systems whose software is there: pinned, or added by `samebox software add`."""
    return sorted(SYSTEMS.keys() - lacking(added(user_cache())).keys())


def added_archives(systems: Collection[str]) -> dict[str, Path]:
    """What was added of these systems. Raises InvalidInput for an archive that was changed since."""
    found = {name: record.path(user_cache()) for name, record in added(user_cache()).items()}
    return needed(found, systems, user_cache())
