"""strace's output as completed calls: recorded from three threads of a real process, and single lines as strace prints them."""

from __future__ import annotations

from pathlib import Path

import pytest

from provisioning.hosts.strace import Call, completed_calls

RECORDED = Path(__file__).parent / "recorded" / "strace-threads.txt"
ODD_FILE = '/data/odd "name" ü.log'
SECOND_NS = 1_000_000_000


def calls_of(*lines: str) -> list[Call]:
    """The completed calls of some lines."""
    return list(completed_calls(lines))


@pytest.fixture(scope="module")
def recorded() -> list[Call]:
    """A reader, a writer that syncs, a writer that also unlinks its file and syncs a bad descriptor; a signal among them."""
    return list(completed_calls(RECORDED.read_text().splitlines()))


def test_every_call_of_every_thread_is_whole(recorded: list[Call]) -> None:
    """As many of each as the program made, those that other threads' lines cut in two included."""
    made = {name: sum(call.name == name for call in recorded) for name in {call.name for call in recorded}}
    assert made == {"read": 1, "recvfrom": 7, "write": 6, "fdatasync": 6, "writev": 6, "pwrite64": 6, "fsync": 8}


def test_a_call_cut_in_two_has_its_own_times_and_arguments(recorded: list[Call]) -> None:
    """It began where its first half stands and took what its second half says; what a read brought is in the second."""
    sync = next(call for call in recorded if call.name == "fdatasync")
    assert sync.started_ns == 1795297819 * SECOND_NS + 398_971_000
    assert sync.ended_ns - sync.started_ns == 1_137_000
    assert (sync.path, sync.returned) == (ODD_FILE, 0)
    read = next(call for call in recorded if call.name == "recvfrom")
    assert read.path == "socket:[6461886]"
    assert '"sbx-proof-000000;"' in read.arguments
    assert read.ended_ns - read.started_ns == 6_006_000


def test_two_threads_calls_are_not_mixed_up(recorded: list[Call]) -> None:
    """Two calls under way at once end each with its own result."""
    writes = [call for call in recorded if call.name == "writev"]
    assert [call.returned for call in writes] == [21] * 6
    assert {call.path for call in writes} == {"/data/b.log"}


def test_a_failed_and_a_deleted_file_s_sync(recorded: list[Call]) -> None:
    """A failed call keeps its result; a file that was deleted meanwhile keeps its name."""
    *_, deleted, failed = [call for call in recorded if call.name == "fsync"]
    assert (deleted.path, deleted.returned) == ("/data/b.log", 0)
    assert (failed.path, failed.returned) == (None, -1)


def test_what_never_completed_is_no_call() -> None:
    """Detached, restarted, of unknown result, begun before strace came, begun and never ended; signals and exits."""
    assert not calls_of(
        "7  100.000001 fdatasync(5</data/a.log> <detached ...>",
        "7  100.000001 fdatasync(5</data/a.log>) = ? ERESTARTSYS (To be restarted if SA_RESTART is set) <0.000100>",
        "7  100.000001 fsync(5</data/a.log>) = ? <unavailable>",
        "8  100.000001 <... fdatasync resumed>) = 0 <0.001000>",
        "9  100.000001 fdatasync(5</data/a.log> <unfinished ...>",
        "7  100.000001 --- SIGSEGV {si_signo=SIGSEGV, si_code=SEGV_ACCERR, si_addr=0x7f} ---",
        "7  100.000001 +++ exited with 0 +++",
        "strace: Process 7 detached",
        "7  100.000001 fdatasync(5</da",
    )


def test_a_restarted_call_counts_once_it_returns() -> None:
    """The interrupted attempt doesn't count, the one after it does."""
    (call,) = calls_of(
        "7  100.000001 fdatasync(5</data/a.log>) = ? ERESTARTSYS (To be restarted if SA_RESTART is set) <0.5>",
        "7  100.600000 fdatasync(5</data/a.log>) = 0 <0.000250>",
    )
    assert call.ended_ns == 100 * SECOND_NS + 600_250_000


def test_a_buffer_that_looks_like_a_result_is_none() -> None:
    """The last result of the line is the call's own."""
    (call,) = calls_of('7  100.000001 write(5</data/a.log>, ") = -1 EIO <9.9>", 18) = 18 <0.000020>')
    assert (call.returned, call.ended_ns - call.started_ns) == (18, 20_000)


def test_flags_after_the_result_are_no_part_of_it() -> None:
    """strace may say more behind the number."""
    (call,) = calls_of("7  100.5 recvmsg(5<socket:[1]>, {msg_name=NULL}, 0) = 4 (flags O_RDWR) <0.000020>")
    assert call.returned == 4
    assert call.started_ns == 100 * SECOND_NS + SECOND_NS // 2
