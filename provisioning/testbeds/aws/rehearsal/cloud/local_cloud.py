"""Starts AWS on this machine for a test: a moto server as a process of its own. It knows nothing of what the test then does.

The server ends with its parent, however that ends: it reads the end of its standard input.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from provisioning.testbeds.aws.rehearsal.iam.reference import REGION

CHECKOUT = Path(__file__).resolve().parents[5]
STATE_VARIABLE = "SAMEBOX_CLOUD"  # in the environment of the cloud's process: its folder
FAULTS_FILE = "faults.json"
LAUNCHING = ".launching"
LOG_FILE = "server.log"
POLICY_FILE = "operator-policy.json"
# access keys: whose calls the operator's policy, throttling and expiry are for, and whose they aren't
OPERATOR, MACHINE = "testing", "machine"
END_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Faults:
    """What the cloud refuses, delays or does badly from now on, by host name (the `host` tag of the instance).

    `ending_s` is how long what was told to end takes: an instance shuts down, a cluster terminates while its machines still run.
    `disk_bytes_per_s` makes the disks of instances launched from now on that slow, really, where instances are hosts.
    `full_zones` have room for nothing but what is reserved there already.
    `images_age_days`: how long ago all images were made, whose deprecation is reckoned from that.
    `not_offered`: zone -> the instance types that it doesn't have.
    `clock_ahead_s`: how far the clock by which schedules fire is ahead of this machine's.
    `throttled`: action (ec2:DescribeVpcs) -> how many of the operator's next calls of it are refused as too many.
    `credentials_expired`: the operator's are temporary, and have come to their end.
    """

    no_capacity: tuple[str, ...] = ()
    full_zones: tuple[str, ...] = ()
    quota_exceeded: tuple[str, ...] = ()
    launch_delay_s: Mapping[str, float] = field(default_factory=dict)
    termination_delay_s: float = 0.0
    ending_s: float = 0.0
    disk_bytes_per_s: Mapping[str, int] = field(default_factory=dict)
    images_age_days: float = 0.0
    not_offered: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    clock_ahead_s: float = 0.0
    throttled: Mapping[str, int] = field(default_factory=dict)
    credentials_expired: bool = False


@dataclass(frozen=True)
class Cloud:
    """A running cloud. `environment` is to be added to that of every process which shall use it."""

    endpoint: str
    region: str
    environment: Mapping[str, str]
    state_dir: Path

    def inject(self, faults: Faults) -> None:
        """Replaces the faults in force; `Faults()` ends them all."""
        self._put(FAULTS_FILE, json.dumps(asdict(faults)))

    def hold_operator_to(self, policy: str) -> None:
        """From now on the operator may do what this IAM policy allows and nothing else; before, everything is allowed."""
        self._put(POLICY_FILE, policy)

    def launches_slowly(self, host: str) -> bool:
        """Whether the launch of a host with a delay has been asked for."""
        return (self.state_dir / f"{host}{LAUNCHING}").exists()

    def _put(self, name: str, text: str) -> None:
        partial = self.state_dir / f"{name}.part"
        partial.write_text(text)
        partial.replace(self.state_dir / name)


def state_dir() -> Path:
    """The folder of the cloud whose process this is."""
    return Path(os.environ[STATE_VARIABLE])


def injected() -> Faults:
    """The faults in force in the cloud whose process this is; none where it is no cloud's."""
    recorded = _put_there(FAULTS_FILE)
    return Faults(**json.loads(recorded)) if recorded else Faults()


def held_policy() -> str | None:
    """The policy that the operator is held to; None allows everything."""
    return _put_there(POLICY_FILE)


def _put_there(name: str) -> str | None:
    with contextlib.suppress(FileNotFoundError, KeyError):
        return (state_dir() / name).read_text()
    return None


@contextlib.contextmanager
def local_cloud(folder: Path, *, hosts: bool) -> Iterator[Cloud]:
    """A fresh cloud on a free port of 127.0.0.1; with `hosts`, its instances are sshd hosts on loopback addresses.

    `folder` holds its log, its faults and its hosts' files; the hosts have ended and their files are gone afterwards.
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
