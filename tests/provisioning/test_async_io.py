"""Asynchronous I/O in traces: recorded by strace 6.1 on x86_64, and once more by the strace that is here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bench.proof.timeline import CALLS, timeline_of
from bench.worker.sender import marked_payload
from provisioning.hosts.async_io import with_completions
from provisioning.hosts.strace import SHOWN_BYTES, Call, completed_calls
from tests.strace import needs_strace

FILE = "/srv/data/0-1.log"
SUBMITTED = (
    f"695   1795605276.118707 io_submit(0x7f39556d7000, 2, [{{aio_data=0x1234, aio_lio_opcode=IOCB_CMD_PWRITE, aio_fildes=3<{FILE}>, "
    'aio_buf="a \\"quoted\\", {aio_data=0x9, aio_lio_opcode=IOCB_CMD_FSYNC} name\\n", aio_nbytes=72, aio_offset=0}, '
    f"{{aio_data=0x5678, aio_lio_opcode=IOCB_CMD_PWRITEV, aio_fildes=3<{FILE}>, "
    'aio_buf=[{iov_base="first", iov_len=5}, {iov_base="second", iov_len=6}], aio_offset=4096}]) = 2 <0.000022>'
)
FETCHED = (
    "695   1795605276.121562 io_getevents(0x7f39556d7000, 2, 16, [{data=0x1234, obj=0x7f3954b0f930, res=72, res2=0}, "
    "{data=0x5678, obj=0x7f3954b0f970, res=11, res2=0}], {tv_sec=5, tv_nsec=0}) = 2 <0.000023>"
)
SYNC = (
    "695   1795605276.121743 io_submit(0x7f39556d7000, 1, "
    f"[{{aio_data=0x1234, aio_lio_opcode=IOCB_CMD_FDSYNC, aio_fildes=3<{FILE}>}}]) = 1 <0.000090>"
)
SYNCED = (
    "695   1795605276.121868 io_pgetevents(0x7f39556d7000, 1, 16, [{data=0x1234, obj=0x7f3954b0fe70, res=0, res2=0}], NULL, NULL) "
    "= 1 <0.011900>"
)
S = 1_795_605_276_000_000_000


def calls(*lines: str) -> list[Call]:
    return list(with_completions(completed_calls(lines)))


def told(*lines: str) -> list[tuple[str, str | None, int]]:
    return [(each.name, each.path, each.returned) for each in calls(*lines)]


def test_requests_that_are_done_are_the_calls_that_they_stand_for() -> None:
    """From their submission to the end of the call that fetched them; a request that a buffer only looks like is none."""
    found = calls(SUBMITTED, FETCHED, SYNC, SYNCED)
    assert [(each.name, each.path, each.returned) for each in found] == [
        ("pwrite64", FILE, 72),
        ("pwritev", FILE, 11),
        ("fdatasync", FILE, 0),
    ]
    assert [(each.started_ns - S, each.ended_ns - S) for each in found] == [
        (118_707_000, 121_585_000),
        (118_707_000, 121_585_000),
        (121_743_000, 133_768_000),
    ]
    assert "quoted" in found[0].arguments and "second" in found[1].arguments


def test_what_is_not_done_is_no_call() -> None:
    """A submission alone proves nothing, nor does an event of another process's queue or of a request that wasn't seen."""
    assert told(SUBMITTED) == []
    assert told(SUBMITTED, FETCHED.replace("0x7f39556d7000", "0x7f0000000000")) == []
    assert told(FETCHED) == []


def test_a_request_that_failed_is_a_failed_call() -> None:
    """It is told with its error, and what is submitted again under its number counts by itself."""
    refused = SYNCED.replace("res=0, ", "res=-5, ")
    assert told(SYNC, refused) == [("fdatasync", FILE, -5)]
    assert told(SYNC, refused, SYNC, SYNCED) == [("fdatasync", FILE, -5), ("fdatasync", FILE, 0)]


def test_only_those_requests_count_that_a_submission_took() -> None:
    """The first ones; the rest is submitted again."""
    assert told(SUBMITTED.replace("= 2 <", "= 1 <"), FETCHED) == [("pwrite64", FILE, 72)]
    assert told(SUBMITTED.replace("= 2 <", "= -1 EAGAIN (Resource temporarily unavailable) <"), FETCHED) == []


def test_other_calls_stay_as_they_are() -> None:
    """In their order."""
    other = f'695   1795605276.120000 pwrite64(4<{FILE}>, "x", 1, 0) = 1 <0.000010>'
    assert told(SUBMITTED, other, FETCHED) == [("pwrite64", FILE, 1), ("pwrite64", FILE, 72), ("pwritev", FILE, 11)]


@pytest.mark.integration
@needs_strace
def test_a_real_program_is_seen_to_sync_what_it_wrote(tmp_path: Path) -> None:
    """By the strace of this machine, as the durability proof reads it: each message written, and its file synced afterwards."""
    file, output = tmp_path / "0-1.log", tmp_path / "out.strace"
    program = Path(__file__).with_name("asynchronous_writer.py")
    messages = [marked_payload("run1", sequence, 300).decode() for sequence in range(5)]
    strace = ["strace", "-f", "-q", "-y", "-ttt", "-T", "-s", str(SHOWN_BYTES), "-e", f"trace={','.join(CALLS)}"]
    subprocess.run([*strace, "-o", output, sys.executable, "-IS", program, file, *messages], check=True)
    with output.open(errors="surrogateescape") as lines:
        found = timeline_of("here", completed_calls(lines), "run1")
    assert found.files == (str(file),) and found.syncs == 5
    for sequence in range(5):
        kept = found.of(sequence)
        assert kept.written_ns is not None and kept.synced_ns is not None
        assert kept.written_ns < kept.synced_ns
