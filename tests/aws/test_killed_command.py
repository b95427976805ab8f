"""A samebox that is killed while pulumi works for it: pulumi goes on to its end, nothing it says is lost, the next command knows."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from provisioning.testbeds.aws.failures import StackFailed
from provisioning.testbeds.aws.followed_file import FollowedFile
from provisioning.testbeds.aws.stack import Stack
from provisioning.testbeds.aws.update_record import OUTPUT, UpdateRecord
from tests.aws import engine

WAIT_S = 60.0
# a pulumi that creates ten things, the next one whenever its folder says so, and sums up
PULUMI = f"""#!{sys.executable}
import json, os, pathlib, signal, sys, time
if sys.argv[1] == "version":
    sys.exit(print("v3.259.0"))
events, work = json.loads(pathlib.Path(__file__).with_name("events.json").read_text()), pathlib.Path.cwd()
signal.signal(signal.SIGINT, lambda *_: (work / "told").touch())
sys.stdout.reconfigure(line_buffering=False, write_through=True)
for number, line in enumerate(events):
    while not (work / f"go-{{number}}").exists() and not (work / "go").exists():
        time.sleep(0.01)
    half = len(line) // 2
    print(line[:half], end="")
    if number == 4:
        (work / "half").touch()
        time.sleep(0.2)
    print(line[half:])
    print("a warning of no weight", file=sys.stderr)
    (work / f"done-{{number}}").touch()
(work / "ended").touch()
"""
COMMAND = """
import sys
from pathlib import Path
from provisioning.testbeds.aws.stack import Stack
from provisioning.testbeds.aws.update_record import UpdateRecord
stack = Stack("sn", Path.cwd(), record=UpdateRecord(Path.cwd() / "state" / "update"))
stack.up(lambda line: print(line, flush=True))
"""
NAMES = [f"thing-{number}" for number in range(10)]
SUMMARY = {"summaryEvent": {"durationSeconds": 9, "resourceChanges": {"create": 10}}}


@dataclass(frozen=True)
class Lab:
    """A project's folder, and a pulumi on the PATH that works in it step by step."""

    folder: Path

    def go(self, steps: range | None = None) -> None:
        """Lets pulumi take these steps, or all."""
        for name in [f"go-{number}" for number in steps] if steps is not None else ["go"]:
            (self.folder / name).touch()

    def await_file(self, name: str) -> None:
        """Returns once pulumi has come that far."""
        await_true(lambda: (self.folder / name).exists())

    def start(self) -> subprocess.Popen[str]:
        """A command that changes the stack, in a process of its own."""
        return subprocess.Popen(
            [sys.executable, "-c", COMMAND],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @property
    def record(self) -> UpdateRecord:
        """What is left of it."""
        return UpdateRecord(self.folder / "state" / "update")

    def stack(self, notices: list[str]) -> Stack:
        """The stack as the next command has it."""
        return Stack("sn", self.folder, notice=notices.append, record=self.record)


def await_true(condition: Callable[[], bool]) -> None:
    """Returns once the condition holds."""
    deadline_s = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline_s, "it never came true"
        time.sleep(0.01)


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    """Its pulumi ends with the test, whoever started it."""
    program = tmp_path / "bin" / "pulumi"
    program.parent.mkdir()
    program.write_text(PULUMI)
    program.chmod(0o755)
    steps = [engine.done("create", name, host=name) for name in NAMES]
    (tmp_path / "bin" / "events.json").write_text(json.dumps(engine.lines(*steps, SUMMARY).splitlines()))
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    folder = tmp_path / "project"
    folder.mkdir()
    made = Lab(folder)
    yield made
    made.go()
    update = made.record.read()
    if update is not None and update.running:
        await_true(lambda: not (made.record.read() or update).running)


# before the first line and the last, between two lines, in the middle of one
@pytest.mark.parametrize(("steps", "moment"), [(0, ""), (1, "done-0"), (5, "half"), (8, "done-7"), (12, "done-11")])
def test_pulumi_goes_on_to_its_end_and_nothing_is_lost(lab: Lab, steps: int, moment: str) -> None:
    """SIGKILL of the command, early, in the middle of a line, late: every event is in the file, and the next command goes on."""
    lab.go(range(steps))
    command = lab.start()
    if moment:
        lab.await_file(moment)
    else:
        await_true(lambda: lab.record.read() is not None)
    command.kill()
    command.communicate(timeout=WAIT_S)
    with pytest.raises(StackFailed, match=r"`pulumi up` of stack sn is still running \(pid \d+, since 20"):
        lab.stack([]).preview(lambda _: None)
    lab.go()
    lab.await_file("ended")
    await_true(lambda: not (update := lab.record.read()) or not update.running)

    update = lab.record.read()
    assert update is not None
    assert (update.ended, update.done, update.command) == (True, 10, "up")
    written = (lab.record.folder / OUTPUT).read_text().splitlines()
    assert [json.loads(line)["sequence"] for line in written] == list(range(13))

    notices: list[str] = []
    changes = lab.stack(notices).up(lambda _: None)
    assert [change.name for change in changes] == NAMES
    assert "by a command that was killed, has ended: 10 resources done, last: created thing-9" in notices[0]
    assert lab.record.read() is None


def test_a_running_update_says_who_it_is_and_how_far(lab: Lab) -> None:
    """Number of the process, since when, what it did last; what only reads isn't refused, and is told once."""
    lab.go(range(6))
    command = lab.start()
    lab.await_file("done-5")
    command.kill()
    command.communicate(timeout=WAIT_S)
    notices: list[str] = []
    stack = lab.stack(notices)
    with pytest.raises(StackFailed, match=r"4 resources done, last: created thing-3 \(ec2 Instance\)\)") as raised:
        stack.destroy(lambda _: None)
    update = lab.record.read()
    assert update is not None
    assert raised.value.kind == "lock"
    assert f"kill -INT {update.pid}" in raised.value.next_step
    os.kill(update.pid, signal.SIGINT)
    lab.await_file("told")
    with pytest.raises(StackFailed):
        stack.set_config("generations.broker-2", 2)


def test_an_update_that_was_cut_off_is_told(lab: Lab) -> None:
    """Power loss, a killed engine: no end in its output, so something may have been made that no state knows."""
    lab.go(range(6))
    command = lab.start()
    lab.await_file("done-5")
    command.kill()
    command.communicate(timeout=WAIT_S)
    update = lab.record.read()
    assert update is not None
    os.kill(update.pid, signal.SIGKILL)
    await_true(lambda: not (lab.record.read() or update).running)
    lab.go()
    notices: list[str] = []
    lab.stack(notices).up(lambda _: None)
    assert "was cut off: 4 resources done" in notices[0]
    assert "`pulumi cancel sn`, then `samebox sweep --stack sn --orphans`" in notices[0]


def test_another_process_by_the_same_number_is_not_taken_for_it(lab: Lab) -> None:
    """Numbers are given again: only a process that carries the record is the update."""
    lab.record.folder.mkdir(parents=True)
    for name, text in {"process": f"{os.getpid()} up\n", "output": "", "errors": ""}.items():
        (lab.record.folder / name).write_text(text)
    update = lab.record.read()
    assert update is not None
    assert not update.running


def test_a_line_is_taken_whole_however_it_is_written() -> None:
    """Half a line, a rune cut in two, several at once, the last one without its end."""
    taken: list[str] = []
    with tempfile.TemporaryFile() as file:
        followed = FollowedFile(file, taken.append)
        for part in (b'{"a": ', b"1}\nsecond \xc3", b"\xa9\nthird\nfou", b"rth"):
            before = list(taken)
            file.write(part)
            file.flush()
            time.sleep(0.15)
            assert len(taken) - len(before) == part.count(b"\n")
        followed.finish()
    assert taken == ['{"a": 1}', "second é", "third", "fourth"]


def test_what_went_wrong_with_a_line_is_raised_at_the_end() -> None:
    """The rest of the file isn't taken any more, and nobody waits for ever."""
    seen: list[str] = []

    def refuse(line: str) -> None:
        seen.append(line)
        raise ValueError(line)

    with tempfile.TemporaryFile() as file:
        followed = FollowedFile(file, refuse)
        file.write(b"first\nsecond\n")
        file.flush()
        with pytest.raises(ValueError, match="first"):
            followed.finish()
    assert seen == ["first"]
    assert followed not in threading.enumerate()
