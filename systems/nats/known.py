"""Which settings a version of NATS knows. The server has no list of them, but refuses a file with one that it doesn't know.

So it checks a file (`nats-server -t`, which starts nothing) with each word that its source compares something with, in each block, and
what it doesn't refuse it knows. The source comes from the Go module of the same version. Defaults are what a server tells that
was told nothing but its addresses, its name and its directory; it runs for that second, on loopback.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from provisioning.cache import user_cache
from provisioning.errors import MissingRequirement
from provisioning.software.software import Software
from systems.known import KNOWN_SCHEMA, Known
from systems.nats.layout import DIGEST, PROGRAM
from systems.nats.readback import server_settings
from systems.software.go_program import module_folder

MODULE = "github.com/nats-io/nats-server/v2"
_SOURCE = "server/opts.go"
_CASE = re.compile(r'\bcase\s+((?:"[^"\n]*"\s*,?\s*)+):')
_WORD = re.compile(r'"([a-z][a-z0-9_]*)"')
_NO_SETTING = "samebox_asks_for_no_such_setting"
_ACCEPTED = " is valid "
TIMEOUT_S = 30.0
# What belongs to the host that is asked; and what is derived from what the host has.
_OF_THE_HOST = ("server_name", "listen", "http", DIGEST, "jetstream.store_dir")
_BY_SIZE = ("jetstream.max_memory_store", "jetstream.max_file_store")


def list_settings(software: Software, folder: Path) -> Known:
    """Of servers. See Releases."""
    program = folder / "bin" / PROGRAM
    words = words_in((module_folder(f"{MODULE}@v{software.version}", user_cache()) / _SOURCE).read_text())
    found: dict[str, str | None] = dict.fromkeys(known_in(program, "", words))
    told = server_settings(_varz_of_one_alone(program), "")
    found[DIGEST] = None  # no setting, and yet it stands beside them
    found |= {key: value for key, value in told.items() if key not in (*_OF_THE_HOST, *_BY_SIZE)}
    return Known(KNOWN_SCHEMA, {"server": found})


def words_in(source: str) -> list[str]:
    """Every word that the source compares something with."""
    return sorted({word for case in _CASE.findall(source) for word in _WORD.findall(case)})


def known_in(program: Path, block: str, words: Collection[str]) -> list[str]:
    """The settings of a block ("" = the file itself) and of the blocks in it, by path.

    `path.*`: a block that takes names which users give, or that lies too deep to be looked into.
    """
    found = []
    for word in words:
        path = f"{block}.{word}" if block else word
        # one at a time: in a block a value of the wrong kind ends the server's reading of it
        if _refuses(program, path):
            continue
        found.append(path)
        inside = f"{path}.{_NO_SETTING}"
        if _refuses(program, inside):
            found += [f"{path}.*"] if block else known_in(program, path, words)
        elif any(_ACCEPTED in _check(program, inside, value) for value in ("true", '"text"', "{}")):
            found.append(f"{path}.*")
    return found


def _refuses(program: Path, path: str) -> bool:
    """Whether the server says that it doesn't know the last name of a path."""
    return f'unknown field "{path.rpartition(".")[2]}"' in _check(program, path, "1")


def _check(program: Path, path: str, value: str) -> str:
    """What the server says of a file with this setting alone."""
    *blocks, key = path.split(".")
    opened, closed = (" ".join(f"{name} {{" for name in blocks), " }" * len(blocks))
    with tempfile.TemporaryDirectory(prefix="samebox-settings-") as scratch:
        file = Path(scratch) / "server.conf"
        file.write_text(f"{opened} {key}: {value}{closed}\n")
        command = [str(program), "-t", "-c", str(file)]
        completed = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False, cwd=scratch)
    return completed.stdout + completed.stderr


def _varz_of_one_alone(program: Path) -> dict[str, Any]:
    """What a server says of itself that has nothing but JetStream, on ports that are free."""
    with tempfile.TemporaryDirectory(prefix="samebox-settings-") as scratch:
        words = ["-a", "127.0.0.1", "-p", "-1", "-m", "-1", "--ports_file_dir", scratch]
        words += ["-js", "-sd", f"{scratch}/data"]
        with subprocess.Popen([str(program), *words], stderr=subprocess.DEVNULL, cwd=scratch) as server:
            try:
                return _asked(Path(scratch))
            finally:
                server.terminate()


def _asked(scratch: Path) -> dict[str, Any]:
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline:
        for file in scratch.glob("*.ports"):
            [url] = json.loads(file.read_text())["monitoring"]
            with urlopen(f"{url}/varz", timeout=TIMEOUT_S) as answer:
                return dict(json.load(answer))
        time.sleep(0.1)
    raise MissingRequirement(f"nats-server didn't say within {TIMEOUT_S:g} s where it listens.")
