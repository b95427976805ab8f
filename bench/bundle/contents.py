"""Which files make a bundle: those of a results folder that its layout knows, and what pinned the software that ran."""

from __future__ import annotations

import json
import stat
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from bench.bundle.archive import Entry, held, is_name
from bench.bundle.layout import ABOUT, BUNDLE_SCHEMA, KIT_LOCK, REPORT_DONE, VERSIONS, is_message_record
from bench.results.folder import Results
from contract import results_folder as layout
from provisioning.errors import InvalidInput
from systems.registry import release_of
from systems.release import folders_of

_NEEDED = ("campaign", "created_ns", "order", "testbed", "software", "checks", "definition", "lock_sha256")


@dataclass(frozen=True)
class Contents:
    """What goes into a bundle. `left_out`: sentences on what doesn't, though one might look for it there."""

    entries: tuple[Entry, ...]
    left_out: tuple[str, ...]


def contents_of(results: Results, checkout: Path, *, with_records: bool) -> Contents:
    """The files of a bundle but those that are made of its root. Raises InvalidInput for results that can't be bundled as they are."""
    manifest = results.manifest(*_NEEDED)
    if not (results.root / REPORT_DONE).is_file():
        raise InvalidInput(
            f"{results.root} has no report yet, and a bundle holds one.",
            next_step=f"Type `samebox report {results.root}`.",
        )
    about = {"schema": BUNDLE_SCHEMA, "campaign": manifest["campaign"], "records": with_records}
    files = [_file(results.root, path) for path in _known_files(results)]
    pinned, left_out = _pinned(manifest, checkout)
    if not with_records:
        files = [entry for entry in files if not is_message_record(entry.name)]
        left_out.append("The rows of messages: --without-records. Nobody can recompute a figure of this bundle.")
    missing = len(manifest["order"]) - len(results.finished())
    if missing > 0:
        left_out.append(
            f"{missing} of {len(manifest['order'])} planned trials, which haven't been run. `samebox verify` will say so."
        )
    return Contents((held(ABOUT, _json(about)), *files, *pinned), tuple(left_out))


def _known_files(results: Results) -> Iterator[Path]:
    """Those of docs/records.md: no scratch file, no export, no note of the operator's."""
    root = results.root
    for pattern in (*layout.BEGUN, *layout.NOTED):
        yield from root.glob(pattern)
    for folder in (*map(results.trial_dir, results.finished()), results.report_dir):
        yield from (path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())


def _file(root: Path, path: Path) -> Entry:
    name, found = str(path.relative_to(root)), path.lstat()
    if not stat.S_ISREG(found.st_mode):
        raise InvalidInput(
            f"{path}: not a plain file, and a bundle holds nothing else.", next_step="Put the file itself there."
        )
    if not is_name(name):
        raise InvalidInput(f"{path}: a bundle takes no file of this name: not every system could unpack it.")
    return Entry(name, found.st_size, lambda: path.open("rb"))


def _pinned(manifest: Mapping[str, Any], checkout: Path) -> tuple[list[Entry], list[str]]:
    """The lock files of the kit and of each version that ran, if they are those that the manifest means; else a sentence each."""
    entries: list[Entry] = []
    left_out: list[str] = []
    lock = _kit_lock(manifest, checkout)
    if lock is None:
        left_out.append(
            "The kit's own requirements.lock: neither this checkout nor its history has the one that the manifest names."
        )
    else:
        entries.append(held(KIT_LOCK, lock))
    for (system, version), digest in sorted(versions_of(manifest).items()):
        folder = _folder_of(system, version, digest)
        if folder is None:
            left_out.append(
                f"What pins {system} {version}: this checkout has no such lock with the digest {digest[:12]}."
            )
            continue
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            name = f"{VERSIONS}/{system}-{version}/{path.relative_to(folder)}"
            entries.append(held(name, path.read_bytes()))
    return entries, left_out


def versions_of(manifest: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    """System and version -> digest, of everything that ran. The manifest has them by contestant, and its order knows their systems."""
    systems = {str(each.get("contestant", each["system"])): str(each["system"]) for each in manifest["order"]}
    return {
        (systems.get(name, name), str(entry["version"])): str(entry["sha256"])
        for name, entry in manifest["software"].items()
    }


def _folder_of(system: str, version: str, digest: str) -> Path | None:
    try:
        release = release_of(system, version)
    except InvalidInput:  # its archive was the operator's, or it is no longer pinned
        return None
    folder = release.folder or folders_of(system).get(version)
    return folder if release.software and release.software[0].digest == digest else None


def _kit_lock(manifest: Mapping[str, Any], checkout: Path) -> bytes | None:
    """The requirements.lock with the manifest's digest, which later versions of the kit have in their history."""
    commit = str((manifest.get("git") or {}).get("commit") or "")
    sources: list[Callable[[], bytes]] = [(checkout / "requirements.lock").read_bytes]
    if len(commit) == 40 and commit.isalnum():
        sources.append(lambda: _shown(checkout, f"{commit}:requirements.lock"))
    for read in sources:
        try:
            content = read()
        except (OSError, subprocess.SubprocessError):
            continue
        if sha256(content).hexdigest() == manifest["lock_sha256"]:
            return content
    return None


def _shown(checkout: Path, what: str) -> bytes:
    command = ["git", "-C", str(checkout), "show", what]
    return subprocess.run(command, capture_output=True, check=True, timeout=20).stdout


def _json(document: Mapping[str, Any]) -> bytes:
    return (json.dumps(document, indent=1) + "\n").encode()
