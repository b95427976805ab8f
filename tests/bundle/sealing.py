"""Bundles of whatever files: what a forger can make without samebox. Test material only."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

from bench.bundle.archive import held, write_archive
from bench.bundle.cover import cover_page
from bench.bundle.layout import ABOUT, COVER, OF_THE_ROOT, SIGNATURE, SUMS
from bench.bundle.sums import root_of, sums_text

Sign = Callable[[str], bytes]


def files_of(bundle: Path) -> dict[str, bytes]:
    """Everything in a bundle, by name."""
    with zipfile.ZipFile(bundle) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def sealed(files: Mapping[str, bytes], sign: Sign | None = None) -> dict[str, bytes]:
    """The files with sums, page and (if anybody signs) signature that are right for them."""
    listed = {name: content for name, content in files.items() if name not in OF_THE_ROOT}
    sums = sums_text({name: hashlib.sha256(content).hexdigest() for name, content in listed.items()}).encode()
    root, about = root_of(sums), json.loads(listed[ABOUT])
    found = {**listed, SUMS: sums}
    found[COVER] = cover_page(about["campaign"], root, records=about["records"], signed=sign is not None)
    if sign is not None:
        found[SIGNATURE] = sign(root)
    return found


def pack(files: Mapping[str, bytes], target: Path) -> None:
    """The archive of these files, as samebox writes it."""
    with target.open("wb") as sink:
        write_archive(sink, [held(name, content) for name, content in files.items()])
