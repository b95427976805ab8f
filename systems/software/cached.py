"""The user's cache of software, whatever its kind: each in a folder that is made aside and renamed when it is whole."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from provisioning.cache import locked
from provisioning.software.software import Software, entry_of


def cached(software: Software, cache_dir: Path, is_whole: Callable[[Path], bool], make: Callable[[Path], None]) -> Path:
    """The software's folder in the cache; `make` fills a new one where there is none that `is_whole`."""
    entry = entry_of(software, cache_dir)
    with locked(entry.with_name(f".{entry.name}.lock")):
        if not is_whole(entry):
            with tempfile.TemporaryDirectory(prefix=".fetching-", dir=entry.parent) as scratch:
                aside = Path(scratch) / "entry"
                make(aside)
                shutil.rmtree(entry, ignore_errors=True)
                aside.rename(entry)
    return entry
