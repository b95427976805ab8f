"""Archives that the operator adds once, of software that can't be fetched: checked, copied into the user's cache, recorded by SHA-256.

`<cache>/added/<system>.json` is the record, `<cache>/added/<system>/` has the archive itself. The last one that was added counts.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from provisioning.cache import locked, sha256_of
from provisioning.document import parse_document
from provisioning.errors import InvalidInput
from provisioning.software.software import Software

ADDED_SCHEMA = 1
FOLDER = "added"


@dataclass(frozen=True)
class Added:
    """An archive as it was when it was added. `file`: its own name; `version`: what the archive says of itself."""

    schema: int
    system: str
    version: str
    sha256: str
    file: str

    def path(self, cache_dir: Path) -> Path:
        """Where its copy is."""
        return cache_dir / FOLDER / self.system / self.file


def add(system: str, read: Callable[[Path], Software], file: Path, cache_dir: Path) -> Added:
    """Checks an archive by `read` (see `System.archive`), keeps a copy and records it. Raises InvalidInput."""
    if not file.is_file():
        raise InvalidInput(f"no such file: {file}.")
    sha256 = sha256_of(file)
    version = read(file).version
    folder = cache_dir / FOLDER
    with locked(folder / f".{system}.lock"), tempfile.TemporaryDirectory(prefix=".adding-", dir=folder) as scratch:
        aside = Path(scratch) / system
        aside.mkdir()
        if sha256_of(shutil.copyfile(file, aside / file.name)) != sha256:
            raise InvalidInput(f"{file}: it changed while it was added.", next_step="Add it when it is whole.")
        shutil.rmtree(folder / system, ignore_errors=True)
        aside.rename(folder / system)
        record = Added(ADDED_SCHEMA, system, version, sha256, file.name)
        _write(record, cache_dir)
    return record


def _write(record: Added, cache_dir: Path) -> None:
    aside = cache_dir / FOLDER / f".{record.system}.json"
    aside.write_text(json.dumps(asdict(record), indent=1) + "\n")
    aside.replace(cache_dir / FOLDER / f"{record.system}.json")


def added(cache_dir: Path) -> dict[str, Added]:
    """System -> what was added for it and is there. Raises InvalidInput for a record that can't be read."""
    records = [
        parse_document(Added, file, schema=ADDED_SCHEMA) for file in sorted((cache_dir / FOLDER).glob("[!.]*.json"))
    ]
    return {record.system: record for record in records if record.path(cache_dir).is_file()}


def is_added(path: Path, cache_dir: Path) -> bool:
    """Whether a path is that of an archive that was added."""
    return path.is_relative_to(cache_dir / FOLDER)


def needed(archives: Mapping[str, Path], systems: Collection[str], cache_dir: Path) -> dict[str, Path]:
    """Archives without those that were added of other systems than these; added ones are the ones that were. Raises InvalidInput."""
    records = added(cache_dir)
    return {
        name: verified(records[name], cache_dir) if is_added(path, cache_dir) else path
        for name, path in archives.items()
        if name in systems or not is_added(path, cache_dir)
    }


def verified(record: Added, cache_dir: Path) -> Path:
    """The archive, which is the one that was added. Raises InvalidInput."""
    path = record.path(cache_dir)
    if (found := sha256_of(path)) != record.sha256:
        raise InvalidInput(
            f"{path}: it isn't the archive that was added: its SHA-256 is {found}, recorded {record.sha256}.",
            next_step=f"Add it again: samebox software add {record.system} --file FILE",
        )
    return path
