"""Versions that the user pins: recorded whole or not at all, with what they don't know; every mistake is a sentence."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from provisioning.cache import Notice
from provisioning.document import parse_document
from provisioning.errors import InvalidInput, MissingRequirement
from provisioning.software.software import Software, entry_of
from systems.kafka.system import KAFKA
from systems.known import Known
from systems.project import pin, written
from systems.registry import SYSTEMS, release_of
from systems.release import FACTS_FILE, Facts, Releases, facts_of, folders_of
from systems.software.maven import ArtifactsDiffer, MavenJars, maven_jars


@dataclasses.dataclass(frozen=True)
class Jars:
    """The jars of a version as they come out of a registry that was asked just now; see Software."""

    pinned: MavenJars

    @property
    def name(self) -> str:
        return self.pinned.name

    @property
    def version(self) -> str:
        return self.pinned.version

    @property
    def digest(self) -> str:
        return self.pinned.digest

    def fetch(self, cache_dir: Path, *, notice: Notice) -> Path:
        del notice
        entry = entry_of(self, cache_dir)
        (entry / "libs").mkdir(parents=True, exist_ok=True)
        return entry


class Registry:
    """Implements Pinning, strictly: it has the versions that it is told, and counts what it is asked for."""

    def __init__(self, *there: str) -> None:
        self.there, self.asked = there, list[tuple[str, str]]()

    def read(self, folder: Path) -> Software:
        return Jars(maven_jars("kafka", folder))

    def pin(self, version: str, like: Path, folder: Path, cache_dir: Path, *, notice: Notice) -> None:
        del cache_dir
        assert list(folder.iterdir()) == []
        self.asked.append((version, like.name))
        (folder / "pom.xml").write_text((like / "pom.xml").read_text().replace(like.name, version))
        if version not in self.there:
            raise InvalidInput(f"kafka {version} isn't there.")
        (folder / "artifacts.sha256").write_text(f"{'0' * 64}  {version}.jar\n")
        notice(f"resolved {version}")


def silent(line: str) -> None:
    """Takes notices without keeping them."""
    del line


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in which nothing is pinned."""
    monkeypatch.setenv("SAMEBOX_HOME", str(tmp_path / "project"))
    return tmp_path / "project" / "software"


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Registry:
    """What Kafka is pinned from; nothing tells its settings."""
    found = Registry("4.2.0", "4.5.0")
    monkeypatch.setitem(SYSTEMS, "kafka", dataclasses.replace(KAFKA, releases=Releases(found)))
    return found


def telling(monkeypatch: pytest.MonkeyPatch, lists: Callable[[Software, Path], Known]) -> None:
    """Lets Kafka's settings be told by this."""
    releases = SYSTEMS["kafka"].releases
    assert releases is not None
    monkeypatch.setitem(
        SYSTEMS, "kafka", dataclasses.replace(KAFKA, releases=dataclasses.replace(releases, list_settings=lists))
    )


def knowing_all_but(*keys: str) -> Callable[[Software, Path], Known]:
    """What 4.1.1 knows without some."""
    known = release_of("kafka", "4.1.1").known
    assert known is not None
    settings = {
        kind: {key: each for key, each in its.items() if key not in keys} for kind, its in known.settings.items()
    }
    return lambda _software, _folder: dataclasses.replace(known, settings=settings)


def test_a_pinned_version_is_there_for_campaigns(project: Path, registry: Registry, tmp_path: Path) -> None:
    """In its folder, as the next older one that is pinned, whose facts it takes over."""
    release = pin("kafka", "4.2.0", tmp_path / "cache", notice=silent)
    assert registry.asked == [("4.2.0", "4.1.1")]
    assert release == release_of("kafka", "4.2.0")
    assert (release.version, release.folder, release.by_project) == ("4.2.0", project / "kafka" / "4.2.0", True)
    assert {file.name for file in (project / "kafka" / "4.2.0").iterdir()} == {
        "pom.xml",
        "artifacts.sha256",
        FACTS_FILE,
    }
    assert release.facts == dataclasses.replace(facts_of("kafka", "4.1.1"), taken_from="4.1.1")


def test_its_settings_are_recorded_where_it_tells_them(
    project: Path, registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What samebox renders and it doesn't know is left out of its files from then on, with the reason."""
    del registry, project
    key = "group.initial.rebalance.delay.ms"
    telling(monkeypatch, knowing_all_but(key))
    release = pin("kafka", "4.2.0", tmp_path / "cache", notice=silent)
    assert release.known is not None and not release.known.knows("broker", key)
    assert release.facts.without == {"broker": {key: "kafka 4.2.0 doesn't know it"}}
    assert release.facts.cannot == {}


def test_a_durability_is_out_of_reach_without_the_setting_that_makes_it(
    project: Path, registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Instead of a promise that nothing keeps."""
    del registry, project
    telling(monkeypatch, knowing_all_but("flush.messages"))
    release = pin("kafka", "4.2.0", tmp_path / "cache", notice=silent)
    made_by_it = [level for level, table in KAFKA.durability(3).items() if "flush.messages" in table["topic"]]
    assert "1" in made_by_it
    assert release.facts.cannot == dict.fromkeys(made_by_it, "kafka 4.2.0 doesn't know the topic's flush.messages")


def test_settings_that_can_not_be_told_are_no_obstacle(
    project: Path, registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is pinned without them, and a line says so."""
    del registry, project

    def refuse(_software: Software, _folder: Path) -> Known:
        raise MissingRequirement("no such class")

    telling(monkeypatch, refuse)
    said: list[str] = []
    release = pin("kafka", "4.2.0", tmp_path / "cache", notice=said.append)
    assert release.known is None
    assert "kafka 4.2.0: no such class" in said


@pytest.mark.parametrize(
    ("system", "version", "error", "next_step"),
    [
        ("kafka", "4.3.1", "kafka 4.3.1 is pinned already, by samebox.", ""),
        ("kafka", "4.2.9", "kafka 4.2.9 isn't there.", ""),
        ("kafka", "../up", "'../up' isn't a version: letters, digits and . _ + - only.", ""),
        ("rabbitmq", "4.3.6", "other versions of rabbitmq can't be pinned: its packages, and Erlang's, are those of one Debian", ""),
        ("redpanda", "25.3", "other versions of redpanda can't be pinned: nothing of it can be fetched",
         "samebox software add redpanda --file redpanda-*.tar.gz"),
        ("kafak", "4.2.0", "unknown system 'kafak'. Did you mean 'kafka'?", ""),
    ],
)  # fmt: skip
def test_a_mistake_is_a_sentence_and_leaves_nothing(
    system: str, version: str, error: str, next_step: str, project: Path, registry: Registry, tmp_path: Path
) -> None:
    """Not even an empty folder."""
    del registry
    with pytest.raises(InvalidInput) as refusal:
        pin(system, version, tmp_path / "cache", notice=silent)
    assert str(refusal.value).startswith(error)
    assert refusal.value.next_step == next_step
    assert not project.exists()


def test_what_was_pinned_is_pinned_already(project: Path, registry: Registry, tmp_path: Path) -> None:
    """The folder is named: whoever wants it anew removes it."""
    pin("kafka", "4.2.0", tmp_path / "cache", notice=silent)
    with pytest.raises(InvalidInput, match=f"kafka 4.2.0 is pinned already, in {project / 'kafka' / '4.2.0'}"):
        pin("kafka", "4.2.0", tmp_path / "cache", notice=silent)
    assert len(registry.asked) == 1


def test_what_changed_since_is_refused(project: Path, tmp_path: Path) -> None:
    """The error has the hash that came and the one in the lock."""
    folder = project / "kafka" / "4.2.0"
    shutil.copytree(folders_of("kafka")["4.1.1"], folder)
    (folder / "pom.xml").write_text((folder / "pom.xml").read_text().replace("4.1.1", "4.2.0"))
    (folder / "artifacts.sha256").write_text(f"{'0' * 64}  kafka.jar\n")
    [software] = release_of("kafka", "4.2.0").software
    libs = entry_of(software, tmp_path) / "libs"
    libs.mkdir(parents=True)
    (libs / "kafka.jar").write_bytes(b"another")
    with pytest.raises(ArtifactsDiffer, match=rf"differs: kafka\.jar is [0-9a-f]{{64}}, recorded {'0' * 64}"):
        software.fetch(tmp_path, notice=silent)


def test_facts_are_read_as_they_were_written(tmp_path: Path) -> None:
    """Whatever is in their texts."""
    facts = Facts(
        1,
        cannot={"2-bypass": 'a "reason" with \\ and é'},
        without={"jvm/broker": {"Flag": "why"}, "broker": {"a.b": "why"}},
        unknown={"broker": {"c": "since 2"}},
        load_tool="none",
        requires=("Java 25",),
        taken_from="1.0",
    )
    file = tmp_path / FACTS_FILE
    file.write_text(written(facts, "toy 1.1"))
    assert parse_document(Facts, file, schema=1) == facts
