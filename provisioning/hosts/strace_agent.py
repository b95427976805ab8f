"""Runs on a host, handed to its python3 as `-c`: keeps strace attached to one process until told to let go of it.

Standard library only, Python 3.9 and later. Arguments: pid, output file, then strace's command line without these two. Answers
are lines of JSON: {"attached": threads} or {"error": kind, "said": text}; and {"bytes": size of the output} after a line, or the end,
of the input. It never leaves the process traced: strace is ended with it.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ATTACH_LIMIT_S = 60.0
DETACH_LIMIT_S = 60.0
POLL_S = 0.05


def tracers(pid: int) -> list[int]:
    """Who traces each thread of a process; 0 = nobody."""
    found = []
    for status in Path(f"/proc/{pid}/task").glob("*/status"):
        with contextlib.suppress(OSError):  # a thread that has just ended
            lines = status.read_text().splitlines()
            found += [int(line.split()[1]) for line in lines if line.startswith("TracerPid:")]
    return found


def attach(pid: int, output: str, argv: list[str]) -> tuple[subprocess.Popen[str] | None, dict[str, Any]]:
    """strace, once every thread is under it, and what to say about it."""
    if shutil.which(argv[0]) is None:
        return None, {"error": "missing", "said": f"no {argv[0]} on the PATH"}
    strace = subprocess.Popen(
        [*argv, "-o", output, "-p", str(pid)], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + ATTACH_LIMIT_S
    over = False
    while strace.poll() is None and not over:
        over = time.monotonic() >= deadline  # read before the look: one that was held up looks once more
        traced_by = tracers(pid)
        if traced_by and set(traced_by) == {strace.pid}:
            return strace, {"attached": len(traced_by)}
        time.sleep(POLL_S)
    let_go(strace)
    said = strace.stderr.read().strip() if strace.stderr else ""
    return None, {"error": "refused", "said": said or f"not all threads of {pid} traced within {ATTACH_LIMIT_S:g} s"}


def let_go(strace: subprocess.Popen[str]) -> None:
    """Ends strace, which detaches; killed, the kernel detaches for it, and the end of the output is lost."""
    strace.terminate()
    try:
        strace.wait(DETACH_LIMIT_S)
    except subprocess.TimeoutExpired:
        strace.kill()
        strace.wait()


def say(answer: dict[str, Any]) -> None:
    """One line of JSON."""
    print(json.dumps(answer), flush=True)


def main() -> None:
    """Attaches, waits for a line, lets go."""
    pid, output, argv = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    strace, answer = attach(pid, output, argv)
    say(answer)
    if strace is None:
        return
    sys.stdin.readline()
    ended = strace.poll()
    let_go(strace)
    # a process that ended takes its strace with it, and what follows isn't in the output
    say({"bytes": Path(output).stat().st_size} if ended is None else {"error": "ended", "said": "the process ended"})


if __name__ == "__main__":
    main()
