"""Writes a site's folder: the pages, which are the same for all sites, and the data. The same campaigns give the same bytes."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.site.packing import as_script, packed_site
from bench.site.reading import Shown
from provisioning.errors import InvalidInput

PAGES = Path(__file__).with_name("pages")
INDEX, DATA = "index.html", "data.js"
_NAME = "SAMEBOX"
_OTHER = "Name another folder with -o."


@dataclass(frozen=True)
class Written:
    """A folder with a site in it; `size_bytes`: of all its files."""

    folder: Path
    campaigns: int
    entries: int
    size_bytes: int


def page_files() -> tuple[str, ...]:
    """The files that every site has beside its data, by their names in its folder."""
    return tuple(sorted(str(path.relative_to(PAGES)) for path in PAGES.rglob("*") if path.is_file()))


def require_replaceable(folder: Path) -> None:
    """Raises InvalidInput if a site can't be written there, or if the folder holds anything that isn't of an earlier one."""
    nearest = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not nearest.is_dir():
        raise InvalidInput(f"{folder}: can't be written: {nearest} is a file.", next_step=_OTHER)
    if not folder.is_dir():
        return
    known = {*page_files(), DATA}
    there = sorted(
        str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()
    )
    foreign = [name for name in there if name not in known]
    if foreign:
        raise InvalidInput(
            f"{folder}: contains files that aren't part of an earlier site ({', '.join(foreign[:3])}), so it isn't replaced.",
            next_step=_OTHER,
        )


def write_site(shown: Sequence[Shown], folder: Path, colours: Mapping[str, str]) -> Written:
    """Writes it aside and renames it. Raises InvalidInput as `require_replaceable`, and OSError; leaves nothing half-written."""
    require_replaceable(folder)
    aside = folder.absolute().with_name(f"{folder.absolute().name}.writing")
    shutil.rmtree(aside, ignore_errors=True)
    try:
        for name in page_files():
            (aside / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(PAGES / name, aside / name)
        (aside / DATA).write_text(as_script(packed_site(shown, colours), _NAME), encoding="utf-8")
        if folder.is_dir():
            shutil.rmtree(folder)
        aside.rename(folder)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    size_bytes = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return Written(folder, len(shown), sum(len(each.digest["entries"]) for each in shown), size_bytes)
