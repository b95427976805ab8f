"""Jars of pinned Maven coordinates, verified against recorded SHA-256 sums.

A folder has a `pom.xml` (what is wanted) and an `artifacts.sha256` (what that was when it was recorded). Maven runs only for jars
that aren't in the cache yet. After a change of the pom, record its jars again:

    python -m systems.software.maven --record FOLDER
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from provisioning.cache import Notice, sha256_of, user_cache
from provisioning.errors import InvalidInput, MissingRequirement, SameboxError
from provisioning.hosts.requirement import Requirement
from systems.software.cached import cached
from systems.software.sums import differences, read_sums, write_sums

MAVEN_TIMEOUT_S = 1800.0
PROGRESS_EVERY_S = 10.0
_TAIL_CHARS = 1500
_ARTIFACT_LINE = re.compile(r"([0-9a-f]{64})  ([A-Za-z0-9][A-Za-z0-9._+-]*\.jar)")
_POM = {"pom": "http://maven.apache.org/POM/4.0.0"}

MAVEN = Requirement(
    "Maven",
    "command -v mvn",
    dict.fromkeys(("amazon", "redhat", "debian"), ("maven",)),
    "it fetches the jars, once",
    ("operator",),
    shows="command -v mvn",
)


class ArtifactsDiffer(SameboxError):
    """The jars at hand aren't the recorded ones."""


@dataclass(frozen=True)
class MavenJars:
    """A folder with a `pom.xml` and an `artifacts.sha256`; see Software. On a host its jars lie in `libs/`."""

    name: str
    version: str
    pom: Path
    artifacts: Path

    @property
    def digest(self) -> str:
        """SHA-256 of the recorded sums: the identity of all its jars."""
        return hashlib.sha256(self.artifacts.read_bytes()).hexdigest()

    def fetch(self, cache_dir: Path, *, notice: Notice) -> Path:
        """See Software. Raises ArtifactsDiffer."""
        expected = recorded_sums(self.artifacts)

        def is_whole(entry: Path) -> bool:
            libs = entry / "libs"
            if libs.is_dir():
                verify(libs, expected, where=str(libs))
            return libs.is_dir()

        def make(entry: Path) -> None:
            copy_dependencies(self, entry / "libs", cache_dir, notice=notice)
            verify(entry / "libs", expected, where=f"{self.name} {self.version} as Maven resolved it")

        return cached(self, cache_dir, is_whole, make)


def maven_jars(name: str, folder: Path) -> MavenJars:
    """What a folder pins. `version` is the pom's own version, which is the software's. Raises InvalidInput."""
    pom = folder / "pom.xml"
    version = ElementTree.parse(pom).getroot().findtext("pom:version", namespaces=_POM)
    if not version:
        raise InvalidInput(f"{pom}: the project has no <version>.")
    return MavenJars(name, version, pom, pom.with_name("artifacts.sha256"))


def recorded_sums(artifacts: Path) -> dict[str, str]:
    """Jar name -> SHA-256, as recorded."""
    recording = f"python -m systems.software.maven --record {artifacts.parent}"
    return read_sums(artifacts, _ARTIFACT_LINE, what="jar", recording=recording)


def sums_of(libs: Path) -> dict[str, str]:
    """Jar name -> SHA-256 of every file in a directory."""
    return {path.name: sha256_of(path) for path in sorted(libs.iterdir())}


def verify(libs: Path, expected: Mapping[str, str], *, where: str) -> None:
    """Raises ArtifactsDiffer naming every jar that is missing, not recorded or different."""
    if problems := differences(sums_of(libs), expected):
        raise ArtifactsDiffer(
            f"{where}: {len(problems)} of the jars aren't the recorded ones:\n  " + "\n  ".join(problems),
            next_step=f"Nothing was installed. If they are damaged, remove {libs} and repeat; if the pom was changed on purpose, "
            "record its jars: python -m systems.software.maven --record FOLDER",
        )


def copy_dependencies(jars: MavenJars, libs: Path, cache_dir: Path, *, notice: Notice) -> None:
    """Runs Maven: every runtime dependency of the pom into `libs`. Raises MissingRequirement with the command and its tail."""
    libs.mkdir(parents=True)
    maven = shutil.which("mvn")
    if maven is None:
        raise MissingRequirement(
            f"{jars.name} {jars.version} must be resolved by Maven, but `mvn` is not on the PATH.",
            next_step="Install Maven 3.8 or newer and a JDK, or pass the official tarball.",
        )
    repository = cache_dir / "m2"
    command = [maven, "-B", "-q", "-f", str(jars.pom), f"-Dmaven.repo.local={repository}"]
    command += ["dependency:copy-dependencies", f"-DoutputDirectory={libs}"]
    notice(f"{jars.name} {jars.version}: resolving with Maven (the first time takes a minute or two)")
    exit_status, output = _run_with_progress(command, libs, jars, notice)
    if exit_status != 0:
        raise MissingRequirement(
            f"{jars.name} {jars.version}: Maven exited {exit_status} from:\n{shlex.join(command)}\n{output}",
            next_step="The first run needs a Maven repository within reach; later ones use the cache. "
            "Or pass the official tarball.",
        )


def _run_with_progress(command: list[str], libs: Path, jars: MavenJars, notice: Notice) -> tuple[int, str]:
    started_s = time.monotonic()
    with tempfile.TemporaryFile() as output:
        # no performance counters in /tmp: samebox writes to the clone and the user's cache only
        environment = {**os.environ, "MAVEN_OPTS": f"{os.environ.get('MAVEN_OPTS', '')} -XX:-UsePerfData"}
        with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=environment
        ) as process:
            try:
                while True:
                    with suppress(subprocess.TimeoutExpired):
                        exit_status = process.wait(PROGRESS_EVERY_S)
                        break
                    elapsed_s = time.monotonic() - started_s
                    if elapsed_s > MAVEN_TIMEOUT_S:
                        process.kill()
                    notice(f"{jars.name}: Maven has run for {elapsed_s:.0f} s, {len(list(libs.iterdir()))} jars so far")
            except BaseException:
                process.kill()
                raise
        output.seek(0)
        text = re.sub(r"\x1b\[[0-9;]*m", "", output.read().decode(errors="replace")).strip()
    return exit_status, text[-_TAIL_CHARS:]


def record(jars: MavenJars, cache_dir: Path, *, notice: Notice) -> int:
    """Resolves the pom and records the sums of its jars; returns how many there are."""
    with tempfile.TemporaryDirectory(prefix="samebox-record-") as scratch:
        libs = Path(scratch) / "libs"
        copy_dependencies(jars, libs, cache_dir, notice=notice)
        sums = sums_of(libs)
    write_sums(jars.artifacts, sums)
    return len(sums)


def main(arguments: list[str] | None = None) -> int:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(prog="python -m systems.software.maven", description=record.__doc__)
    parser.add_argument("--record", metavar="FOLDER", type=Path, required=True, help="a folder with a pom.xml")
    folder: Path = parser.parse_args(arguments).record
    try:
        jars = maven_jars(folder.parent.parent.name, folder.resolve())
        count = record(jars, user_cache(), notice=lambda line: print(line, file=sys.stderr))
    except SameboxError as error:
        print(f"{error}\n{error.next_step}".rstrip(), file=sys.stderr)
        return 1
    print(f"{jars.artifacts}: {count} jars recorded")
    return 0


if __name__ == "__main__":
    sys.exit(main())
