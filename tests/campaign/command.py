"""The command `samebox`, run as a user runs it, with its state and results in a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TIMEOUT_S = 590


def start(home: Path, *arguments: str, **variables: str) -> subprocess.Popen[str]:
    """Starts the command; standard output and standard error are pipes of text."""
    command = [str(Path(sys.executable).with_name("samebox")), *arguments]
    environment = {**os.environ, "SAMEBOX_HOME": str(home), "COLUMNS": "200", **variables}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def samebox(home: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs the command to its end."""
    with start(home, *arguments, **variables) as process:
        try:
            output, errors = process.communicate(timeout=TIMEOUT_S)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)
