"""The store: sends a bundle only where it is missing, over SSH alone, whole or not at all."""

from __future__ import annotations

import hashlib
import io
import tarfile
import time
from pathlib import Path

import pytest

from provisioning.cache import sha256_of, user_cache
from provisioning.errors import InvalidInput
from provisioning.hosts.host import ScriptedHost
from provisioning.hosts.inventory import HostRecord, SshAddress
from provisioning.hosts.ssh import SshHost
from provisioning.software.delivery import DIRECT
from provisioning.software.software import key_of
from provisioning.software.store import Store
from systems.deployment import SoftwareStore
from systems.kafka.system import KAFKA
from systems.registry import SYSTEMS, software
from systems.software.maven import MavenJars, recorded_sums
from systems.software.release_jars import read_tarball


def scripted(name: str) -> ScriptedHost:
    """A host that answers nothing yet."""
    ssh = SshAddress("127.0.0.1", 22, "operator", "ssh-ed25519 AAAA")
    return ScriptedHost(HostRecord(name, "broker", ssh, "127.0.0.1", "/box", (), "", "", 1))


def write_tarball(path: Path, files: dict[str, bytes]) -> Path:
    """A gzipped tar of these files."""
    with tarfile.open(path, "w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


@pytest.fixture
def tarball(tmp_path: Path) -> Path:
    """A little release in the makers' layout."""
    top = "kafka_2.13-9.9.9"
    files = {f"{top}/libs/a-1.jar": b"one", f"{top}/libs/b-2.jar": b"two", f"{top}/bin/start.sh": b"#!/bin/sh"}
    return write_tarball(tmp_path / "kafka.tgz", files)


def test_a_given_tarball_replaces_the_bundle(tarball: Path, tmp_path: Path) -> None:
    """Its version and sum are told, its jars and nothing else are kept; Maven isn't needed."""
    store = Store(tmp_path / "cache", software({"kafka": tarball}))
    assert store.version("kafka") == "9.9.9"
    assert store.digest("kafka") == sha256_of(tarball)
    libs = store.folder("kafka") / "libs"
    assert {jar.name: jar.read_bytes() for jar in libs.iterdir()} == {"a-1.jar": b"one", "b-2.jar": b"two"}
    assert store.version("pulsar") == SYSTEMS["pulsar"].software[0].version


def test_damaged_jars_of_a_tarball_are_unpacked_anew(tarball: Path, tmp_path: Path) -> None:
    """A jar cut short in the cache is replaced."""
    libs = Store(tmp_path / "cache", software({"kafka": tarball})).folder("kafka") / "libs"
    (libs / "a-1.jar").write_bytes(b"o")
    assert (
        Store(tmp_path / "cache", software({"kafka": tarball})).folder("kafka") / "libs/a-1.jar"
    ).read_bytes() == b"one"


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"kafka_2.13-9.9.9/README": b""}, "no <product>-<version>"),
        ({"kafka/libs/a.jar": b""}, "its folder is called 'kafka'"),
        ({"apache-other-1.0/lib/a.jar": b""}, "its folder is called 'apache-other-1.0'"),
        ({"kafka-1.0/libs/a.jar": b"", "kafka-1.1/libs/a.jar": b""}, "no <product>-<version>"),
    ],
)
def test_another_tarball_is_refused(files: dict[str, bytes], reason: str, tmp_path: Path) -> None:
    """What isn't a release of that name is refused before anything is started."""
    path = write_tarball(tmp_path / "x.tgz", files)
    with pytest.raises(InvalidInput, match="not an official tarball of kafka") as caught:
        software({"kafka": path})
    assert reason in str(caught.value)


def test_a_file_that_is_no_tarball_is_refused(tmp_path: Path) -> None:
    """Neither a missing file nor any other file ends in a traceback."""
    other = tmp_path / "notes.txt"
    other.write_text("not a tarball")
    for path in (other, tmp_path / "absent.tgz"):
        with pytest.raises(InvalidInput, match="can't be read as a tarball of kafka"):
            read_tarball("kafka", path)


def test_a_tarball_for_an_unknown_name_is_refused(tarball: Path) -> None:
    """A misspelt name is told at once, not when it is deployed."""
    with pytest.raises(InvalidInput, match="Valid names: kafka, nats, pulsar"):
        software({"kafak": tarball})


def test_only_hosts_without_the_bundle_get_it(tarball: Path, tmp_path: Path) -> None:
    """The marker with the digest makes a host complete; another digest in it doesn't."""
    digest = sha256_of(tarball)
    key = f"kafka-9.9.9-{digest[:16]}"
    looking = f"cat /box/software/{key}/.complete 2>/dev/null || true"
    incoming = f"/box/software/.incoming-{key}"
    unpacking = (
        f"rm -rf {incoming} && mkdir -p {incoming} && "
        f"tar --no-same-owner -xf {incoming}.tar -C {incoming} && rm -f {incoming}.tar"
    )
    completing = (
        f"printf %s {digest} > {incoming}/.complete && rm -rf /box/software/{key} && mv {incoming} /box/software/{key}"
    )
    with_it, without = scripted("broker-1"), scripted("broker-2")
    with_it.answers = {looking: digest}
    without.answers = {looking: "0" * 64, unpacking: "", completing: ""}
    relative = Store(tmp_path / "cache", software({"kafka": tarball})).deploy("kafka", [with_it, without])
    assert relative == f"software/{key}"
    assert with_it.asked == [looking] and not with_it.files
    assert without.asked == [looking, unpacking, completing]
    with tarfile.open(fileobj=io.BytesIO(without.files[f"{incoming}.tar"])) as tar:
        assert tar.getnames() == ["libs/a-1.jar", "libs/b-2.jar"]
    assert not list((tmp_path / "cache").glob(".sending-*"))


def test_hosts_that_have_it_need_nothing_here(tmp_path: Path) -> None:
    """With the bundle on every host neither Maven nor the cache is touched."""
    [jars] = KAFKA.software
    host = scripted("broker-1")
    host.answers = {f"cat /box/software/{key_of(jars)}/.complete 2>/dev/null || true": jars.digest}
    assert Store(tmp_path / "cache", software()).deploy("kafka", [host]) == f"software/{key_of(jars)}"
    assert not (tmp_path / "cache").exists()


@pytest.mark.integration
def test_the_real_bundle_arrives_on_three_hosts_at_once(hosts: dict[str, SshHost]) -> None:
    """Every jar on every broker host has its recorded sum; a second deploy sends nothing."""
    brokers = [host for host in hosts.values() if host.record.role == "broker"]
    said: list[str] = []
    store = Store(user_cache(), software(), notice=said.append)
    as_deployments_see_it: SoftwareStore = store
    [jars] = KAFKA.software
    assert isinstance(jars, MavenJars)
    store.folder("kafka")
    for host in brokers:  # another test of the session may have brought it already
        host.run(f"rm -rf {host.record.root}/software/{key_of(jars)}")
    started_s = time.monotonic()
    relative = as_deployments_see_it.deploy("kafka", brokers)
    print(f"deployed in {time.monotonic() - started_s:.1f} s")
    sums = jars.artifacts.read_bytes()
    for host in brokers:
        libs = f"{host.record.root}/{relative}/libs"
        host.run(f"cd {libs} && sha256sum --quiet -c -", stdin=sums)
        listed = host.run(f"ls {libs}").stdout.split()
        assert len(listed) == len(recorded_sums(jars.artifacts))
        marker = host.get(f"{host.record.root}/{relative}/.complete").decode()
        assert marker == hashlib.sha256(sums).hexdigest() == store.digest("kafka")
    sent = [line for line in said if "sending" in line]
    assert store.deploy("kafka", brokers) == relative
    assert [line for line in said if "sending" in line] == sent and len(sent) == 1


def test_two_versions_lie_side_by_side(tmp_path: Path) -> None:
    """A view means another version by the same name: both are told, fetched and brought to the same host apart."""
    one, two = (read_tarball("kafka", release_of_kafka(tmp_path / version, version)) for version in ("9.9.8", "9.9.9"))
    store = Store(tmp_path / "cache", [one])
    view = store.at([two])
    assert (store.version("kafka"), view.version("kafka")) == ("9.9.8", "9.9.9")
    assert (store.digest("kafka"), view.digest("kafka")) == (one.digest, two.digest)
    folders = [each.folder("kafka") for each in (store, view, store, view)]
    assert folders[:2] == folders[2:] and folders[0] != folders[1]
    assert [(folder / "libs" / "a-1.jar").read_bytes() for folder in folders[:2]] == [b"9.9.8", b"9.9.9"]


def test_what_a_view_does_not_replace_is_the_stores(tmp_path: Path) -> None:
    """And its way to hosts."""
    view = Store(tmp_path / "cache", software()).at([read_tarball("kafka", release_of_kafka(tmp_path, "9.9.9"))])
    assert view.version("pulsar") == SYSTEMS["pulsar"].software[0].version
    assert view.way is DIRECT


def release_of_kafka(folder: Path, version: str) -> Path:
    """A little release in the makers' layout, whose jar tells its version."""
    folder.mkdir(parents=True, exist_ok=True)
    return write_tarball(folder / "kafka.tgz", {f"kafka_2.13-{version}/libs/a-1.jar": version.encode()})
