"""Pinning another version of what is pinned: in the same way, from the same registry, which says what it has if it hasn't that one."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from provisioning.errors import InvalidInput, MissingRequirement
from systems.registry import SYSTEMS
from systems.software.maven_versions import MavenPinning, versions_in
from systems.software.pinning import near_to
from systems.software.wheel import wheel_programs
from systems.software.wheel_versions import WheelPinning
from systems.software.wheel_versions import versions_in as versions_pip_says
from tests.systems.test_software_wheel import PACKAGE, make_wheel, point_pip_at, program, silent

RECORDED = Path(__file__).with_name("recorded") / "registries"
TOY = MavenPinning("toy", "org.toy:toy-server")
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion><groupId>samebox</groupId><artifactId>toy</artifactId>
  <version>1.2</version>
  <properties><parts.version>7.1</parts.version><log.version>1.2</log.version></properties>
  <dependencyManagement><dependencies>
    <dependency><groupId>org.toy</groupId><artifactId>toy-parent</artifactId><version>${project.version}</version>
      <type>pom</type><scope>import</scope></dependency>
  </dependencies></dependencyManagement>
  <dependencies>
    <dependency><groupId>org.toy</groupId><artifactId>toy-server</artifactId><version>${project.version}</version></dependency>
    <dependency><groupId>org.other</groupId><artifactId>other</artifactId><version>1.2</version></dependency>
  </dependencies>
</project>
"""
# Stands in for Maven and its repository, which has the versions in $THERE: copies a parent's pom, lists versions, resolves jars.
FAKE_MVN = """#!/bin/sh
for word in "$@"; do case "$word" in
  -DoutputDirectory=*) out="${word#*=}";; -Dmaven.repo.local=*) repo="${word#*=}";;
  -Dartifact=*:*:*:pom) version="${word#*:*:}"; version="${version%:pom}";; -f) next=pom;; *:list) list=yes;;
  *) [ "$next" = pom ] && pom="$word" && next=;; esac; done
if [ -n "$list" ]; then
  folder="$repo/org/toy/toy-server"; mkdir -p "$folder"
  { echo '<metadata><versioning><versions>'; for each in $THERE; do echo "<version>$each</version>"; done
    echo '</versions></versioning></metadata>'; } > "$folder/maven-metadata-central.xml"
  exit 1
fi
[ -n "$version" ] || version=$(sed -n 's|^  <version>\\(.*\\)</version>|\\1|p' "$pom")
case " $THERE " in *" $version "*) ;; *) echo "no $version"; exit 1;; esac
mkdir -p "$out"
case " $BROKEN " in *" $version "*) [ -n "$pom" ] && { echo "a part of $version is missing"; exit 1; };; esac
if [ -n "$pom" ]; then printf "$version" > "$out/toy-server-$version.jar"
else
  echo "<project xmlns='http://maven.apache.org/POM/4.0.0'><properties>" > "$out/toy-parent.pom"
  echo "<parts.version>8.$version</parts.version></properties></project>" >> "$out/toy-parent.pom"
fi
"""


@pytest.fixture
def like(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that pins toy 1.2, and a repository that has 1.2, 1.3 and, with a part missing, 1.4."""
    programs, folder = tmp_path / "bin", tmp_path / "1.2"
    for made in (programs, folder):
        made.mkdir()
    (programs / "mvn").write_text(FAKE_MVN)
    (programs / "mvn").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("THERE", "1.2 1.3 1.4")
    monkeypatch.setenv("BROKEN", "1.4")
    (folder / "pom.xml").write_text(POM)
    return folder


def pin(version: str, like: Path) -> Path:
    """Pins a version of the toy in a folder beside the other."""
    folder = like.parent / version
    folder.mkdir()
    TOY.pin(version, like, folder, like.parent / "cache", notice=silent)
    return folder


def test_another_version_is_the_same_pom_with_its_jars_recorded(like: Path) -> None:
    """The project's version is another, and nothing else that looks like it; it is fetched by what was recorded."""
    pinned = TOY.read(folder := pin("1.3", like))
    assert pinned.version == "1.3"
    assert "<artifactId>other</artifactId><version>1.2</version>" in (folder / "pom.xml").read_text()
    libs = pinned.fetch(like.parent / "cache", notice=silent) / "libs"
    assert [jar.name for jar in libs.iterdir()] == ["toy-server-1.3.jar"]


def test_parts_are_those_that_its_parent_was_released_with(like: Path) -> None:
    """A property of the pom that the imported parent has as well follows it; one that it hasn't stays."""
    text = (pin("1.3", like) / "pom.xml").read_text()
    assert "<parts.version>8.1.3</parts.version>" in text
    assert "<log.version>1.2</log.version>" in text


def test_a_version_that_the_repository_lacks_is_told_with_its_neighbours(like: Path) -> None:
    """Instead of Maven's own account."""
    with pytest.raises(InvalidInput, match=r"^toy 1\.5 isn't in the Maven repository\.$") as refusal:
        pin("1.5", like)
    assert refusal.value.next_step == "Versions there that are near it: 1.2, 1.3, 1.4."


def test_a_version_of_which_a_part_is_missing_is_told_in_mavens_words(like: Path) -> None:
    """It is there, so its neighbours wouldn't help."""
    with pytest.raises(MissingRequirement, match=r"a part of 1\.4 is missing"):
        pin("1.4", like)


def test_the_repositorys_list_of_versions() -> None:
    """As it really is, in its order."""
    found = versions_in((RECORDED / "maven-metadata.xml").read_text())
    assert {"3.9.1", "4.1.1", "4.3.1", "4.4.0"} < set(found)
    assert found.index("3.9.1") < found.index("4.1.1") < found.index("4.4.0")


def test_the_package_indexs_list_of_versions() -> None:
    """As pip really prints it; of another failure there is none."""
    found = versions_pip_says((RECORDED / "pip-no-such-version.txt").read_text())
    assert len(found) == 33 and found[-1] == "2.15.1"
    assert versions_pip_says("ERROR: No matching distribution found for toy==1") == []


@pytest.mark.parametrize(
    ("version", "near"),
    [
        ("2.13.1", ["2.12.5", "2.12.6", "2.12.7", "2.12.8", "2.14.0", "2.14.1", "2.14.2", "2.14.3"]),
        ("2.99.0", ["2.14.5", "2.14.6", "2.15.0", "2.15.1"]),
        ("1.0", ["2.10.25", "2.10.25rc0", "2.10.26", "2.11.0"]),
    ],
)
def test_neighbours_are_by_number(version: str, near: list[str]) -> None:
    """Four on either side, as far as there are so many: 2.11.10 comes after 2.11.9."""
    assert sorted(near_to(version, versions_pip_says((RECORDED / "pip-no-such-version.txt").read_text()))) == sorted(
        near
    )


def test_another_version_of_a_wheel_is_recorded_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the same package, with the same programs; a version that the index lacks is told with its neighbours."""
    index, folder, pinning = tmp_path / "index", tmp_path / "1.2", WheelPinning("toy", "toy-bin", ("toy-server",))
    for made in (index, folder):
        made.mkdir()
    for machine in ("aarch64", "x86_64"):
        make_wheel(index, machine, program(machine))
    point_pip_at(index, monkeypatch)
    pinning.pin("1.2", folder, folder, tmp_path / "cache", notice=silent)
    assert (folder / "requirements.lock").read_text().startswith(PACKAGE)
    assert pinning.read(folder) == wheel_programs("toy", folder, "toy-server")
    with pytest.raises(InvalidInput, match=r"toy 1\.3 isn't in the package index") as refusal:
        pinning.pin("1.3", folder, tmp_path / "1.3", tmp_path / "cache", notice=silent)
    assert refusal.value.next_step == "Versions there that are near it: 1.2."


@pytest.mark.parametrize("system", [name for name, each in SYSTEMS.items() if each.releases is not None])
def test_the_default_version_can_be_the_pattern_of_others(system: str) -> None:
    """Its folder pins what the system runs, and samebox's poms have the project's version first, which is the one that is replaced."""
    its = SYSTEMS[system]
    assert its.releases is not None
    folder = Path(__file__).parents[2] / "systems" / system / "software" / its.software[0].version
    assert its.releases.pinning.read(folder) == its.software[0]
    pom = folder / "pom.xml"
    if pom.is_file():
        assert re.findall(r"<version>(.*)</version>", pom.read_text())[0] == its.software[0].version
