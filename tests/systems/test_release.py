"""Several pinned versions of one system: which there are, and what each can't do."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from provisioning.errors import InvalidInput
from provisioning.software.software import key_of
from systems.deployment import Plan, Topic
from systems.kafka import layout
from systems.kafka.deployment import KafkaDeployment
from systems.known import ChangedDefault
from systems.profile import profile_names, system_profile
from systems.registry import DURABILITY, SYSTEMS, release_of, releases_of
from systems.release import NO_FACTS, Facts, Release, changed_defaults, facts_of, folders_of, like, required
from tests.systems.installed import Installed
from tests.systems.test_kafka import BROKERS, METADATA

EVERY = [release for system in SYSTEMS for release in releases_of(system)]
RECORDED = [release for release in EVERY if release.known is not None]
PINNED = {
    "kafka": ("4.3.1", "4.4.0", "4.1.1", "3.9.1"),
    "nats": ("2.15.1", "2.14.6", "2.12.8"),
    "pulsar": ("4.2.4", "4.0.7"),
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the user pins versions of Kafka: 4.2.7 is, which is 4.1.1 by another name."""
    monkeypatch.setenv("SAMEBOX_HOME", str(tmp_path))
    folder = tmp_path / "software" / "kafka" / "4.2.7"
    shutil.copytree(folders_of("kafka")["4.1.1"], folder)
    pom = folder / "pom.xml"
    pom.write_text(pom.read_text().replace("4.1.1", "4.2.7"))
    return folder


@pytest.mark.parametrize("system", PINNED)
def test_the_default_comes_first_then_the_newest(system: str) -> None:
    """In this order a campaign's author is told of them."""
    assert tuple(release.version for release in releases_of(system)) == PINNED[system]
    assert [release.is_default for release in releases_of(system)] == [True] + [False] * (len(PINNED[system]) - 1)


@pytest.mark.parametrize("system", SYSTEMS)
def test_without_a_version_the_software_is_the_systems_own(system: str) -> None:
    """The very same, so that campaigns that name no version are as they were."""
    release = release_of(system, None)
    assert release.software is SYSTEMS[system].software
    assert release.requirements == SYSTEMS[system].requirements
    assert release.is_default and not release.by_project


def test_a_version_has_its_own_software_and_the_load_tool_of_all() -> None:
    """Only the system itself differs, under the same name and another key."""
    [default, old] = [release_of("pulsar", version) for version in (None, "4.0.7")]
    assert [each.name for each in default.software] == [each.name for each in old.software] == ["pulsar", "pulsar-perf"]
    assert old.software[0].version == old.version == "4.0.7"
    assert key_of(default.software[0]) != key_of(old.software[0])
    assert default.software[1] == old.software[1]


def test_a_version_that_is_not_pinned_is_refused_with_those_that_are() -> None:
    """And with what pins it."""
    with pytest.raises(
        InvalidInput, match=r"kafka 4\.2\.0 isn't pinned\. Valid versions: 4\.3\.1, 4\.4\.0, 4\.1\.1, 3\.9\.1"
    ) as refusal:
        release_of("kafka", "4.2.0")
    assert refusal.value.next_step == "To pin it: samebox software add kafka 4.2.0"


def test_an_unknown_system_is_refused_with_the_one_that_may_be_meant() -> None:
    """And with all that there are."""
    with pytest.raises(
        InvalidInput, match=r"unknown system 'kafak'\. Did you mean 'kafka'\? Valid choices: kafka, nats, "
    ):
        release_of("kafak", None)


def test_a_system_of_one_version_names_it_and_no_command() -> None:
    """Others of it can't be pinned."""
    with pytest.raises(InvalidInput, match=r"rabbitmq 4\.3\.6 isn't pinned\. Valid versions: 4\.0\.5\.") as refusal:
        release_of("rabbitmq", "4.3.6")
    assert refusal.value.next_step == ""


def test_a_system_whose_archive_is_given_has_no_versions() -> None:
    """What runs is whatever was added; asking for a version says how that is done."""
    assert releases_of("redpanda") == ()
    assert release_of("redpanda", None).version == ""
    with pytest.raises(InvalidInput, match="redpanda has no pinned versions") as refusal:
        release_of("redpanda", "25.3.14")
    assert refusal.value.next_step == "samebox software add redpanda --file redpanda-*.tar.gz"


def test_the_users_own_versions_are_among_them(project: Path) -> None:
    """In their order, and marked."""
    assert [release.version for release in releases_of("kafka")] == ["4.3.1", "4.4.0", "4.2.7", "4.1.1", "3.9.1"]
    release = release_of("kafka", "4.2.7")
    assert release.by_project and release.folder == project and not release.is_default
    assert release.software[0].digest == release_of("kafka", "4.1.1").software[0].digest


def test_what_a_version_needs_of_its_hosts_is_data(project: Path) -> None:
    """By the requirement's name, which must be one that the system knows."""
    facts = project / "release.toml"
    facts.write_text('schema = 1\nrequires = ["Java 17"]\n')
    assert [one.name for one in release_of("kafka", "4.2.7").requirements] == ["Java 17"]
    facts.write_text("schema = 1\nrequires = []\n")
    assert release_of("kafka", "4.2.7").requirements == ()
    facts.write_text('schema = 1\nrequires = ["Java 99"]\n')
    with pytest.raises(InvalidInput, match=r"kafka 4\.2\.7: requires names 'Java 99'\. Valid names: Java 17\."):
        release_of("kafka", "4.2.7")


def test_a_version_may_require_what_its_system_does_not() -> None:
    """In place of what the system does."""
    [java] = SYSTEMS["kafka"].requirements
    newer = type(java)("Java 25", "true", {}, "newer")
    assert required(Facts(1, requires=("Java 25",)), [java], [newer], "toy 1") == (newer,)
    assert required(NO_FACTS, [java], [newer], "toy 1") == (java,)


def test_what_a_version_can_not_give_has_its_reason(project: Path) -> None:
    """The other durabilities have none."""
    (project / "release.toml").write_text('schema = 1\nload_tool = "too old"\n[cannot]\n"1" = "it never syncs"\n')
    release = release_of("kafka", "4.2.7")
    assert (release.why_not("1"), release.why_not("2")) == ("it never syncs", None)
    assert release.why_no_load_tool == "too old"
    assert release_of("kafka", None).why_no_load_tool is None


def test_a_mistake_in_a_release_file_names_file_and_key(project: Path) -> None:
    """As everywhere."""
    (project / "release.toml").write_text("schema = 1\n[withuot]\nbroker = {}\n")
    with pytest.raises(InvalidInput, match=r"4\.2\.7/release\.toml: unknown key 'withuot'\. Did you mean 'without'\?"):
        release_of("kafka", "4.2.7")


@pytest.mark.parametrize(
    ("version", "component", "key", "end"),
    [
        ("3.9.1", "broker", "num.io.thread", ". Did you mean 'num.io.threads'?"),
        (
            "3.9.1",
            "broker/broker-1",
            "share.coordinator.threads",
            "; of the pinned versions 4.1.1, 4.3.1, 4.4.0 know it.",
        ),
        ("4.4.0", "controller", "log.message.downconversion.enable", "; of the pinned versions 3.9.1 knows it."),
        ("4.4.0", "broker", "zookeeper.connect", ": gone with 4.0, as ZooKeeper is."),
        ("4.3.1", "topic", "max.decompressed.message.bytes", "; of the pinned versions 4.4.0 knows it."),
        ("4.4.0", "broker", "samebox.rules", ", nor to any other pinned version."),
    ],
)
def test_an_unknown_setting_is_a_sentence(version: str, component: str, key: str, end: str) -> None:
    """With the reason, the versions that know it, or the key that may be meant, whichever there is; a known one is none."""
    known = "flush.ms" if component == "topic" else "num.io.threads"
    begin = f"setting {key!r} of component {component!r} isn't known to kafka {version}"
    assert release_of("kafka", version).unknown({component: {known: "1", key: "1"}}) == [begin + end]


def test_what_is_not_recorded_is_not_judged() -> None:
    """Flags of a JVM, settings of the client, how a topic is laid out; and a system of which nothing is recorded."""
    others = {"jvm/broker": {"NoSuchFlag": "1"}, "client": {"linger": "1"}, "topic/layout": {"partitions": "3"}}
    assert release_of("kafka", "3.9.1").unknown(others) == []
    assert release_of("rabbitmq", None).unknown({"server": {"nonsense": "1"}}) == []


@pytest.mark.parametrize("release", RECORDED, ids=lambda release: release.title)
def test_every_version_knows_each_setting_that_samebox_renders_for_it(release: Release) -> None:
    """At all levels, with and without hosts for metadata: what it doesn't know is left out by its release.toml, not by code."""
    its = SYSTEMS[release.system]
    for hosts in (BROKERS, [*BROKERS, *METADATA]):
        deployment = its.deployment(hosts, Installed(release.version))
        for level in its.levels:
            intended = deployment.intended_settings(Plan(DURABILITY[level], (Topic("t", 6),), {}, {}))
            assert release.unknown(intended) == []


@pytest.mark.parametrize("release", [each for each in RECORDED if each.is_default], ids=lambda release: release.system)
def test_the_default_knows_every_setting_of_its_profiles(release: Release) -> None:
    """A record that lacked some would refuse campaigns that have always run."""
    folder = SYSTEMS[release.system].profiles
    for name in profile_names(folder):
        profile = system_profile(folder, name)
        of_large_hosts = profile.large_hosts.settings if profile.large_hosts is not None else {}
        assert release.unknown(profile.settings) == release.unknown(of_large_hosts) == []


@pytest.mark.parametrize(("version", "rendered"), [("3.9.1", False), ("4.1.1", True)])
def test_a_key_that_a_version_does_not_know_is_left_out_of_its_files(version: str, rendered: bool) -> None:
    """Of the file, and so of what is intended."""
    key, asked = "share.coordinator.state.topic.min.isr", Plan(DURABILITY["1"], (Topic("t", 6),), {}, {})
    intended = KafkaDeployment(BROKERS, Installed(version)).intended_settings(asked)
    assert (key in intended["broker/broker-1"]) is rendered
    nodes = layout.nodes(BROKERS)
    files = layout.files(nodes[0], nodes, asked, facts_of("kafka", version).without)
    assert (key in files[nodes[0].config_path]) is rendered


@pytest.mark.parametrize(
    ("version", "as_pinned"),
    [("4.1.1", "4.1.1"), ("4.2.0", "4.1.1"), ("9.9.9", "4.4.0"), ("2.8.2", "3.9.1"), ("4.10.0", "4.4.0")],
)
def test_a_version_that_is_not_pinned_is_like_the_next_older_one(version: str, as_pinned: str) -> None:
    """By its numbers; one that is older than all is like the oldest. So an archive that was given is run as its neighbours are."""
    assert like(folders_of("kafka"), version) == folders_of("kafka")[as_pinned]
    assert like({}, version) is None


def test_which_defaults_a_new_version_changed() -> None:
    """Recorded of both: Pulsar's client learns of each acknowledged message of a batch by default, since some version after 4.0."""
    told = changed_defaults(release_of("pulsar", "4.0.7"), release_of("pulsar", "4.2.4"))
    assert ChangedDefault("broker", "acknowledgmentAtBatchIndexLevelEnabled", "false", "true") in told
    assert ChangedDefault("bookie", "gcMetadataOpRateLimit", None, "1000") in told
    assert len([each for each in told if each.before is not None and each.after is not None]) == 4


def test_nothing_is_compared_with_what_is_not_recorded() -> None:
    """Instead of everything being new."""
    assert changed_defaults(release_of("rabbitmq", None), release_of("rabbitmq", None)) == []
