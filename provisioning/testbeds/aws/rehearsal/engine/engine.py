"""Finds the real `pulumi`: the one on PATH when it is recent enough, else one built here once from its pinned Go modules.

Run it (`python -m provisioning.testbeds.aws.rehearsal.engine.engine`) to see which, and how long that took.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from provisioning.cache import user_cache
from provisioning.errors import MissingRequirement, SameboxError

MODULE = Path(__file__).resolve().parent
OLDEST = (3, 226, 0)  # older ones don't replace a host whose replacement trigger changes
OLDEST_GO = (1, 26)
CLI_MODULE = "github.com/pulumi/pulumi/pkg/v3"
SDK_MODULE = "github.com/pulumi/pulumi/sdk/v3"
LANGUAGE_HOST = "pulumi-language-python"
SCRATCH_BYTES = 4 * 2**30
BUILD_TIMEOUT_S = 5400  # ten minutes of CPU, on a machine that others keep busy
_BY_HAND = (
    "Install Pulumi (https://www.pulumi.com/docs/install/), or Go 1.26 or newer (https://go.dev/dl/) and try again."
)


@dataclass(frozen=True)
class Engine:
    """A usable `pulumi`: `folder` is to be the first on PATH."""

    folder: Path
    version: str
    origin: str
    seconds: float

    def __str__(self) -> str:
        return f"Pulumi {self.version}: {self.origin} in {self.seconds:.1f} s ({self.folder})"


def find_engine() -> Engine:
    """The engine to test with. Raises MissingRequirement saying what to install."""
    begun = time.monotonic()
    installed = _installed()
    if installed is not None:
        return Engine(*installed, "found on PATH (warm)", time.monotonic() - begun)
    target = user_cache() / f"pulumi-{_pinned_version()}-{_fingerprint()}"
    with _one_at_a_time(target):
        if target.is_dir():
            return Engine(target, _pinned_version(), "built before (warm)", time.monotonic() - begun)
        _build(target)
    return Engine(target, _pinned_version(), "built from Go modules (cold)", time.monotonic() - begun)


def _installed() -> tuple[Path, str] | None:
    found = shutil.which("pulumi")
    if found is None:
        return None
    folder = Path(found).resolve().parent
    if shutil.which(LANGUAGE_HOST) is None and shutil.which(LANGUAGE_HOST, path=str(folder)) is None:
        return None
    printed = _run([found, "version"], {"PULUMI_SKIP_UPDATE_CHECK": "true"}).strip()
    number = re.match(r"v?(\d+)\.(\d+)\.(\d+)", printed)
    recent = number is not None and tuple(int(part) for part in number.groups()) >= OLDEST
    return (Path(found).parent, printed) if recent else None


def _build(target: Path) -> None:
    """Builds aside and renames, so that what is there is whole."""
    go = _go()
    for left in target.parent.glob(f".{target.name}.*"):
        shutil.rmtree(left)  # of a build that was killed: the lock is ours
    if shutil.disk_usage(target.parent).free < SCRATCH_BYTES:
        raise MissingRequirement(
            f"building Pulumi needs 4 GiB of free disk space in {target.parent}.", next_step=_BY_HAND
        )
    print(f"Building Pulumi {_pinned_version()} from its Go modules, once: about five minutes of CPU.", file=sys.stderr)
    aside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        made = aside / "made"
        made.mkdir()
        _compile(go, made, _go_environment(aside))
        made.rename(target)
    finally:
        shutil.rmtree(aside)


def _compile(go: str, made: Path, environment: Mapping[str, str]) -> None:
    version = _pinned_version()
    linking = f"-s -w -X {SDK_MODULE}/go/common/version.Version={version}"
    # tags and linking as in Pulumi's own releases
    build = [go, "build", "-trimpath", "-buildvcs=false", "-tags=osusergo,grpcnotrace", f"-ldflags={linking}", "-o"]
    _run([*build, str(made / "pulumi"), f"{CLI_MODULE}/cmd/pulumi"], environment)
    _run([*build, str(made / LANGUAGE_HOST), "./languagehost"], environment)
    sdk = _run([go, "list", "-m", "-f", "{{.Dir}}", SDK_MODULE], environment).strip()
    shutil.copy(Path(sdk) / "python/cmd" / f"{LANGUAGE_HOST}-exec", made)
    (made / f"{LANGUAGE_HOST}-exec").chmod(0o755)
    for program in (["pulumi", "version"], [LANGUAGE_HOST, "-version"]):
        printed = _run([str(made / program[0]), *program[1:]], {"PULUMI_SKIP_UPDATE_CHECK": "true"}).strip()
        if printed != version:
            raise SameboxError(f"{program[0]} was built as {version} but reports version {printed}.")


def _go_environment(aside: Path) -> dict[str, str]:
    """Nothing from the network but what go.sum names, nothing left behind; Go caches that are named explicitly are used."""
    folders = {name: str(aside / name) for name in ("GOMODCACHE", "GOCACHE", "GOPATH", "GOTMPDIR")}
    for folder in folders.values():
        Path(folder).mkdir()
    kept = {name: os.environ[name] for name in ("GOMODCACHE", "GOCACHE") if os.environ.get(name)}
    fixed = {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off", "GOFLAGS": "-mod=readonly -modcacherw"}
    return {**folders, **kept, **fixed}


def _go() -> str:
    found = shutil.which("go")
    printed = _run([found, "env", "GOVERSION"], {"GOTOOLCHAIN": "local"}).strip() if found else "none"
    number = re.match(r"go(\d+)\.(\d+)", printed)
    if found is None or number is None or tuple(int(part) for part in number.groups()) < OLDEST_GO:
        raise MissingRequirement(
            f"neither pulumi {'.'.join(map(str, OLDEST))} or newer with {LANGUAGE_HOST}, nor Go 1.26 or newer to build it "
            f"with, is on PATH (go: {printed}).",
            next_step=_BY_HAND,
        )
    return found


def _run(command: list[str], environment: Mapping[str, str]) -> str:
    try:
        completed = subprocess.run(
            command,
            cwd=MODULE,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=BUILD_TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        raise SameboxError(f"timed out after {BUILD_TIMEOUT_S} s: {' '.join(command)}") from None
    if completed.returncode != 0:
        raise SameboxError(f"exit {completed.returncode} from: {' '.join(command)}\n{completed.stderr.strip()[-2000:]}")
    return completed.stdout


def _pinned_version() -> str:
    pinned = re.search(rf"^\s*{re.escape(CLI_MODULE)} (v\S+)", (MODULE / "go.mod").read_text(), re.MULTILINE)
    assert pinned is not None
    return pinned.group(1)


def _fingerprint() -> str:
    """What the build is made of: another go.sum or language host is another engine."""
    sources = [MODULE / "go.mod", MODULE / "go.sum", *sorted((MODULE / "languagehost").glob("*.go"))]
    return hashlib.sha256(b"\0".join(source.read_bytes() for source in sources)).hexdigest()[:12]


@contextlib.contextmanager
def _one_at_a_time(target: Path) -> Iterator[None]:
    target.parent.mkdir(parents=True, exist_ok=True)
    with (target.parent / "pulumi.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    try:
        print(find_engine())
    except SameboxError as error:
        sys.exit(f"{error}\n{error.next_step}".rstrip())
