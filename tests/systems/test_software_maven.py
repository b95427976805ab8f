"""Bundles: what is recorded is what is used, and Maven is asked only when it must be."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from provisioning.cache import user_cache
from provisioning.errors import InvalidInput, MissingRequirement
from provisioning.software.store import Store
from systems.registry import software
from systems.software import maven
from systems.software.maven import ArtifactsDiffer, MavenJars, maven_jars, record, recorded_sums

REPOSITORY = Path(__file__).parents[2]
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>samebox</groupId><artifactId>toy</artifactId><version>1.2</version></project>"""
# Stands in for Maven: writes two jars where it is told to, and counts its runs.
FAKE_MVN = """#!/bin/sh
echo run >> "$COUNT"
for word in "$@"; do case "$word" in -DoutputDirectory=*) out="${word#*=}";; -Dmaven.repo.local=*) repo="${word#*=}";; esac; done
mkdir -p "$repo"; sleep 0.2
printf one > "$out/a-1.jar"; printf two > "$out/b-2.jar"
"""


def silent(line: str) -> None:
    """Takes notices without keeping them."""
    del line


@pytest.fixture
def toy(tmp_path: Path) -> MavenJars:
    """A bundle of two jars with their true sums recorded."""
    folder = tmp_path / "toy"
    folder.mkdir(parents=True)
    (folder / "pom.xml").write_text(POM)
    sums = [(hashlib.sha256(content).hexdigest(), name) for name, content in (("a-1.jar", b"one"), ("b-2.jar", b"two"))]
    (folder / "artifacts.sha256").write_text("".join(f"{digest}  {name}\n" for digest, name in sums))
    return maven_jars("toy", folder)


@pytest.fixture
def maven_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fake `mvn` on the PATH; the file returned has a line per run."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "mvn").write_text(FAKE_MVN)
    (programs / "mvn").chmod(0o755)
    count = tmp_path / "count"
    count.touch()
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("COUNT", str(count))
    return count


def test_resolves_once_and_then_serves_from_the_cache(toy: MavenJars, maven_runs: Path, tmp_path: Path) -> None:
    """Maven runs for the first resolve only; the entry is addressed by name, version and recorded sums."""
    first = toy.fetch(tmp_path / "cache", notice=silent)
    second = toy.fetch(tmp_path / "cache", notice=silent)
    assert first == second == tmp_path / "cache" / "software" / f"toy-1.2-{toy.digest[:16]}"
    assert sorted(jar.name for jar in (first / "libs").iterdir()) == ["a-1.jar", "b-2.jar"]
    assert maven_runs.read_text().splitlines() == ["run"]


def test_names_every_jar_that_differs_is_missing_or_extra(toy: MavenJars, maven_runs: Path, tmp_path: Path) -> None:
    """A jar that isn't the recorded one is never used, and leaves nothing in the cache that looks resolved."""
    del maven_runs
    digest = hashlib.sha256(b"other").hexdigest()
    toy.artifacts.write_text(f"{digest}  a-1.jar\n{digest}  c-3.jar\n")
    with pytest.raises(ArtifactsDiffer) as caught:
        toy.fetch(tmp_path / "cache", notice=silent)
    for part in (
        "missing: c-3.jar",
        "not recorded: b-2.jar",
        f"differs: a-1.jar is {hashlib.sha256(b'one').hexdigest()}",
    ):
        assert part in str(caught.value)
    assert not list((tmp_path / "cache" / "software").glob("toy-*"))
    assert not list((tmp_path / "cache" / "software").glob(".fetching-*"))


def test_a_damaged_cache_entry_is_an_error(toy: MavenJars, maven_runs: Path, tmp_path: Path) -> None:
    """A jar changed in the cache, at the same size, is found by its hash."""
    libs = toy.fetch(tmp_path / "cache", notice=silent) / "libs"
    (libs / "a-1.jar").write_bytes(b"One")
    with pytest.raises(ArtifactsDiffer, match=r"differs: a-1\.jar"):
        toy.fetch(tmp_path / "cache", notice=silent)
    assert maven_runs.read_text().count("run") == 1


def test_concurrent_resolves_run_maven_once(toy: MavenJars, maven_runs: Path, tmp_path: Path) -> None:
    """Processes that resolve the same bundle wait for one another."""
    script = (
        "import sys; from pathlib import Path; from systems.software.maven import maven_jars; "
        "maven_jars('toy', Path(sys.argv[1])).fetch(Path(sys.argv[2]), notice=print)"
    )
    command = [sys.executable, "-c", script, str(toy.pom.parent), str(tmp_path / "cache")]
    workers = [subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.DEVNULL) for _ in range(3)]
    assert [worker.wait(60) for worker in workers] == [0, 0, 0]
    assert maven_runs.read_text().splitlines() == ["run"]


def test_a_failing_maven_is_one_message_with_command_and_tail(
    toy: MavenJars, maven_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What Maven said last and the command to repeat are in the error."""
    del maven_runs
    (tmp_path / "bin" / "mvn").write_text("#!/bin/sh\necho '[ERROR] Could not resolve toy:jar:1.2'\nexit 1\n")
    monkeypatch.setattr(maven, "PROGRESS_EVERY_S", 0.05)
    with pytest.raises(MissingRequirement) as caught:
        toy.fetch(tmp_path / "cache", notice=silent)
    assert "Maven exited 1" in str(caught.value)
    assert "Could not resolve toy:jar:1.2" in str(caught.value)
    assert f"mvn -B -q -f {toy.pom}" in str(caught.value)
    assert "tarball" in caught.value.next_step


def test_no_maven_says_what_to_install(toy: MavenJars, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without `mvn` on the PATH the message says so."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingRequirement, match="`mvn` is not on the PATH"):
        toy.fetch(tmp_path / "cache", notice=silent)


def test_progress_is_told_while_maven_works(
    toy: MavenJars, maven_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The operator hears that Maven is at work, and for how long already."""
    del maven_runs
    monkeypatch.setattr(maven, "PROGRESS_EVERY_S", 0.05)
    said: list[str] = []
    toy.fetch(tmp_path / "cache", notice=said.append)
    assert said[0].startswith("toy 1.2: resolving with Maven")
    assert any("Maven has run for" in line for line in said[1:])


def test_recording_writes_what_came(toy: MavenJars, maven_runs: Path, tmp_path: Path) -> None:
    """The recorded file is in sha256sum's format, sorted, and resolves afterwards."""
    del maven_runs
    expected = toy.artifacts.read_text()
    toy.artifacts.unlink()
    assert record(toy, tmp_path / "cache", notice=silent) == 2
    assert toy.artifacts.read_text() == expected
    assert recorded_sums(toy.artifacts).keys() == {"a-1.jar", "b-2.jar"}


def test_a_line_that_is_no_sum_is_refused(toy: MavenJars) -> None:
    """A file of sums that was edited by hand is refused with the line's number; a path can't hide in a name."""
    toy.artifacts.write_text(f"{'0' * 64}  ../../a.jar\n")
    with pytest.raises(InvalidInput, match="line 1: not a sha256sum line"):
        recorded_sums(toy.artifacts)


def test_the_cache_is_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """XDG_CACHE_HOME counts if it is absolute, as its specification says."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert user_cache() == tmp_path / "samebox"
    for value in ("", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", value)
        assert user_cache() == Path.home() / ".cache" / "samebox"


def test_an_unknown_name_lists_the_valid_ones(tmp_path: Path) -> None:
    """Of what may be deployed."""
    with pytest.raises(
        InvalidInput, match=r"no software is called 'kafak'\. Valid names: kafka, nats, natscli, perf-test, pulsar"
    ):
        Store(tmp_path, software()).version("kafak")


@pytest.mark.parametrize(
    "jars", [each for each in software() if isinstance(each, MavenJars)], ids=lambda each: each.name
)
def test_all_jars_of_the_repository_are_pinned(jars: MavenJars) -> None:
    """Each has recorded sums, sorted by name, with jars of its own version among them; its folder is called by the version."""
    sums = recorded_sums(jars.artifacts)
    assert list(sums) == sorted(sums)
    assert any(jar.endswith(f"-{jars.version}.jar") for jar in sums)
    assert "SNAPSHOT" not in jars.pom.read_text()
    assert jars.pom.parent.name == jars.version
