"""Reads bundles and imports for a site: everything that is believed of a file is what its SHA-256 says, and nothing is unpacked."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.bundle.reading import open_bundle
from bench.checkout import SCRATCH
from bench.report.ask import ask
from bench.site.repeat import Lines, lines_of
from contract import results_folder as layout
from provisioning.errors import InvalidInput

IMPORT = "import.json"  # of a folder that `samebox import-omb` wrote, with this table beside it
TABLE = "summary.csv"
REPORT = f"{layout.REPORT}/report.json"
_MOST_BYTES = 64 * 2**20
_BATCH_BYTES = 256 * 2**20  # of documents that lie in scratch at the same time

Ask = Callable[[str, Sequence[str]], str]


@dataclass(frozen=True)
class Shown:
    """One campaign of a site. `root`: of its bundle; None: imported, and there are no records. `records`: whether the rows of messages
    are in the bundle. `digest`: what analysis.digest made of its documents."""

    identity: str
    root: str | None
    records: bool
    signed: bool
    lines: Lines | None
    digest: dict[str, Any]


# what is known of a bundle or an import before analysis has read its documents: it lacks their digest
_Undigested = Callable[[dict[str, Any]], Shown]


def read_all(paths: Sequence[Path], on_file: Callable[[str], None], asking: Ask = ask) -> list[Shown]:
    """Bundles, and folders of imports, oldest first; of those that are the same, one. Raises InvalidInput, naming the file."""
    found: dict[str, Shown] = {}
    SCRATCH.mkdir(parents=True, exist_ok=True)
    waiting = list(paths)
    while waiting:
        with tempfile.TemporaryDirectory(prefix="site-", dir=SCRATCH) as scratch:
            batch = list(_put(waiting, Path(scratch), on_file))
            for (path, undigested), line in zip(batch, asking("analysis.digest", [scratch]).splitlines(), strict=True):
                shown = undigested(_digest(path, json.loads(line)))
                found.setdefault(shown.identity, shown)
    return sorted(found.values(), key=lambda each: (each.digest.get("created_ns", 0), each.identity))


def _put(waiting: list[Path], scratch: Path, on_file: Callable[[str], None]) -> Iterator[tuple[Path, _Undigested]]:
    """Puts the documents of the first of `waiting`, which it takes from there, into folders in their order."""
    put_bytes, number = 0, 0
    while waiting and put_bytes < _BATCH_BYTES:
        path = waiting.pop(0)
        on_file(path.name)
        folder = scratch / f"{number:06d}"
        folder.mkdir()
        yield path, _put_import(path, folder) if (path / IMPORT).is_file() else _put_bundle(path, folder)
        put_bytes += sum(file.stat().st_size for file in folder.iterdir())
        number += 1


def _put_bundle(path: Path, folder: Path) -> _Undigested:
    with open_bundle(path) as bundle:
        (folder / "report.json").write_bytes(bundle.read(REPORT))
        lines = lines_of(bundle.about.campaign, bundle.root, bundle.document(layout.MANIFEST))
        return partial(Shown, bundle.root, bundle.root, bundle.has_records, bundle.signature is not None, lines)


def _put_import(path: Path, folder: Path) -> _Undigested:
    for name in (IMPORT, TABLE):
        file = path / name
        if not file.is_file():
            raise InvalidInput(f"{path}: holds an {IMPORT} and no {name}.", next_step="Import its files again.")
        if file.stat().st_size > _MOST_BYTES:
            raise InvalidInput(f"{file}: has {file.stat().st_size:,} bytes; at most {_MOST_BYTES:,} are read.")
        shutil.copyfile(file, folder / name)
    digest = hashlib.sha256((folder / IMPORT).read_bytes()).hexdigest()
    return partial(Shown, f"import-{digest}", None, False, False, None)


def _digest(path: Path, line: dict[str, Any]) -> dict[str, Any]:
    if "refused" in line:
        raise InvalidInput(f"{path}: {line['refused']}", next_step=line["next_step"])
    return dict(line["digest"])
