"""Free space and answers of hosts, on scripted ones."""

from __future__ import annotations

import time

import pytest

from bench.load.abort import Abort
from bench.run.free_space import HostWatch, free_command, look, watched_paths
from provisioning.errors import CommandFailed, CommandTimedOut, Completed, HostUnreachable
from provisioning.hosts.host import ScriptedHost
from provisioning.hosts.inventory import DataDir, HostRecord, Role, SshAddress

FULL = 64 * 2**20
DATA_DIRS = (DataDir("/r/data-1", "/dev/a", "/", False), DataDir("/r/data 2", "/dev/b", "/", False))
BROKER_LOOK = free_command(("/r/data-1", "/r/data 2"))
ROOM = "     Avail\n900000000\n 67108864\n"
Answer = str | Completed | Exception


def host(answer: Answer, name: str = "broker-1", role: Role = "broker") -> ScriptedHost:
    """A host that gives the same answer to every look."""
    ssh = SshAddress("127.0.0.1", 22, "nobody", "")
    record = HostRecord(name, role, ssh, "127.0.0.1", "/r", DATA_DIRS, "i", "t", 1)
    scripted = ScriptedHost(record)
    scripted.answers[free_command(watched_paths(scripted))] = answer
    return scripted


def test_the_records_of_a_client_are_watched_too() -> None:
    """Data directories everywhere, and on clients where workers write; names are quoted."""
    assert watched_paths(host(ROOM)) == ("/r/data-1", "/r/data 2")
    assert watched_paths(host(ROOM, "client-1", "client")) == ("/r/data-1", "/r/data 2", "/r/load")
    assert BROKER_LOOK == "df -B1 --output=avail -- /r/data-1 '/r/data 2'"


def test_room_enough_is_no_abort() -> None:
    """The threshold itself is still enough."""
    assert look(host(ROOM), full_disk_bytes=FULL) is None


def test_a_full_disk_is_named() -> None:
    """Host, directory, what is left and what the rule asks for."""
    found = look(host("Avail\n900000000\n67108863\n"), full_disk_bytes=FULL)
    assert found is not None
    assert (found.rule, found.axis, found.host) == ("disk-full", "validity", "broker-1")
    assert found.reason == "/r/data 2 has 64 MiB left; below 64 MiB a disk counts as full"


@pytest.mark.parametrize(
    "answer",
    [
        HostUnreachable("broker-1", "cut off"),
        CommandTimedOut("broker-1", "df", 30),
        CommandFailed("broker-1", Completed("df", "", "df: /r/data-1: Input/output error", 1)),
        Completed("df", "Avail\n900000000\n", "", 0),
        "Avail\n-\n900000000\n",
    ],
)
def test_a_host_that_cannot_be_looked_at_is_lost(answer: Answer) -> None:
    """No answer, a failing disk and an answer that says nothing are never taken for room enough."""
    found = look(host(answer), full_disk_bytes=FULL)
    assert found is not None
    assert (found.rule, found.axis, found.host) == ("host-lost", "validity", "broker-1")


def found_within(watch: HostWatch, limit_s: float) -> Abort | None:
    """What the watch has found, waited for."""
    deadline = time.monotonic() + limit_s
    while watch.found() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    return watch.found()


def test_the_watch_looks_again_and_again() -> None:
    """A disk that fills up after the first look is found, while the other host goes on having room."""
    filling = host(ROOM, "broker-2")
    with HostWatch([host(ROOM), filling], full_disk_bytes=FULL, every_s=0.01) as watch:
        assert found_within(watch, 0.2) is None
        filling.answers[BROKER_LOOK] = "Avail\n1\n1\n"
        found = found_within(watch, 5)
    assert found is not None
    assert (found.rule, found.host) == ("disk-full", "broker-2")


def test_the_watch_ends_with_its_block() -> None:
    """Nothing is asked of a host any more afterwards."""
    quiet = host(ROOM)
    with HostWatch([quiet], full_disk_bytes=FULL, every_s=0.01):
        pass
    asked = len(quiet.asked)
    time.sleep(0.1)
    assert len(quiet.asked) == asked >= 1
