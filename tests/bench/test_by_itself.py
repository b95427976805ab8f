"""A campaign that is left to itself outlives the terminal that it was begun in, says where it is, and ends when it is told to."""

from __future__ import annotations

import os
import pty
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.cli.by_itself import ByItself

WAIT_S = 300.0
# says that it is at work, until it is told to end, as samebox is: by SIGTERM
PROGRAM = """
import signal, sys, time
def end(number, frame):
    print("hosts taken away")
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
print("begun", *sys.argv[1:])
time.sleep(600)
"""
# the foreground process of a terminal, whose closing ends it, even where the tests were started by nohup
BEGIN = """
import signal, sys, time
from pathlib import Path
from bench.cli.by_itself import ByItself
signal.signal(signal.SIGHUP, signal.SIG_DFL)
folder, program, *arguments = sys.argv[1:]
ByItself(Path(folder)).begin(arguments, program=[sys.executable, "-c", program])
time.sleep(600)
"""


def await_true(condition: Callable[[], bool]) -> None:
    """Returns once it holds."""
    deadline_s = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline_s
        time.sleep(0.05)


def begin_in_a_terminal(left: ByItself, arguments: Sequence[str]) -> int:
    """Begins it as the foreground process of a terminal would, and closes that terminal. Returns the process id."""
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, "-c", BEGIN, str(left.folder), PROGRAM, *arguments])
    await_true(lambda: (left.folder / "process").exists() and "begun" in left.log.read_text())
    os.close(terminal)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGHUP
    return int((left.folder / "process").read_text().split()[0])


def test_a_closed_terminal_does_not_end_it(tmp_path: Path) -> None:
    """Its status tells that it runs, since when and the end of its log; told to end, it ends in order, and that is told too."""
    left = ByItself(tmp_path / "sn")
    assert left.lines() == []
    pid = begin_in_a_terminal(left, ["campaign", "aws", "demo.toml"])
    time.sleep(0.5)
    first, *rest = left.lines()
    assert first.startswith("samebox campaign aws demo.toml, begun at 20")
    assert f"runs by itself on this machine (pid {pid}); log: {left.log}" in first
    assert rest == ["  | begun campaign aws demo.toml"]
    os.kill(pid, signal.SIGTERM)
    await_true(lambda: "has ended" in left.lines()[0])
    assert left.lines()[-1] == "  | hosts taken away"
