"""The logs of producers and consumers by themselves: what becomes a row, and with which times."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from bench.worker.message import message_maker
from bench.worker.receive_log import ReceiveLog
from bench.worker.records import RecordFiles, WrittenFile
from bench.worker.schedule import CHUNK_MESSAGES, Phase
from bench.worker.send_log import SendLog

PHASES = (Phase("warmup", 0, 50), Phase("measure", 50, 2**62))


def send_log(folder: Path, files: list[WrittenFile], first_partition: int = 0) -> SendLog:
    """A log whose files are noted in `files`; its clock is the epoch's."""
    return SendLog(0, RecordFiles(folder, 0, lambda: PHASES, files.append, first_partition))


def test_a_message_acknowledged_twice_has_its_first_time(tmp_path: Path) -> None:
    """The second acknowledgement is counted as a repeat, and changes no row."""
    files: list[WrittenFile] = []
    log = send_log(tmp_path, files)
    log.open(0, np.array([10, 60]))
    log.handed_over = 2
    log.acknowledged(0, 1)
    first_by = time.monotonic_ns()
    time.sleep(0.001)
    log.acknowledged(0, 2)
    assert (log.acked, log.repeated) == (1, 1)
    log.close(iter(()), 100)
    rows = pq.read_table(tmp_path / files[0].name).to_pydict()
    assert rows["acked_ns"][0] <= first_by
    assert rows["partition"] == [1, None]
    assert rows["phase"] == ["warmup", "measure"]


def test_an_acknowledgement_of_a_message_that_was_given_up_is_late_and_no_repeat(tmp_path: Path) -> None:
    """The message stays failed; what came too late is counted, also when its row has been written."""
    files: list[WrittenFile] = []
    log = send_log(tmp_path, files)
    block = log.open(0, np.arange(20))
    log.handed_over = 20
    for sequence in range(20):
        log.acknowledged(sequence, 0) if sequence != 9 else log.failed(sequence, "TimedOut")
    log.acknowledged(9, 0)
    assert (log.late, log.repeated) == (1, 0)
    block.passed = True
    log.sweep()
    log.acknowledged(9, 0)
    log.acknowledged(8, 0)
    assert (log.late, log.repeated) == (2, 1)
    assert (log.acked, log.failures) == (19, 1)
    log.close(iter(()), 100)
    log.acknowledged(9, 0)
    assert (log.late, log.repeated) == (2, 1), "rows and counts no longer change"
    [file] = files
    rows = pq.read_table(tmp_path / file.name).to_pylist()
    assert (rows[9]["acked_ns"], rows[9]["error"]) == (None, "TimedOut")


def test_what_was_never_sent_has_rows_up_to_the_end(tmp_path: Path) -> None:
    """Also of chunks that the sender never came to: as many as had their turn, and no more."""
    files: list[WrittenFile] = []
    log = send_log(tmp_path, files)
    log.open(0, np.array([10, 20]))
    log.close(iter([(CHUNK_MESSAGES, np.array([30, 40, 50])), (2 * CHUNK_MESSAGES, np.array([60]))]), 40)
    rows = [row for file in files for row in pq.read_table(tmp_path / file.name).to_pylist()]
    assert [row["sequence"] for row in rows] == [0, 1, CHUNK_MESSAGES, CHUNK_MESSAGES + 1]
    assert {row["sent_ns"] for row in rows} == {None}


def test_partitions_of_a_later_topic_are_called_after_those_before(tmp_path: Path) -> None:
    """A partition's number is the campaign's, not the topic's."""
    files: list[WrittenFile] = []
    log = send_log(tmp_path, files, first_partition=6)
    log.open(0, np.array([10]))
    log.handed_over = 1
    log.acknowledged(0, 2)
    log.close(iter(()), 100)
    assert pq.read_table(tmp_path / files[0].name)["partition"].to_pylist() == [8]


def test_a_message_of_an_earlier_run_is_no_receipt(tmp_path: Path) -> None:
    """It is counted as foreign: a leftover must never make up for a loss."""
    log = ReceiveLog(0, "sub-0", 7, RecordFiles(tmp_path, 0, lambda: PHASES, lambda _file: None))
    messages = [(0, message_maker(64, 0.5, seed=1, producer=0, run=run)(0, 10)) for run in (6, 7)]
    log.note(messages, 20)
    assert (log.received, log.foreign) == (1, 1)
