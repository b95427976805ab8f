"""Python environments of hosts: locked libraries and code of this checkout, brought over SSH.

The libraries are those of a lock file, downloaded once per kind of host (Python, processor, C library) and installed there
without the internet by a pip that runs from its own wheel: hosts need python3 and tar, nothing else.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from provisioning.cache import Notice, locked
from provisioning.errors import HostError, MissingRequirement
from provisioning.hosts.host import Host, on_all
from provisioning.software.delivery import DIRECT, Content, Way, deliver, digest_of, directory

REPOSITORY = Path(__file__).parents[2]
PYTHON_VERSION = "3.11"
DOWNLOAD_TIMEOUT_S = 1800.0
INSTALL_TIMEOUT_S = 600.0

_FACTS = (
    "import json, platform, sys; print(json.dumps({'executable': sys.executable, 'version': platform.python_version(), "
    "'machine': platform.machine(), 'libc': ' '.join(platform.libc_ver())}))"
)
# The first that there is: distributions whose python3 is another one have ours under its own name.
FACTS_COMMAND = f'for python in python{PYTHON_VERSION} python3; do "$python" -c {shlex.quote(_FACTS)} && break; done'


@dataclass(frozen=True)
class Environment:
    """What a host is to be able to run: libraries of a lock file, and files and folders of this checkout.

    `name` and `code_name` begin the names of the directories on the host.
    """

    name: str
    lock_file: Path
    code_name: str
    code: tuple[str, ...]


@dataclass(frozen=True)
class Interpreter:
    """A host's Python as far as the choice of wheels depends on it."""

    version: str
    machine: str
    glibc: tuple[int, int]

    @property
    def platforms(self) -> list[str]:
        """The wheel platforms that it can load, the newest first."""
        major, minor = self.glibc
        modern = [f"manylinux_{major}_{older}_{self.machine}" for older in range(minor, 16, -1)]
        return [*modern, f"manylinux2014_{self.machine}"]


def interpreter_of(host: Host) -> tuple[str, Interpreter]:
    """The path and the kind of the host's Python. Raises HostError when there is none that fits."""
    completed = host.run(FACTS_COMMAND, check=False)
    wanted = f"Install Python {PYTHON_VERSION} on {host.name} (as python{PYTHON_VERSION} or python3)."
    if not completed.stdout.strip():
        raise HostError(host.name, f"no Python: {completed.stderr.strip()[-300:]}", next_step=wanted)
    facts = json.loads(completed.stdout.strip().splitlines()[-1])
    if not facts["version"].startswith(f"{PYTHON_VERSION}."):
        found = f"its Python is {facts['version']} ({facts['executable']}); {PYTHON_VERSION} is required"
        raise HostError(host.name, found, next_step=wanted)
    glibc = re.fullmatch(r"glibc (\d+)\.(\d+)", facts["libc"])
    if glibc is None:
        raise HostError(host.name, f"its C library is {facts['libc'] or 'unknown'}; the libraries need glibc.")
    return facts["executable"], Interpreter(PYTHON_VERSION, facts["machine"], (int(glibc[1]), int(glibc[2])))


def deploy_environment(
    environment: Environment, hosts: Sequence[Host], cache_dir: Path, notice: Notice, way: Way = DIRECT
) -> dict[str, str]:
    """Puts code and libraries on the hosts where they are missing: host name -> the shell words that run Python with them."""
    found = on_all("reading the Python version", hosts, interpreter_of)
    by_kind: dict[Interpreter, list[Host]] = defaultdict(list)
    for host in hosts:
        by_kind[found[host.name][1]].append(host)
    code = deploy_code(hosts, cache_dir, environment, notice, way)
    commands = {}
    for interpreter, alike in by_kind.items():
        executables = {host.name: found[host.name][0] for host in alike}
        libraries = deploy_libraries(alike, interpreter, executables, cache_dir, notice, environment, way)
        for host in alike:
            path = f"{directory(host, code)}:{directory(host, libraries)}/site"
            # -P and -s: neither the working directory nor the user's own packages may shadow what was sent.
            commands[host.name] = f"env PYTHONPATH={shlex.quote(path)} {shlex.quote(executables[host.name])} -P -s"
    return commands


def deploy_code(
    hosts: Sequence[Host], cache_dir: Path, environment: Environment, notice: Notice, way: Way = DIRECT
) -> Content:
    """Sends the code as it is in this checkout; a changed file makes another directory."""
    files = code_files(REPOSITORY, environment.code)
    digest = digest_of(files)
    content = Content(f"{environment.code_name}-{digest[:16]}", digest)
    deliver(hosts, content, lambda: files, cache_dir, notice=notice, way=way)
    return content


def code_files(repository: Path, code: Sequence[str]) -> list[tuple[str, Path]]:
    """(name, file) of everything in these files and folders but compiled code."""
    roots = [repository / name for name in code]
    paths = sorted(path for root in roots for path in (root, *root.rglob("*")) if path.is_file())
    return [(str(path.relative_to(repository)), path) for path in paths if "__pycache__" not in path.parts]


def deploy_libraries(
    hosts: Sequence[Host],
    interpreter: Interpreter,
    executables: dict[str, str],
    cache_dir: Path,
    notice: Notice,
    environment: Environment,
    way: Way = DIRECT,
) -> Content:
    """Sends the wheels to hosts of one kind and installs them there."""
    lock_file = environment.lock_file
    digest = lock_digest(interpreter, lock_file.read_bytes())
    content = Content(f"{environment.name}-{digest[:16]}", digest)

    def files() -> list[tuple[str, Path]]:
        wheels = download_wheels(interpreter, lock_file, cache_dir, notice)
        return [
            *((f"wheels/{wheel.name}", wheel) for wheel in sorted(wheels.iterdir())),
            ("requirements.lock", lock_file),
        ]

    def install(host: Host, incoming: str) -> None:
        _install(host, incoming, executables[host.name])

    what = f"{environment.name} libraries"
    deliver(hosts, content, files, cache_dir, what=what, notice=notice, way=way, then=install)
    return content


def lock_digest(interpreter: Interpreter, lock: bytes) -> str:
    """What tells locked packages for one kind of Python from any others."""
    kind = json.dumps([interpreter.version, interpreter.machine, interpreter.glibc])
    return hashlib.sha256(kind.encode() + lock).hexdigest()


def download_wheels(interpreter: Interpreter, lock_file: Path, cache_dir: Path, notice: Notice) -> Path:
    """The directory of wheels in the cache, downloaded first if need be; pip refuses what the lock file has no hash of."""
    wheels = cache_dir / "wheels" / lock_digest(interpreter, lock_file.read_bytes())[:16]
    with locked(cache_dir / "wheels" / f".{wheels.name}.lock"):
        if not wheels.is_dir():
            notice(f"Python libraries: downloading wheels for Python {interpreter.version} on {interpreter.machine}")
            with tempfile.TemporaryDirectory(prefix=".downloading-", dir=wheels.parent) as scratch:
                aside = Path(scratch) / "wheels"
                run_pip(
                    ["download", f"--dest={aside}"],
                    interpreter,
                    lock_file,
                    failure="the Python libraries can't be downloaded",
                    next_step="The first download needs access to a package index; later ones are served from the cache.",
                )
                aside.rename(wheels)
    return wheels


def run_pip(command: Sequence[str], interpreter: Interpreter, lock_file: Path, *, failure: str, next_step: str) -> None:
    """Runs a pip command for another machine's Python: wheels only, and only what the lock file has a hash of.

    Raises MissingRequirement that begins with `failure`.
    """
    words = [sys.executable, "-m", "pip", *command, "--quiet", "--no-input", "--no-deps", "--require-hashes"]
    words += ["--only-binary=:all:", "--implementation=cp", f"--python-version={interpreter.version}"]
    words += [f"--platform={platform}" for platform in interpreter.platforms]
    words.append(f"--requirement={lock_file}")
    try:
        completed = subprocess.run(words, capture_output=True, text=True, timeout=DOWNLOAD_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        raise MissingRequirement(f"no answer within {DOWNLOAD_TIMEOUT_S:g} s from: {shlex.join(words)}") from None
    if completed.returncode != 0:
        raise MissingRequirement(
            f"{failure}: exit {completed.returncode} from:\n{shlex.join(words)}\n{completed.stderr.strip()[-1500:]}",
            next_step=next_step,
        )


def _install(host: Host, incoming: str, executable: str) -> None:
    quoted, python = shlex.quote(incoming), shlex.quote(executable)
    # A wheel of pip is a zip that Python can run: neither pip nor ensurepip nor venv need to be on the host.
    pip = f"{python} -I $(echo wheels/pip-*.whl)/pip --isolated --disable-pip-version-check --no-cache-dir --no-input"
    host.run(
        f"cd {quoted} && {pip} install --quiet --no-index --find-links wheels --no-deps --require-hashes "
        "--no-warn-script-location --root-user-action=ignore --target site -r requirements.lock && rm -rf wheels",
        timeout_s=INSTALL_TIMEOUT_S,
    )
