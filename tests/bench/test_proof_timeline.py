"""What a node did with a message, from its system calls: only a later sync of the very file counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.proof.timeline import TIMER_NS, Kept, timeline_of
from bench.worker.sender import marked_payload, marker, sequences_in
from provisioning.hosts.strace import Call, completed_calls

RUN = "0a1b2c3d"
LOG, OTHER, SOCKET = "/data/topic-0/0.log", "/data/checkpoint", "socket:[7]"


def call(name: str, path: str | None, started_ns: int, ended_ns: int, *sequences: int, returned: int = 0) -> Call:
    """A call whose buffer holds these messages."""
    text = "".join(marker(RUN, sequence) for sequence in sequences)
    return Call(name, path, started_ns, ended_ns, returned, f'5<{path}>, "\\0\\1{text}", 100')


def kept(*calls: Call, sequence: int = 1) -> Kept:
    """What became of a message on a node that made these calls."""
    return timeline_of("broker-1", calls, RUN).of(sequence)


def test_arrived_written_synced() -> None:
    """Each at the end of its call."""
    calls = (call("read", SOCKET, 0, 5, 1), call("write", LOG, 10, 20, 1), call("fsync", LOG, 21, 40))
    assert kept(*calls) == Kept(5, 20, 40)


@pytest.mark.parametrize(
    "sync",
    [
        call("fsync", LOG, 15, 40),  # began before the write had returned
        call("fsync", OTHER, 21, 40),
        call("fsync", None, 21, 40),
        call("fdatasync", LOG, 21, 40, returned=-1),
        call("fdatasync", SOCKET, 21, 40),
    ],
)
def test_syncs_that_do_not_count(sync: Call) -> None:
    """Too early, of another file, of no known file, failed."""
    assert kept(call("write", LOG, 10, 20, 1), sync).synced_ns is None


def test_the_earliest_end_of_all_later_syncs_counts() -> None:
    """Two under way at once, in two threads: the one that ends first has the message on disk."""
    calls = (call("write", LOG, 10, 20, 1), call("fsync", LOG, 21, 90), call("fsync", LOG, 30, 40))
    assert kept(*calls).synced_ns == 40


def test_one_sync_serves_all_that_was_written_before_it() -> None:
    """Group commit: three messages, one sync; the one written after it has none."""
    calls = [call("pwrite64", LOG, at, at + 1, at) for at in (10, 12, 14)]
    timeline = timeline_of("b", [*calls, call("fdatasync", LOG, 16, 20), call("pwrite64", LOG, 17, 30, 17)], RUN)
    assert [timeline.of(sequence).synced_ns for sequence in (10, 12, 14, 17)] == [20, 20, 20, None]
    assert timeline.syncs == 1


def test_written_again_elsewhere_counts_by_whichever_is_synced_first() -> None:
    """A journal and a storage file: the message is on disk as soon as either is synced."""
    calls = (call("write", LOG, 10, 20, 1), call("write", OTHER, 30, 40, 1), call("fsync", OTHER, 41, 50))
    assert kept(*calls) == Kept(None, 20, 50)
    assert timeline_of("b", calls, RUN).files == (OTHER, LOG)


def test_a_timer_s_syncs_are_told_from_the_others() -> None:
    """The first of a file and those long after the one before may be a timer's; those that follow soon are not."""
    second_ns = 2 * TIMER_NS
    calls = []
    for sequence, at_ns in enumerate((100, second_ns, second_ns + 1_000, 3 * second_ns)):
        calls += [
            call("write", LOG, at_ns, at_ns + 1, sequence),
            call("fsync", LOG, at_ns + 10, at_ns + 20),
        ]
    timeline = timeline_of("b", calls, RUN)
    assert [timeline.of(at).synced_ns for at in range(4)] == [
        120,
        second_ns + 20,
        second_ns + 1_020,
        3 * second_ns + 20,
    ]
    later_ns = second_ns + 1_020
    assert [timeline.of(at).synced_untimed_ns for at in range(4)] == [later_ns, later_ns, later_ns, None]


def test_a_socket_is_no_file_and_a_file_no_arrival() -> None:
    """Forwarding a message isn't storing it; reading one back from disk isn't receiving it."""
    assert kept(call("write", SOCKET, 10, 20, 1), call("read", LOG, 10, 20, 1)) == Kept()


def test_failed_writes_and_other_runs_messages_are_not_seen() -> None:
    """A write that failed stored nothing; another run's message with the same number is another message."""
    other_run = Call("write", LOG, 10, 20, 100, f'5<{LOG}>, "{marker("ffffffff", 1)}", 100')
    assert kept(call("write", LOG, 10, 20, 1, returned=-1), other_run) == Kept()


def test_a_payload_is_its_marker_over_and_over() -> None:
    """Any piece longer than two markers names the message."""
    payload = marked_payload(RUN, 42, 1024)
    assert len(payload) == 1024
    piece = 2 * len(marker(RUN, 42))
    assert all(sequences_in(payload[at : at + piece].decode(), RUN) == {42} for at in range(1024 - piece))
    with pytest.raises(ValueError, match=r"the marker of sequence .* doesn't fit"):
        marked_payload(RUN, 1_000_000, 1024)
    with pytest.raises(ValueError, match=r"the marker of sequence .* doesn't fit"):
        marked_payload(RUN, 1, 8)


@pytest.mark.parametrize(
    ("piece", "run", "file", "expected"),
    [
        (
            "strace-kafka-broker.txt",
            "48321536",
            "/samebox/data-1/kafka/samebox-0/00000000000000000000.log",
            {
                50: (510_233_076_000, 510_236_459_000, 510_237_137_000),
                51: (510_262_947_000, 510_265_670_000, 510_266_448_000),
            },
        ),
        (
            "strace-pulsar-bookie.txt",
            "4891c442",
            "/samebox/data-1/pulsar/journal/current/1a200514ee5.txn",
            {
                50: (678_117_202_000, 678_120_405_000, 678_128_024_000),
                51: (678_128_117_000, 678_129_910_000, 678_131_337_000),
            },
        ),
    ],
)
def test_recorded_from_real_brokers(piece: str, run: str, file: str, expected: dict[int, tuple[int, int, int]]) -> None:
    """A follower that fetches, appends and syncs; a bookie whose journal and syncs have a thread each."""
    lines = (Path(__file__).parent / "recorded" / piece).read_text().splitlines()
    timeline = timeline_of("broker-2", completed_calls(lines), run)
    since_ns = 1_795_301_000_000_000_000
    seen = {at: timeline.of(at) for at in expected}
    assert {at: (kept.arrived_ns, kept.written_ns, kept.synced_ns) for at, kept in seen.items()} == {
        at: tuple(since_ns + each for each in times) for at, times in expected.items()
    }
    assert timeline.files == (file,)
