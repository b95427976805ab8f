"""What a running JVM is asked, with a real one on this machine."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from provisioning.errors import DeploymentError
from provisioning.hosts.inventory import HostRecord, SshAddress
from systems.jvm.readback import look
from tests.provisioning.shell_host import ShellHost

SLEEPER = """
class Sleeper {
    public static void main(String[] arguments) throws Exception {
        System.out.println("sleeping");
        Thread.sleep(600_000);
    }
}
"""


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> ShellHost:
    """This machine."""
    root = str(tmp_path_factory.mktemp("host"))
    address = SshAddress("127.0.0.1", 22, "b", "")
    return ShellHost(HostRecord("broker-1", "broker", address, "127.0.0.1", root, (), "", "", 1))


@pytest.fixture(scope="module")
def jvm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[subprocess.Popen[str]]:
    """A JVM with flags and properties of its own, up."""
    folder = tmp_path_factory.mktemp("sleeper")
    (folder / "Sleeper.java").write_text(SLEEPER)
    subprocess.run(["javac", "Sleeper.java"], cwd=folder, check=True)
    flags = ["-XX:-UsePerfData", "-XX:MaxHeapSize=32m", "-XX:+UseSerialGC", "-Dzookeeper.admin=a:b"]
    argv = ["java", *flags, "-cp", ".", "Sleeper"]
    with subprocess.Popen(argv, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "sleeping\n"
            yield process
        finally:
            process.terminate()
            process.wait()
    assert not Path(f"/tmp/.java_pid{process.pid}").exists()


def test_a_running_jvm_tells_its_flags(host: ShellHost, jvm: subprocess.Popen[str]) -> None:
    """Those that it was started with, again and again; what it was asked by leaves no file in its directory."""
    for _ in range(2):
        flags = look(host, {"broker": jvm.pid}).flags["broker"]
        assert (flags["MaxHeapSize"], flags["UseSerialGC"], flags["UsePerfData"]) == (str(2**25), "true", "false")
    assert not list(Path(f"/proc/{jvm.pid}/cwd").glob(".attach*"))
    assert look(host, {}).flags == {}


def test_a_running_jvm_tells_its_properties(host: ShellHost, jvm: subprocess.Popen[str]) -> None:
    """As they were given, not as they are printed."""
    told = look(host, {"zookeeper": jvm.pid}, properties_of=["zookeeper"]).properties["zookeeper"]
    assert told["zookeeper.admin"] == "a:b"


def test_what_is_gone_tells_nothing(host: ShellHost, jvm: subprocess.Popen[str]) -> None:
    """The process that doesn't answer is named, also beside one that does."""
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
    pids = {"broker": jvm.pid, "bookie": gone.pid}
    with pytest.raises(DeploymentError, match=rf"broker-1: bookie \(pid {gone.pid}\) did not answer VM.flags"):
        look(host, pids)
