"""A campaign that is left to itself outlives the terminal that it was begun in, says where it is, and ends when it is told to."""

from __future__ import annotations

import os
import pty
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from bench.cli.aws import aws_campaign
from bench.cli.background import Background, words_of
from bench.cli.options import PATH

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
from bench.cli.background import Background
signal.signal(signal.SIGHUP, signal.SIG_DFL)
folder, program, *arguments = sys.argv[1:]
Background(Path(folder)).begin(arguments, program=[sys.executable, "-c", program])
time.sleep(600)
"""


def await_true(condition: Callable[[], bool]) -> None:
    """Returns once it holds."""
    deadline_s = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline_s
        time.sleep(0.05)


def begin_in_a_terminal(left: Background, arguments: Sequence[str]) -> int:
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
    left = Background(tmp_path / "sn")
    assert left.lines() == []
    pid = begin_in_a_terminal(left, ["campaign", "aws", "demo.toml"])
    time.sleep(0.5)
    first, *rest = left.lines()
    assert first.startswith("samebox campaign aws demo.toml, started at 20")
    assert f"running in the background (pid {pid}); log: {left.log}" in first
    assert rest == ["  | begun campaign aws demo.toml"]
    os.kill(pid, signal.SIGTERM)
    await_true(lambda: ": ended;" in left.lines()[0])
    assert left.lines()[-1] == "  | hosts taken away"


def test_every_option_that_was_typed_is_passed_on(tmp_path: Path) -> None:
    """Whatever options the command has, the words for its background process mean the same; what was not typed isn't among them."""
    options = [each for each in aws_campaign.params if isinstance(each, click.Option)]
    typed = [str(tmp_path / "campaign.toml")]
    for option in options:
        typed += [option.opts[0]] if option.is_flag else [option.opts[0], str(tmp_path) if option.type == PATH else "7"]
    with aws_campaign.make_context("aws", list(typed)) as context:
        words = words_of(context, but=())
    assert aws_campaign.make_context("aws", words).params == context.params
    with aws_campaign.make_context("aws", [typed[0], "--stack", "sn", "--detach"]) as context:
        assert words_of(context, but=("detach",)) == [typed[0], "--stack", "sn"]
