"""Runs on a host, handed to its python3 over standard input: asks running JVMs what jcmd would ask. It changes nothing in them.

Standard library only, Python 3.9 and later. One request (JSON, first argument) in, one answer (JSON, standard output) out.
A JVM answers on a socket of its own, `/tmp/.java_pid<PID>`. It makes it when SIGQUIT comes and a file `.attach_pid<PID>` lies in its
working directory. Starting jcmd, a JVM itself, would take a hundred times as long as the answer.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

ANSWER_TIMEOUT_S = 30.0
POLL_S = 0.02


def said(pid: int, command: str) -> str:
    """What the JVM answers to a diagnostic command. Raises OSError with the reason if it doesn't."""
    socket_path = Path(f"/tmp/.java_pid{pid}")
    if not socket_path.exists():
        have_listen(pid, socket_path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(ANSWER_TIMEOUT_S)
        connection.connect(str(socket_path))
        # protocol version 1, the operation, its three arguments
        connection.sendall(b"".join(part.encode() + b"\0" for part in ("1", "jcmd", command, "", "")))
        answer = b"".join(iter(lambda: connection.recv(65536), b"")).decode(errors="replace")
    status, _, body = answer.partition("\n")
    if status != "0":
        raise OSError(f"the JVM refuses {command}: {answer[:400]!r}")
    return body


def have_listen(pid: int, socket_path: Path) -> None:
    """Has the JVM make its socket."""
    deadline = time.monotonic() + ANSWER_TIMEOUT_S
    wish = Path(f"/proc/{pid}/cwd/.attach_pid{pid}")
    wish.touch()
    try:
        os.kill(pid, signal.SIGQUIT)
        while not socket_path.exists():
            if time.monotonic() > deadline:
                raise OSError(f"the JVM makes no {socket_path}")
            time.sleep(POLL_S)
    finally:
        wish.unlink()


def answers(questions: list[list[Any]]) -> list[dict[str, Any]]:
    """What the JVMs say, in the order of the questions (pid, command): either `said` or `error`."""
    found: list[dict[str, Any]] = []
    for pid, command in questions:
        try:
            found.append({"said": said(pid, command)})
        except OSError as error:
            found.append({"error": str(error)})
    return found


if __name__ == "__main__":
    print(json.dumps(answers(json.loads(sys.argv[1])["questions"])))
