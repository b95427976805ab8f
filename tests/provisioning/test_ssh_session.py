"""One command over one channel: the process group's line, deadlines, ends; against a channel made of lists."""

from __future__ import annotations

import subprocess
import threading
import time
from collections import deque

import pytest

from provisioning.errors import HostError, HostUnreachable
from provisioning.hosts.ssh_process import SshProcess
from provisioning.hosts.ssh_session import CutOff, DeadlinePassed, Session, in_own_group

MARK = b"samebox-process-group:"


class ListedChannel:
    """A channel that gives the listed pieces, then (if `ends`) the end and the status, else nothing more."""

    def __init__(self, *pieces: bytes, status: int = 0, ends: bool = True, cut: bool = False) -> None:
        self.pieces = deque(pieces)
        self.ends = ends
        self.exit_status = -1 if cut else status
        self.eof_received = 0 if cut else int(ends)
        self.status_event = threading.Event()
        self.sent = b""
        self.input_closed = threading.Event()
        if ends:
            self.status_event.set()

    def exec_command(self, command: str) -> None:
        raise AssertionError(f"a session's command has been sent before: {command}")

    def settimeout(self, timeout: float | None) -> None:
        self.timeout = timeout

    def recv(self, nbytes: int) -> bytes:
        if self.pieces:
            return self.pieces.popleft()[:nbytes]
        if self.ends:
            return b""
        time.sleep(0.01)
        raise TimeoutError

    def recv_stderr(self, nbytes: int) -> bytes:
        return b""[:nbytes]

    def send(self, s: bytes) -> int:
        self.sent += s[:3]
        return len(s[:3])

    def shutdown_write(self) -> None:
        self.input_closed.set()

    def close(self) -> None:
        self.status_event.set()


def _soon() -> float:
    return time.monotonic() + 0.1


def test_the_process_groups_line_is_not_output() -> None:
    """The first line is kept as the process group, even when it comes in pieces and after a login script's words."""
    output = bytearray()
    session = Session(ListedChannel(b"welcome!\nsamebox-pro", b"cess-group:4", b"2\nfirst\n", b"second", status=3))
    assert session.drain(None, output.extend, _soon()) == 3
    assert session.process_group == 42
    assert output == b"first\nsecond"


def test_input_is_fed_whole_and_closed() -> None:
    """Input is sent piece by piece as the channel takes it, then closed."""
    channel = ListedChannel(MARK + b"1\n")
    session = Session(channel)
    session.drain([b"hello ", b"world"], lambda _: None, _soon())
    session.end()
    assert channel.input_closed.is_set()
    assert channel.sent == b"hello world"


def test_a_command_that_goes_on_passes_its_deadline() -> None:
    """Without an end of output the deadline is told, not an answer."""
    with pytest.raises(DeadlinePassed):
        Session(ListedChannel(MARK + b"1\n", ends=False)).drain(None, lambda _: None, _soon())


def test_output_without_end_passes_the_deadline_too() -> None:
    """A command that prints all the time is not read for ever."""
    channel = ListedChannel(MARK + b"1\n", *[b"x"] * 500_000, ends=False)
    with pytest.raises(DeadlinePassed):
        Session(channel).drain(None, lambda _: None, _soon())


def test_an_end_without_end_of_output_is_a_cut() -> None:
    """A channel that goes without status and end of output means that the connection has gone."""
    with pytest.raises(CutOff):
        Session(ListedChannel(MARK + b"1\n", b"half", cut=True)).drain(None, lambda _: None, _soon())


def test_a_start_that_never_comes() -> None:
    """Waiting for the process group ends at its deadline, or with the channel."""
    with pytest.raises(DeadlinePassed):
        Session(ListedChannel(ends=False)).await_start(_soon())
    with pytest.raises(CutOff):
        Session(ListedChannel(b"exec: not found\n")).await_start(_soon())


@pytest.mark.parametrize(
    ("command", "output", "status"),
    [
        ("echo 'a  b' \"$((1 + 1))\"", "a  b 2\n", 0),
        ("false", "", 1),
        ("cat <<END\ntext\nEND", "text\n", 0),
        ("exit 9 # with a comment", "", 9),
        ("[[ ab == a* ]] && echo bash", "bash\n", 0),
    ],
)
def test_the_command_line_means_the_same_when_wrapped(command: str, output: str, status: int) -> None:
    """Quotes, comments, here-documents and statuses survive the wrapping, whatever the login shell is."""
    for reads_input in (False, True):
        line = in_own_group(command, reads_input=reads_input)
        done = subprocess.run(["sh", "-c", line], capture_output=True, text=True)
        first, _, rest = done.stdout.partition("\n")
        assert first.startswith(MARK.decode())
        assert (rest, done.returncode) == (output, status)


@pytest.mark.parametrize(("reads_input", "output"), [(True, "given\n"), (False, "")])
def test_a_command_without_input_has_an_empty_one(reads_input: bool, output: str) -> None:
    """Nothing need be sent for it to end: not even that there is nothing."""
    line = in_own_group("cat", reads_input=reads_input)
    done = subprocess.run(["sh", "-c", line], input="given\n", capture_output=True, text=True)
    assert done.stdout.partition("\n")[2] == output


def test_nothing_is_sent_to_a_command_without_input() -> None:
    """What crosses with the command's own end may cost the connection, and all else that goes over it."""
    channel = ListedChannel(MARK + b"1\n", b"done")
    Session(channel).drain(None, lambda _: None, _soon())
    assert not channel.input_closed.is_set()


@pytest.mark.parametrize("eof", [True, False])
def test_a_process_that_has_ended_takes_no_line(eof: bool) -> None:
    """The exit status may come well before the end of output and the close: until then the channel itself takes input."""
    channel = ListedChannel(MARK + b"1\n", status=1)
    channel.eof_received = int(eof)
    process = SshProcess("broker-1", "true", Session(channel), lambda _group: None)
    with pytest.raises(HostError, match="has ended: true") as caught:
        process.send_line("hello")
    assert not isinstance(caught.value, HostUnreachable)
    assert channel.sent == b""


def test_a_process_whose_connection_has_gone_is_unreachable() -> None:
    """Without a status or an end of output nobody knows whether the process still runs: that isn't told as its end."""
    process = SshProcess("broker-1", "true", Session(ListedChannel(cut=True)), lambda _group: None)
    with pytest.raises(HostUnreachable, match="was cut while running: true"):
        process.send_line("hello")
