"""Runs one function again and again, each time in a process of its own that has the Pulumi SDK imported already.

Importing the SDK takes most of the time of a run. The server, this module run with the name of the function's module beside it, imports
it once and forks for each request, so that nothing of a run is left for the next one.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

RUN_TIMEOUT_S = 120
EVIDENCE_CHARACTERS = 3000
# parts of the provider's SDK that the program needs, each of which is loaded whole when something of it is first asked for
PARTS = ("pulumi_aws.ec2", "pulumi_aws.iam", "pulumi_aws.s3", "pulumi_aws.scheduler")
# what else a run imports that takes time
OTHERS = ("pydantic.alias_generators", "cryptography.hazmat.primitives.serialization")
Run = Callable[[dict[str, Any]], Any]  # request -> answer, both JSON


class Forks:
    """The server as its user sees it. It ends with its user."""

    def __init__(self, command: Sequence[str], cwd: Path) -> None:
        self._server = subprocess.Popen(
            command, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        atexit.register(self._end)

    def run(self, request: Mapping[str, Any], environment: Mapping[str, str]) -> Any:
        """The answer of one run with this environment; an AssertionError with its last words if it failed."""
        assert self._server.stdin is not None and self._server.stdout is not None
        self._server.stdin.write(json.dumps({"request": request, "environment": environment}) + "\n")
        self._server.stdin.flush()
        line = self._server.stdout.readline()
        assert line, "the server ended"
        ran = json.loads(line)
        assert ran["status"] == 0, ran["said"]
        return json.loads(ran["answer"])

    def _end(self) -> None:
        with self._server as server:  # closes its standard input, which ends it, and waits
            del server


def serve(run: Run) -> None:
    """Answers one request a line until standard input ends."""
    for name in (*PARTS, *OTHERS):
        hasattr(importlib.import_module(name), "anything")  # asking is what loads it
    for line in sys.stdin:
        asked = json.loads(line)
        with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as answered:
            child = os.fork()
            if child == 0:
                _run_once(run, asked, said.fileno(), answered.fileno())
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            said.seek(0)
            answered.seek(0)
            words = said.read().decode(errors="replace")[-EVIDENCE_CHARACTERS:]
            print(json.dumps({"status": status, "said": words, "answer": answered.read().decode()}), flush=True)


def _run_once(run: Run, asked: Mapping[str, Any], said: int, answered: int) -> None:
    """In the forked process, which never returns: runs, writes what came of it."""
    status = 1
    try:
        signal.alarm(RUN_TIMEOUT_S)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for own, standard in ((nothing, 0), (said, 1), (said, 2)):
            os.dup2(own, standard)
        os.environ.clear()
        os.environ.update(asked["environment"])
        answer = json.dumps(run(asked["request"]))
        with os.fdopen(answered, "w") as file:
            file.write(answer)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    serve(importlib.import_module(sys.argv[1]).run)
