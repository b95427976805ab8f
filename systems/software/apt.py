"""apt, as it is configured on this machine: where Debian's archives are, and downloads out of them. It installs nothing.

apt's own way to download takes care of proxies and credentials, and compares the sum.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote

from provisioning.errors import MissingRequirement

HELPER = "/usr/lib/apt/apt-helper"
TIMEOUT_S = 600.0
_TAIL_CHARS = 1500
_ARCHIVE_LINE = re.compile(r"^'(\S+?)/dists/\S+/(?:In)?Release'", re.MULTILINE)
_URI_LINE = re.compile(r"'(\S+/(pool/\S+\.deb))' \S+ \d+ SHA256:([0-9a-f]{64})")
# as root apt would download as a user of its own, who may not write where we want the file
_AS_WHOEVER = ("-o", "APT::Sandbox::User=root")


def archives() -> tuple[str, ...]:
    """The archives that apt is configured with, by address in the order of its sources. Raises MissingRequirement.

    They are known before apt has any lists of what they hold, as on a machine that is new. Whose they are isn't, so any of them is
    asked: a package counts by its sum.
    """
    found = tuple(dict.fromkeys(_ARCHIVE_LINE.findall(_run(["apt-get", "update", "--print-uris"]))))
    if not found:
        raise MissingRequirement(
            "Debian packages are needed, but apt is configured with no archive.",
            next_step="Add a Debian archive to apt's sources: the packages are downloaded, never installed.",
        )
    return found


def download(path: str, sha256: str, folder: Path, *, next_step: str) -> Path:
    """A package into a folder, from the first archive that has it. Raises MissingRequirement, with what to do then."""
    target = folder / file_name(path)
    problems = []
    for archive in archives():
        words = [HELPER, *_AS_WHOEVER, "download-file", f"{archive}/{path}", str(target), f"SHA256:{sha256}"]
        try:
            _run(words)
        except MissingRequirement as error:
            problems.append(str(error))
        else:
            return target
    package, version, _ = target.name.split("_", 2)
    raise MissingRequirement(
        f"No archive that apt is configured with has the package {package} {version} ({path}) with the recorded sum:\n"
        + "\n".join(problems),
        next_step=next_step,
    )


def file_name(path: str) -> str:
    """What the package at a path in an archive is called as a file: addresses quote some characters, names of files don't."""
    return unquote(path.rpartition("/")[2])


def candidates(suite: str, packages: Sequence[str], scratch: Path) -> Mapping[str, str]:
    """Path in the archive -> SHA-256 of a suite's versions, asked with lists of our own. Raises MissingRequirement."""
    for folder in ("state/lists/partial", "cache/archives/partial", "parts"):
        (scratch / folder).mkdir(parents=True)
    sources = scratch / "sources.list"
    sources.write_text(f"deb {archives()[0]} {suite} main\n")
    places = {
        "Dir::Etc::sourcelist": str(sources),
        "Dir::Etc::sourceparts": str(scratch / "parts"),
        "Dir::State": str(scratch / "state"),
        "Dir::State::status": "/dev/null",
        "Dir::Cache": str(scratch / "cache"),
        "Acquire::ForceHash": "SHA256",
    }
    options = [*_AS_WHOEVER, *(word for key, value in places.items() for word in ("-o", f"{key}={value}"))]
    _run(["apt-get", *options, "update"])
    printed = _run(["apt-get", *options, "download", "--print-uris", *packages])
    found = {path: sha256 for _, path, sha256 in _URI_LINE.findall(printed)}
    if len(found) != len(set(packages)):
        raise MissingRequirement(f"apt names {len(found)} of {len(set(packages))} packages in {suite}:\n{printed}")
    return found


def _run(words: Sequence[str]) -> str:
    if shutil.which(words[0]) is None:
        raise MissingRequirement(
            f"Debian packages are needed, but `{words[0]}` isn't on this machine.",
            next_step="Run samebox on Debian or Ubuntu, or copy the user's cache of software from a machine that has it.",
        )
    completed = subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    if completed.returncode != 0:
        tail = (completed.stdout + completed.stderr).strip()[-_TAIL_CHARS:]
        raise MissingRequirement(f"exit {completed.returncode} from:\n{shlex.join(words)}\n{tail}")
    return completed.stdout
