"""Starts AWS on this machine: a moto server as a process of its own.

The server ends with its parent, however that ends: it reads the end of its standard input.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from provisioning.testbeds.aws.rehearsal.iam.reference import REGION

CHECKOUT = Path(__file__).resolve().parents[5]
STATE_VARIABLE = "SAMEBOX_CLOUD"  # in the environment of the cloud's process: its folder
LOG_FILE = "server.log"
# access keys: an operator's, and those of machines and services of the cloud
OPERATOR, MACHINE = "testing", "machine"
END_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Cloud:
    """A running cloud. `environment` is to be added to that of every process which shall use it."""

    endpoint: str
    region: str
    environment: Mapping[str, str]
    state_dir: Path


def state_dir() -> Path:
    """The folder of the cloud whose process this is."""
    return Path(os.environ[STATE_VARIABLE])


@contextlib.contextmanager
def local_cloud(folder: Path, *, hosts: bool) -> Iterator[Cloud]:
    """A fresh cloud on a free port of 127.0.0.1; with `hosts`, its instances are sshd hosts on loopback addresses.

    `folder` holds its log and its hosts' files; the hosts have ended and their files are gone afterwards.
    """
    folder = folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    command = [
        sys.executable,
        "-m",
        "provisioning.testbeds.aws.rehearsal.cloud.server",
        *(["--hosts"] if hosts else []),
    ]
    with (folder / LOG_FILE).open("a") as log:
        server = subprocess.Popen(
            command,
            cwd=CHECKOUT,
            env={**os.environ, STATE_VARIABLE: str(folder)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,  # an operator's Ctrl-C is for the test, which then ends the server
        )
    assert server.stdin is not None and server.stdout is not None
    try:
        greeting = server.stdout.readline()
        if not greeting:
            raise RuntimeError(f"the local cloud didn't start:\n{(folder / LOG_FILE).read_text()[-2000:]}")
        endpoint = str(json.loads(greeting)["endpoint"])
        yield Cloud(endpoint, REGION, environment(endpoint), folder)
    finally:
        server.stdin.close()
        try:
            server.wait(END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
            raise
        finally:
            server.stdout.close()


def environment(endpoint: str, key: str = OPERATOR) -> dict[str, str]:
    """The variables that send every AWS client there, with credentials that are good for nothing anywhere else."""
    return {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": key,
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": "/dev/null",
        "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
    }
