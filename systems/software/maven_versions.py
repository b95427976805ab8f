"""Other versions of what a `pom.xml` pins: the same pom with another version, resolved and recorded anew."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from provisioning.cache import Notice
from provisioning.errors import MissingRequirement
from systems.software.maven import MAVEN_TIMEOUT_S, MavenJars, maven_jars, record
from systems.software.pinning import no_such_version

PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"
_POM = {"pom": "http://maven.apache.org/POM/4.0.0"}
_IMPORTED = "pom:dependencyManagement/pom:dependencies/pom:dependency[pom:scope='import']"
_PROJECT_VERSION = "${project.version}"
_TAIL_CHARS = 1500
# For a range, of this one version, Maven asks the repository which versions there are, and keeps the answer.
_RANGE = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion><groupId>samebox</groupId><artifactId>versions</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies><dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>[{version}]</version>
    <exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions></dependency></dependencies>
</project>
"""


@dataclass(frozen=True)
class MavenPinning:
    """See Pinning. `artifact`: the one whose versions are those of the software, as GROUP:ARTIFACT."""

    name: str
    artifact: str

    def read(self, folder: Path) -> MavenJars:
        return maven_jars(self.name, folder)

    def pin(self, version: str, like: Path, folder: Path, cache_dir: Path, *, notice: Notice) -> None:
        pom = (like / "pom.xml").read_text()
        # the first <version> of samebox's poms is the project's own
        pom = pom.replace(f"<version>{self.read(like).version}</version>", f"<version>{version}</version>", 1)
        try:
            (folder / "pom.xml").write_text(_with_properties_of_parents(pom, version, cache_dir))
            record(self.read(folder), cache_dir, notice=notice)
        except MissingRequirement:
            there = self.versions_beside(version, cache_dir)
            if there and version not in there:
                raise no_such_version(self.name, version, there, "the Maven repository") from None
            raise

    def versions_beside(self, version: str, cache_dir: Path) -> list[str]:
        """The versions that the repository says it has, asked for this one; empty where it can't be asked."""
        group, artifact = self.artifact.split(":")
        with tempfile.TemporaryDirectory(prefix="samebox-versions-") as scratch:
            (Path(scratch) / "pom.xml").write_text(_RANGE.format(group=group, artifact=artifact, version=version))
            # there is no such version, or not all of it, and the list is there by then
            with suppress(MissingRequirement):
                run_maven(["-U", "-f", f"{scratch}/pom.xml", f"{PLUGIN}:list"], cache_dir)
        kept = (cache_dir / "m2" / group.replace(".", "/") / artifact).glob("maven-metadata-*.xml")
        return [version for file in kept for version in versions_in(file.read_text())]


def versions_in(metadata: str) -> list[str]:
    """The versions in a repository's maven-metadata.xml."""
    return [each.text or "" for each in ElementTree.fromstring(metadata).findall("versioning/versions/version")]


def _with_properties_of_parents(pom: str, version: str, cache_dir: Path) -> str:
    """The pom, in which properties that an imported parent has as well have the parent's values: the parts it was released with."""
    root = ElementTree.fromstring(pom)
    for parent in root.findall(_IMPORTED, _POM):
        group, artifact, its = (
            parent.findtext(f"pom:{each}", "", _POM) for each in ("groupId", "artifactId", "version")
        )
        found = _properties(group, artifact, its.replace(_PROJECT_VERSION, version), cache_dir)
        for own in root.findall("pom:properties/*", _POM):
            name = own.tag.partition("}")[2]
            if name in found:
                pom = re.sub(rf"(<{re.escape(name)}>)[^<]*", rf"\g<1>{found[name]}", pom)
    return pom


def _properties(group: str, artifact: str, version: str, cache_dir: Path) -> dict[str, str]:
    with tempfile.TemporaryDirectory(prefix="samebox-parent-") as scratch:
        wanted = f"-Dartifact={group}:{artifact}:{version}:pom"
        run_maven([f"{PLUGIN}:copy", wanted, f"-DoutputDirectory={scratch}"], cache_dir)
        [file] = Path(scratch).iterdir()
        found = ElementTree.parse(file).getroot().findall("pom:properties/*", _POM)
    return {each.tag.partition("}")[2]: each.text or "" for each in found}


def run_maven(arguments: Sequence[str], cache_dir: Path) -> None:
    """Maven with samebox's own repository on this machine. Raises MissingRequirement with the command and its tail."""
    maven = shutil.which("mvn")
    if maven is None:
        raise MissingRequirement("`mvn` is not on the PATH.", next_step="Install Maven 3.8 or newer and a JDK.")
    command = [maven, "-B", "-q", f"-Dmaven.repo.local={cache_dir / 'm2'}", *arguments]
    completed = subprocess.run(command, capture_output=True, text=True, timeout=MAVEN_TIMEOUT_S, check=False)
    if completed.returncode != 0:
        tail = re.sub(r"\x1b\[[0-9;]*m", "", completed.stdout + completed.stderr).strip()[-_TAIL_CHARS:]
        raise MissingRequirement(f"Maven exited {completed.returncode} from:\n{shlex.join(command)}\n{tail}")
