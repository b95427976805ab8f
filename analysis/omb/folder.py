"""The local folder that a task writes: aside first, then renamed over an earlier one of its kind. It knows no content."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection
from pathlib import Path

from analysis.errors import AnalysisError

SUCCESS = "_SUCCESS"
_OTHER = "Give another folder with --out."


def require_replaceable(out: Path, *, kind: str, replaces: Collection[str]) -> None:
    """Raises AnalysisError if `out` can't be a folder of this kind, or holds anything but `replaces`."""
    try:
        if not out.exists():
            nearest = next(parent for parent in out.parents if parent.exists())
            if not nearest.is_dir():
                raise AnalysisError(f"{out}: can't be written: {nearest} is a file.", next_step=_OTHER)
            return
        if not out.is_dir():
            raise AnalysisError(f"{out}: can't be written: it is a file.", next_step=_OTHER)
        foreign = sorted(entry.name for entry in out.iterdir() if entry.name not in replaces)
    except OSError as error:
        raise AnalysisError(f"{out}: can't be written: {error.strerror}.", next_step=_OTHER) from None
    if foreign:
        raise AnalysisError(
            f"{out}: holds files that aren't of an earlier {kind} ({', '.join(foreign[:3])}), so it isn't replaced.",
            next_step=_OTHER,
        )


def write_folder(out: Path, write: Callable[[Path], None]) -> None:
    """Has `write` fill a folder beside `out`, which then takes its place. Raises AnalysisError, and leaves nothing half-written."""
    aside = out.with_name(f"{out.name}.writing")
    try:
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
        try:
            write(aside)
            (aside / SUCCESS).touch()
            if out.exists():
                shutil.rmtree(out)
            aside.rename(out)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    except OSError as error:
        raise AnalysisError(f"{out}: can't be written: {error.strerror or error}.", next_step=_OTHER) from None
