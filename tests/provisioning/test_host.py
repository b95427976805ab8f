"""The strict fake host, and doing the same on all hosts."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from provisioning.errors import CommandFailed, Completed, HostsFailed, HostUnreachable
from provisioning.hosts.host import Host, ScriptedHost, UnscriptedCommand, on_all
from provisioning.hosts.inventory import HostRecord, SshAddress


def _host(name: str, **answers: str | Completed | Exception | list[str | Completed | Exception]) -> ScriptedHost:
    ssh = SshAddress("127.0.0.1", 22, "nobody", "ssh-ed25519 AAAA")
    record = HostRecord(name, "broker", ssh, "127.0.0.1", f"/srv/{name}", (), f"i-{name}", "none", 1)
    return ScriptedHost(record, dict(answers))


def test_a_scripted_host_is_a_host() -> None:
    """The fake has every verb of the protocol (checked by the type checker too)."""
    host: Host = _host("broker-1", uptime="3 days")
    assert host.name == "broker-1"
    assert host.run("uptime") == Completed("uptime", "3 days", "", 0)


def test_an_unscripted_command_is_an_error() -> None:
    """A command it was not told about fails the test that asked, and is recorded."""
    host = _host("broker-1", uptime="3 days")
    with pytest.raises(UnscriptedCommand, match="broker-1 has no scripted answer to: reboot"):
        host.run("reboot")
    with pytest.raises(UnscriptedCommand):
        host.spawn("uptime")
    with pytest.raises(UnscriptedCommand):
        host.get("/etc/hostname")
    assert host.asked == ["reboot"]


def test_a_list_of_answers_is_used_up() -> None:
    """Answers in a list come one by one; one question too many is an error."""
    host = _host("broker-1", jps=["one", "two"])
    assert [host.run("jps").stdout, host.run("jps").stdout] == ["one", "two"]
    with pytest.raises(UnscriptedCommand, match="used up"):
        host.run("jps")


def test_a_scripted_failure_behaves_as_a_real_one() -> None:
    """A scripted non-zero exit raises unless check=False; a scripted exception is raised."""
    failed = Completed("df", "", "no such device", 1)
    host = _host("broker-1", df=failed, cut=HostUnreachable("broker-1", "cut off"))
    with pytest.raises(CommandFailed, match="no such device"):
        host.run("df")
    assert host.run("df", check=False) == failed
    with pytest.raises(HostUnreachable):
        host.run("cut")


def test_files_are_kept_in_memory(tmp_path: Path) -> None:
    """put, push, get and fetch of the fake agree with each other."""
    host = _host("broker-1")
    host.put(b"a", "/srv/a")
    (tmp_path / "b").write_bytes(b"bb")
    host.push(tmp_path / "b", "/srv/b")
    host.fetch("/srv/b", tmp_path / "back")
    assert (host.get("/srv/a"), (tmp_path / "back").read_bytes()) == (b"a", b"bb")


def test_all_hosts_work_at_once() -> None:
    """The work of all hosts overlaps in time, and each result is filed under its host."""
    meeting = threading.Barrier(3, timeout=60)

    def work(host: Host) -> str:
        meeting.wait()
        return host.name.upper()

    names = ["broker-1", "broker-2", "client-1"]
    assert on_all("meeting", [_host(name) for name in names], work) == {name: name.upper() for name in names}
    assert on_all("meeting", [], work) == {}


def test_every_failure_is_told_after_all_have_ended() -> None:
    """One error names all failing hosts with their own messages and next steps; the others have run to their end."""
    done: list[str] = []

    def work(host: Host) -> None:
        if host.name != "broker-2":
            raise HostUnreachable(host.name, "cut off", next_step="look at the cable")
        done.append(host.name)

    with pytest.raises(HostsFailed) as caught:
        on_all("installing", [_host(f"broker-{n}") for n in (1, 2, 3)], work)
    assert str(caught.value) == "installing failed on broker-1, broker-3:\n  broker-1: cut off\n  broker-3: cut off"
    assert caught.value.next_step == "look at the cable"
    assert sorted(caught.value.errors) == ["broker-1", "broker-3"]
    assert done == ["broker-2"]


def test_an_interrupt_is_not_wrapped() -> None:
    """A KeyboardInterrupt in one host's work stays one."""

    def work(_: Host) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        on_all("installing", [_host("broker-1")], work)
