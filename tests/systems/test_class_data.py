"""Class data of a real Java program: recorded at its end, used by the next one, done without where it doesn't fit."""

from __future__ import annotations

import dataclasses
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from provisioning.hosts.inventory import HostRecord, SshAddress
from systems.jvm import class_data
from tests.provisioning.shell_host import ShellHost

PROGRAM = 'public class Greeter { public static void main(String[] a) { System.out.println("served"); } }'
FROM_ARCHIVE = "Greeter source: shared objects file (top)"
SOFTWARE = "software/greeter"


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a program, and that in a jar."""
    folder = tmp_path_factory.mktemp("compiled")
    (folder / "Greeter.java").write_text(PROGRAM)
    subprocess.run(["javac", "Greeter.java"], cwd=folder, check=True)
    (folder / SOFTWARE / "libs").mkdir(parents=True)
    subprocess.run(["jar", "cf", f"{SOFTWARE}/libs/greeter.jar", "Greeter.class"], cwd=folder, check=True)
    return folder


@pytest.fixture
def host(compiled: Path, tmp_path: Path) -> ShellHost:
    """A host with a copy of it."""
    shutil.copytree(compiled, tmp_path, dirs_exist_ok=True)
    return ShellHost(
        HostRecord(
            "broker-1", "broker", SshAddress("127.0.0.1", 22, "b", ""), "127.0.0.1", str(tmp_path), (), "", "", 1
        )
    )


def served(host: ShellHost, *, record: bool = False) -> str:
    """What the program and its JVM say."""
    software = f"{host.record.root}/{SOFTWARE}"
    flag = class_data.flag(software, "broker", record=record)
    argv = ["java", flag, "-Xlog:class+load", "-cp", f"{software}/libs/*", "Greeter"]
    said = host.run(shlex.join(argv)).stdout
    assert "served" in said
    return said


def test_what_was_recorded_is_used_once_it_is_kept(host: ShellHost) -> None:
    """Neither a missing archive nor one that is only recorded changes anything."""
    assert FROM_ARCHIVE not in served(host)
    assert FROM_ARCHIVE not in served(host, record=True)
    assert FROM_ARCHIVE not in served(host)
    assert not class_data.there([(host, "broker")], SOFTWARE)
    class_data.keep([host], SOFTWARE)
    assert FROM_ARCHIVE in served(host)
    assert class_data.there([(host, "broker")], SOFTWARE)
    assert not class_data.there([(host, "broker"), (host, "controller")], SOFTWARE)
    class_data.keep([host], SOFTWARE)
    assert FROM_ARCHIVE in served(host)


def test_an_archive_of_other_jars_is_left_alone(host: ShellHost) -> None:
    """The JVM goes on without it."""
    served(host, record=True)
    class_data.keep([host], SOFTWARE)
    jar = Path(host.record.root, SOFTWARE, "libs", "greeter.jar")
    subprocess.run(["jar", "uf", jar, "Greeter.java"], cwd=host.record.root, check=True)
    assert FROM_ARCHIVE not in served(host)


def test_every_host_is_asked(host: ShellHost, tmp_path: Path) -> None:
    """One host without is enough for a no."""
    served(host, record=True)
    class_data.keep([host], SOFTWARE)
    bare = ShellHost(dataclasses.replace(host.record, name="broker-2", root=str(tmp_path / "bare")))
    assert not class_data.there([(host, "broker"), (bare, "broker")], SOFTWARE)
