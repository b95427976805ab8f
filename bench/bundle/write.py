"""Makes a bundle: one file with everything that a stranger needs to recompute a report, and the root that stands for all of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.bundle.archive import Entry, held, write_archive
from bench.bundle.contents import contents_of
from bench.bundle.cover import cover_page
from bench.bundle.layout import COVER, ENDING, SIGNATURE, SUMS
from bench.bundle.signature import sign
from bench.bundle.sums import digest_of, root_of, sums_text
from bench.checkout import CHECKOUT
from bench.results.folder import Results
from bench.results.recorded import require_whole
from bench.results.sent_records import missing_records
from provisioning.errors import InvalidInput


@dataclass(frozen=True)
class Made:
    """A bundle that was written. `left_out`: sentences on what isn't in it."""

    path: Path
    root: str
    files: int
    size_bytes: int
    left_out: tuple[str, ...]


def make_bundle(
    results: Results,
    target: Path,
    *,
    with_records: bool = True,
    key: Path | None = None,
    checkout: Path = CHECKOUT,
    on_file: Callable[[str], None] = lambda _name: None,
) -> Made:
    """Bundles a results folder that has a report; the same results give the same bytes. `key`: signs the root.

    Raises InvalidInput, and then nothing is left at `target`.
    """
    _require_target(target)
    if with_records:
        require_records_here(results)
    contents = contents_of(results, checkout, with_records=with_records)
    require_whole(results.root, results.finished())
    digests = {entry.name: _digest(entry, on_file) for entry in contents.entries}
    sums = sums_text(digests).encode()
    root = root_of(sums)
    signature = sign(root, key) if key is not None else None
    campaign = str(results.manifest()["campaign"])
    page = cover_page(campaign, root, records=with_records, signed=signature is not None)
    entries = [*contents.entries, held(SUMS, sums), held(COVER, page)]
    if signature is not None:
        entries.append(held(SIGNATURE, signature))
    _write(target, entries)
    return Made(target, root, len(entries), target.stat().st_size, contents.left_out)


def require_records_here(results: Results) -> None:
    """Raises InvalidInput if rows of messages are in a bucket only."""
    missing = missing_records(results)
    if missing:
        bucket = results.records_bucket()
        raise InvalidInput(
            f"{len(missing)} record files of {results.root} are in the bucket {bucket}: the client hosts sent them there.",
            next_step=f"Bring them here: samebox report {results.root} --from s3://{bucket}\n"
            "      Or bundle without them: add --without-records, and nobody can recompute the figures.",
        )


def _require_target(target: Path) -> None:
    if target.suffix != ENDING:
        raise InvalidInput(
            f"-o {target}: the name of a bundle ends in {ENDING}.", next_step=f"For instance -o {target.stem}{ENDING}"
        )
    if not target.absolute().parent.is_dir():
        raise InvalidInput(
            f"-o {target}: there is no folder {target.parent}.", next_step="Make it, or name another one."
        )
    if target.exists() and not target.is_file():
        raise InvalidInput(f"-o {target}: there is something else of this name.", next_step="Give another name.")


def _digest(entry: Entry, on_file: Callable[[str], None]) -> str:
    on_file(entry.name)
    with entry.open() as stream:
        return digest_of(stream)


def _write(target: Path, entries: list[Entry]) -> None:
    """Aside, then renamed: a bundle that is there is whole."""
    aside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with aside.open("wb") as sink:
            write_archive(sink, entries)
        aside.rename(target)
    finally:
        aside.unlink(missing_ok=True)
