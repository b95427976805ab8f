"""The Python packages of the report job as one archive for a cluster: built once per lock file, never on the cluster.

EMR's Python has none of them. `--archives ARCHIVE#libraries` unpacks it beside the driver and every executor, where
PYTHONPATH=./libraries finds it.
"""

from __future__ import annotations

import gzip
import re
import tarfile
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from provisioning.cache import Notice, locked
from provisioning.errors import InvalidInput
from provisioning.software.python_environment import Interpreter, lock_digest, run_pip

# Amazon Linux 2023, under every EMR release 7
CLUSTER_PYTHON = Interpreter("3.11", "x86_64", (2, 34))
_PIN = re.compile(r"^([a-z0-9][a-z0-9._-]*)==(\S+)")
_VIA = re.compile(r"^\s+# {3}([a-z0-9][a-z0-9._-]*)|^\s+# via ([a-z0-9][a-z0-9._-]*)", re.MULTILINE)


@dataclass(frozen=True)
class Libraries:
    """Exactly pinned packages, each with its hashes, as lines of a lock file."""

    lock: str

    @property
    def digest(self) -> str:
        """What tells one archive from another: the packages and the Python that they are for."""
        return lock_digest(CLUSTER_PYTHON, self.lock.encode())

    @property
    def archive_name(self) -> str:
        """The archive's file name, which tells its content."""
        return f"libraries-{self.digest[:16]}.tar.gz"


def libraries(wanted: Iterable[str], lock: str, *, where: str) -> Libraries:
    """The entries of a pip-compile lock for the packages `wanted` and for all that they need.

    The lock says by "# via" on whose behalf each package is there. Raises InvalidInput if it lacks one of them.
    """
    entries = _entries(lock)
    missing = sorted(set(wanted) - entries.keys())
    if missing:
        raise InvalidInput(f"{where} has no {', '.join(missing)}.", next_step="Compile it anew from pyproject.toml.")
    chosen = set(wanted)
    while True:
        needed = {name for name, text in entries.items() if _asked_by(text) & chosen} - chosen
        if not needed:
            pins = (line for name in sorted(chosen) for line in entries[name].splitlines() if "#" not in line)
            return Libraries("\n".join(pins) + "\n")
        chosen |= needed


def _entries(lock: str) -> dict[str, str]:
    """Package -> its lines: the pin, its hashes, on whose behalf."""
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in lock.splitlines():
        pin = _PIN.match(line)
        if pin:
            current = found.setdefault(pin[1], [])
        elif not line.startswith(" "):
            current = None
        if current is not None:
            current.append(line)
    return {name: "\n".join(lines) for name, lines in found.items()}


def _asked_by(entry: str) -> set[str]:
    return {plain or via for plain, via in _VIA.findall(entry)}


def library_archive(wanted: Libraries, cache_dir: Path, notice: Notice) -> Path:
    """The archive in the cache, built first if need be; pip refuses what the lock has no hash of."""
    archive = cache_dir / "job-libraries" / wanted.archive_name
    with locked(archive.with_name(f".{archive.name}.lock")):
        if not archive.is_file():
            notice("the report's Python packages: fetching them for the cluster (once per lock file)")
            with tempfile.TemporaryDirectory(prefix=".installing-", dir=archive.parent) as scratch:
                site, aside = Path(scratch) / "site", Path(scratch) / archive.name
                _install(wanted, Path(scratch) / "requirements.lock", site)
                _pack(site, aside)
                aside.rename(archive)
    return archive


def _install(wanted: Libraries, lock_file: Path, site: Path) -> None:
    lock_file.write_text(wanted.lock)
    run_pip(
        ["install", "--disable-pip-version-check", "--no-compile", f"--target={site}"],
        CLUSTER_PYTHON,
        lock_file,
        failure="the report's Python packages can't be fetched",
        next_step="The first build needs a package index within reach; later ones are served from the cache.",
    )


def _pack(site: Path, archive: Path) -> None:
    # level 1: most of it are shared objects, and time is the operator's
    with gzip.open(archive, "wb", compresslevel=1) as stream, tarfile.open(fileobj=stream, mode="w|") as tar:
        for item in sorted(site.iterdir()):
            if item.name not in ("bin", "__pycache__"):
                tar.add(item, arcname=item.name)
