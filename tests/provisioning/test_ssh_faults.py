"""Connections that are cut, hang, or take no further session, against a real sshd."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import paramiko
import pytest

from provisioning.errors import CommandTimedOut, HostUnreachable
from provisioning.hosts import ssh, ssh_host
from provisioning.hosts.inventory import Inventory
from provisioning.hosts.ssh import SshHost, connect
from provisioning.testbeds.local import sshd
from provisioning.testbeds.local.processes import listener_of
from provisioning.testbeds.local.testbed import LocalTestbed

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]


@pytest.fixture
def host(local_testbed: Inventory) -> Iterator[SshHost]:
    """A host with a connection of its own, so that cutting it disturbs no other test."""
    host = connect(local_testbed)[0]
    yield host
    host.close()


def _connection(host: SshHost) -> int:
    """The pid of the sshd process that serves this connection."""
    return int(host.run("echo $PPID").stdout)


def _after(delay_s: float, action: Callable[[], object]) -> None:
    timer = threading.Timer(delay_s, action)
    timer.daemon = True
    timer.start()


@pytest.fixture
def freeze() -> Iterator[Callable[[int], None]]:
    """Stops processes, and lets them go on at the end."""
    frozen: list[int] = []

    def stop(pid: int) -> None:
        frozen.append(pid)
        os.kill(pid, signal.SIGSTOP)

    yield stop
    for pid in frozen:
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            continue


def test_a_cut_connection_is_noticed_at_once(host: SshHost) -> None:
    """A command whose connection is cut raises HostUnreachable long before its deadline, and is not run again."""
    counter = f"{host.record.root}/runs"
    host.run(f"rm -f {counter}")
    pid = _connection(host)
    _after(0.5, lambda: os.kill(pid, signal.SIGKILL))
    started = time.monotonic()
    with pytest.raises(HostUnreachable, match="connection was cut while running"):
        host.run(f"echo run >> {counter}; sleep 3", timeout_s=60)
    assert time.monotonic() - started < 10
    assert host.get(counter) == b"run\n"


def test_the_next_command_reconnects(host: SshHost) -> None:
    """After a cut, the next command finds its way over a new connection."""
    first = _connection(host)
    os.kill(first, signal.SIGKILL)
    deadline = time.monotonic() + 5
    while host._links and host._links[0].alive and time.monotonic() < deadline:
        time.sleep(0.05)
    assert _connection(host) != first


def test_an_end_of_input_that_crosses_with_a_processs_end_cuts_nothing(
    host: SshHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long it takes to send: the server must not get it for a channel that it has closed, or it cuts the connection."""
    connection = _connection(host)
    send = paramiko.Transport._send_user_message  # type: ignore[attr-defined]
    delayed: list[float] = []

    def send_late(transport: paramiko.Transport, message: paramiko.Message) -> None:
        if message.asbytes()[:1] == paramiko.common.cMSG_CHANNEL_EOF and not delayed:
            delayed.append(time.monotonic())
            time.sleep(1.0)
        send(transport, message)

    process = host.spawn("sleep 0.5; exit 7")
    monkeypatch.setattr(paramiko.Transport, "_send_user_message", send_late)
    process.close()
    assert process.wait(timeout_s=60).exit_status == 7
    assert len(delayed) == 1
    assert _connection(host) == connection


def test_a_cut_ends_the_lines_of_a_process_with_an_error(host: SshHost) -> None:
    """A reader of a spawned process' lines learns of the cut; it doesn't look like a normal end."""
    process = host.spawn("echo begun; cat")
    lines = process.lines()
    assert next(lines) == "begun"
    os.kill(_connection(host), signal.SIGKILL)
    with pytest.raises(HostUnreachable, match="connection was cut while running: echo begun"):
        next(lines)
    with pytest.raises(HostUnreachable):
        process.send_line("hello")
    with pytest.raises(HostUnreachable):
        process.wait(timeout_s=5)
    process.close()


def test_a_hung_connection_is_replaced_before_sending(host: SshHost, freeze: Callable[[int], None]) -> None:
    """A command for a connection that hangs goes over a new one: it had not been sent."""
    freeze(_connection(host))
    assert host.run("echo fine", timeout_s=30).stdout == "fine\n"


def test_a_command_on_a_hung_connection_is_ended_at_its_deadline(host: SshHost, freeze: Callable[[int], None]) -> None:
    """When the connection hangs but the host answers, the process is ended over a new connection."""
    pid, pids = _connection(host), f"{host.record.root}/hung.pid"
    _after(0.7, lambda: freeze(pid))
    with pytest.raises(CommandTimedOut):
        host.run(f"echo $$ > {pids}; sleep 300", timeout_s=2)
    remote = host.get(pids).decode().strip()
    assert host.run(f"ps -o stat= -p {remote} | grep -v '^Z'", check=False).exit_status != 0


def test_a_hung_host_is_unreachable(
    host: SshHost, freeze: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """When neither the connection nor the server answers, the deadline ends in HostUnreachable."""
    monkeypatch.setattr(ssh_host, "OPEN_TIMEOUT_S", 1.0)
    monkeypatch.setattr(ssh_host, "END_GROUP_TIMEOUT_S", 2.0)
    pid, listener = _connection(host), listener_of(Path(host.record.root))
    assert listener is not None

    def hang() -> None:
        freeze(listener)
        freeze(pid)

    _after(0.5, hang)
    started = time.monotonic()
    with pytest.raises(HostUnreachable):
        host.run("sleep 5", timeout_s=1)
    assert time.monotonic() - started < 15


def test_the_heartbeat_notices_a_hung_connection(
    local_testbed: Inventory, freeze: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader without a deadline is woken when the server stops answering."""
    monkeypatch.setattr(ssh, "HEARTBEAT_S", 0.3)
    monkeypatch.setattr(ssh, "DEAD_AFTER_S", 1.5)
    host = connect(local_testbed)[0]
    process = host.spawn("echo begun; cat")
    lines = process.lines()
    next(lines)
    time.sleep(2.5)
    assert host._links[0].alive, "a connection that answers must not be closed"
    freeze(_connection(host))
    with pytest.raises(HostUnreachable):
        next(lines)
    host.close()


def test_more_sessions_than_a_connection_may_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the server allows two sessions per connection, ten commands at once still all run."""
    config = sshd._config

    def stingy(*args: object) -> str:
        return config(*args).replace("MaxSessions 100", "MaxSessions 2")  # type: ignore[arg-type]

    monkeypatch.setattr(sshd, "_config", stingy)
    testbed = LocalTestbed(tmp_path / "state", brokers=1, clients=0)
    try:
        host = connect(testbed.up())[0]
        held = [host.spawn("cat") for _ in range(3)]
        with ThreadPoolExecutor(max_workers=7) as pool:
            answers = [done.stdout for done in pool.map(lambda n: host.run(f"sleep 0.5; echo {n}"), range(7))]
        assert answers == [f"{n}\n" for n in range(7)]
        assert len(host._links) >= 3
        for process in held:
            process.close()
        host.close()
    finally:
        testbed.down()
