"""Which settings a version of Valkey knows: all that a server tells (CONFIG GET *) that was told nothing but where it listens.

It runs for that second, without a port: on a socket in a folder of its own.
"""

from __future__ import annotations

import socket
import subprocess
import tempfile
import time
from pathlib import Path

from provisioning.errors import MissingRequirement
from provisioning.software.software import Software
from systems.known import KNOWN_SCHEMA, Known
from systems.valkey.layout import PROGRAM
from systems.valkey.readback import pairs
from systems.valkey.resp_client import Incomplete, Reply, encoded, reply_at

TIMEOUT_S = 30.0
_RETRY_S = 0.05
# What this server was told, and what belongs to the host.
_TOLD = ("dir", "port", "unixsocket")
# They stand in files, and a server doesn't show them.
_NOT_SHOWN = ("include", "loadmodule", "rename-command", "user")


def list_settings(software: Software, folder: Path) -> Known:
    """Of servers. See Releases."""
    del software
    with tempfile.TemporaryDirectory(prefix="samebox-settings-") as scratch:
        where = f"{scratch}/socket"
        words = ["--port", "0", "--unixsocket", where, "--dir", scratch]
        command = [str(folder / "bin" / PROGRAM), *words]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=scratch) as server:
            try:
                told = pairs(_ask(where, "CONFIG", "GET", "*"))
            finally:
                server.terminate()
    found: dict[str, str | None] = {key: value for key, value in told.items() if key not in _TOLD}
    return Known(KNOWN_SCHEMA, {"server": {**found, **dict.fromkeys((*_TOLD, *_NOT_SHOWN))}})


def _ask(where: str, *words: str) -> Reply:
    """A command's reply from the server that will listen there. Raises MissingRequirement if it doesn't."""
    deadline = time.monotonic() + TIMEOUT_S
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(TIMEOUT_S)
        while connection.connect_ex(where) != 0:
            if time.monotonic() > deadline:
                raise MissingRequirement(f"{PROGRAM} didn't listen within {TIMEOUT_S:g} s.")
            time.sleep(_RETRY_S)
        connection.sendall(encoded(*words))
        came = b""
        while piece := connection.recv(2**16):
            came += piece
            try:
                return reply_at(came, 0)[0]
            except Incomplete:
                continue
    raise MissingRequirement(f"{PROGRAM} hung up on {' '.join(words)}.")
