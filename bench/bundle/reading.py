"""A bundle as its readers see it: opened without unpacking, every file read on its own, and believed only if its SHA-256 is right.

with open_bundle(path) as bundle:
    bundle.root, bundle.has_records, bundle.names
    manifest = bundle.document("manifest.json")
    page = bundle.read("report/index.html")

Opening reads the directory, the sums and bundle.json; nothing else is touched until it is asked for.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any

from bench.bundle.archive import Archive
from bench.bundle.layout import ABOUT, BUNDLE_SCHEMA, COVER, OF_THE_ROOT, SIGNATURE, SUMS
from bench.bundle.sums import digest_of, read_sums, root_of
from bench.campaign.campaign import Slug
from contract import results_folder as layout
from provisioning.document import build, parse_json
from provisioning.errors import InvalidInput, MissingRequirement

MOST_DOCUMENT_BYTES = 64 * 2**20
MOST_SUMS_BYTES = 64 * 2**20
MOST_SIGNATURE_BYTES = 64 * 2**10


@dataclass(frozen=True)
class About:
    """bundle.json: the version of the layout, the campaign's name, and whether the rows of messages are in it."""

    schema: int
    campaign: Slug
    records: bool


class Bundle:
    """The files of a bundle by name; a context manager. What isn't as its sum says raises InvalidInput when it is read.

    `unlisted`: files that no sum is of, so that the root isn't over them. `missing`: files of which there is a sum alone.
    """

    def __init__(self, archive: Archive) -> None:
        """Raises InvalidInput for what can't be a bundle. Owns the archive."""
        self.archive = archive
        self.path = archive.path
        self._sizes = archive.sizes
        for name in (SUMS, COVER, ABOUT, layout.MANIFEST):
            if name not in self._sizes:
                raise InvalidInput(f"{self.path}: not a bundle of samebox: it holds no {name}.")
        sums = self._bytes(SUMS, MOST_SUMS_BYTES)
        self.root = root_of(sums)
        self.digests: Mapping[str, str] = read_sums(_text(sums, f"{self.path}: {SUMS}"), f"{self.path}: {SUMS}")
        there, listed = set(self._sizes) - OF_THE_ROOT, set(self.digests)
        self.unlisted, self.missing = tuple(sorted(there - listed)), tuple(sorted(listed - there))
        self.about = self._about()

    def __enter__(self) -> Bundle:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.archive.__exit__(kind, error, at)

    @property
    def names(self) -> tuple[str, ...]:
        """The files that the root is over, sorted."""
        return tuple(sorted(self.digests))

    @property
    def has_records(self) -> bool:
        """Whether the rows of messages are in it; if not, no figure can be recomputed, and every page that shows it must say so."""
        return self.about.records

    @cached_property
    def signature(self) -> bytes | None:
        """The signature of the root as ssh-keygen wrote it; None: it isn't signed."""
        return self._bytes(SIGNATURE, MOST_SIGNATURE_BYTES) if SIGNATURE in self._sizes else None

    @cached_property
    def cover(self) -> bytes:
        """The page that prints the root."""
        return self._bytes(COVER, MOST_DOCUMENT_BYTES)

    def size_bytes(self, name: str) -> int:
        """How long a file is."""
        return self._sizes[name]

    def read(self, name: str, *, most_bytes: int = MOST_DOCUMENT_BYTES) -> bytes:
        """A file. Raises InvalidInput if it is longer than `most_bytes`, or isn't what its sum says."""
        self._require_there(name)
        content = self._bytes(name, most_bytes)
        if hashlib.sha256(content).hexdigest() != self.digests[name]:
            raise InvalidInput(f"{self.path}: {name} isn't what was bundled: its SHA-256 is another.")
        return content

    def document(self, name: str) -> dict[str, Any]:
        """A JSON object. Raises InvalidInput as `read`, and if it is malformed."""
        document = self.json(name)
        if not isinstance(document, dict):
            raise InvalidInput(f"{self.path}: {name}: expected a JSON object.")
        return document

    def json(self, name: str) -> Any:
        """What a JSON file holds. Raises InvalidInput as `read`, and if it is malformed."""
        where = f"{self.path}: {name}"
        return parse_json(_text(self.read(name), where), where)

    def altered(self) -> tuple[str, ...]:
        """The files that are there and aren't what their sums say; reads all of them."""
        there = set(self.names) - set(self.missing)
        return tuple(name for name in sorted(there) if self._digest(name) != self.digests[name])

    def unpack(self, folder: Path, names: Collection[str] | None = None) -> None:
        """Writes files (None: all that the root is over) below a new folder, as they are. Raises MissingRequirement, InvalidInput."""
        chosen = self.names if names is None else tuple(names)
        needed_bytes, free_bytes = sum(map(self.size_bytes, chosen)), shutil.disk_usage(folder.parent).free
        if needed_bytes > free_bytes:
            raise MissingRequirement(
                f"{self.path}: its files take {needed_bytes:,} bytes, and {folder.parent} has {free_bytes:,} left.",
                next_step="Free some space there, or name a folder elsewhere by SAMEBOX_HOME.",
            )
        for name in chosen:
            self._require_there(name)
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            with self.archive.open(name) as source, target.open("xb") as sink:
                shutil.copyfileobj(source, sink, 1 << 20)

    def _about(self) -> About:
        document = self.document(ABOUT)
        if document.get("schema") != BUNDLE_SCHEMA:
            raise InvalidInput(
                f"{self.path}: {ABOUT}: schema is {document.get('schema')!r}, this samebox reads bundles of schema {BUNDLE_SCHEMA}.",
                next_step="Use the version of samebox that made it.",
            )
        return build(About, document, where=f"{self.path}: {ABOUT}", strict=True)

    def _require_there(self, name: str) -> None:
        if name not in self.digests or name not in self._sizes:
            raise InvalidInput(f"{self.path}: holds no {name}.")

    def _bytes(self, name: str, most_bytes: int) -> bytes:
        if self._sizes[name] > most_bytes:
            raise InvalidInput(f"{self.path}: {name} has {self._sizes[name]:,} bytes; at most {most_bytes:,} are read.")
        with self.archive.open(name) as stream:
            return stream.read()

    def _digest(self, name: str) -> str | None:
        try:
            with self.archive.open(name) as stream:
                return digest_of(stream)
        except InvalidInput:  # the archive's own checksum tells it as well
            return None


def open_bundle(path: Path) -> Bundle:
    """A bundle of which nothing but its table of contents has been read. Raises InvalidInput, naming what can't be."""
    archive = Archive(path)
    try:
        return Bundle(archive)
    except BaseException:
        archive.__exit__(None, None, None)
        raise


def _text(content: bytes, where: str) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidInput(f"{where}: not UTF-8.") from None
