"""A program built of a pinned Go module, for each kind of processor, verified against recorded SHA-256 sums.

A folder has a `go.mod` (one tool, and the version of Go that builds it), the `go.sum` of all its modules, and a `programs.sha256`. `go`
downloads them from wherever it is configured to, and runs only for programs that aren't in the cache yet: a build by the same
toolchain has the same bytes. To pin another version:

    python -m systems.software.go_program --record FOLDER --package PACKAGE@VERSION --toolchain go1.26.8
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from provisioning.cache import Notice, user_cache
from provisioning.errors import InvalidInput, MissingRequirement, SameboxError
from systems.software.programs import MACHINES, digest_of, fetch_verified, require_all, sums_of
from systems.software.sums import write_sums

RECORDING = "python -m systems.software.go_program --record FOLDER --package PACKAGE@VERSION --toolchain goX.Y.Z"
BUILD_TIMEOUT_S = 1800.0
_ARCHITECTURES = {"aarch64": "arm64", "x86_64": "amd64"}
_GO = re.compile(r"^go (\d+\.\d+\.\d+)$", re.M)
_TOOL = re.compile(r"^tool (\S+)$", re.M)
_PACKAGE = re.compile(r"[a-z0-9./_-]+@v[0-9][A-Za-z0-9.+-]*")
_MODULE = "samebox"  # of the go.mod, which is nobody's but ours
_TAIL_CHARS = 1500


@dataclass(frozen=True)
class GoProgram:
    """A folder with a `go.mod`, a `go.sum` and a `programs.sha256`; see Software. On a host it is started as `bin/<program>`."""

    name: str
    version: str
    package: str
    toolchain: str
    folder: Path

    @property
    def program(self) -> str:
        """What `go build` calls it."""
        return self.package.rpartition("/")[2]

    @property
    def sums(self) -> Path:
        """Where its sums are recorded."""
        return self.folder / "programs.sha256"

    @property
    def digest(self) -> str:
        """See `digest_of`."""
        return digest_of(self.sums)

    def fetch(self, cache_dir: Path, *, notice: Notice) -> Path:
        """See Software. Raises ProgramsDiffer."""

        def make(entry: Path) -> None:
            notice(f"{self.name} {self.version}: building with {self.toolchain} (the first time takes some minutes)")
            build(self, entry, cache_dir)

        came = f"as {self.toolchain} built it"
        return fetch_verified(self, cache_dir, self.sums, [self.program], make, came=came, recording=RECORDING)


def go_program(name: str, folder: Path) -> GoProgram:
    """What a folder pins; it is called by the version. Raises InvalidInput."""
    found = _pinned(name, folder)
    require_all(found.sums, [found.program], recording=RECORDING)
    return found


def _pinned(name: str, folder: Path) -> GoProgram:
    text = (folder / "go.mod").read_text() if (folder / "go.mod").is_file() else ""
    tool, version = _TOOL.search(text), _GO.search(text)
    if tool is None or version is None:
        raise InvalidInput(f"{folder / 'go.mod'}: names no tool, or no whole version of Go.", next_step=RECORDING)
    return GoProgram(name, folder.name, tool[1], f"go{version[1]}", folder)


def build(program: GoProgram, target: Path, cache_dir: Path) -> None:
    """Builds a program for all processors into `target`. Raises MissingRequirement with the command and its tail."""
    with tempfile.TemporaryDirectory(prefix="samebox-go-") as scratch:
        for name in ("go.mod", "go.sum"):
            shutil.copy(program.folder / name, scratch)
        for machine, architecture in _ARCHITECTURES.items():
            output = target.absolute() / "bin" / machine / program.program
            flags = ["-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags=-s -w"]
            environment = {"CGO_ENABLED": "0", "GOOS": "linux", "GOARCH": architecture}
            _go(
                ["build", *flags, "-o", str(output), program.package],
                Path(scratch), cache_dir, program.toolchain, environment,
            )  # fmt: skip


def module_folder(module: str, cache_dir: Path) -> Path:
    """The source of a module (MODULE@VERSION), downloaded by whichever `go` is there. Raises MissingRequirement."""
    with tempfile.TemporaryDirectory(prefix="samebox-go-") as scratch:
        return Path(json.loads(_go(["mod", "download", "-json", module], Path(scratch), cache_dir, "local"))["Dir"])


def _go(
    arguments: Sequence[str], folder: Path, cache_dir: Path, toolchain: str, environment: dict[str, str] | None = None
) -> str:
    """Runs `go` of exactly this toolchain, which it downloads if it is another one; what it keeps lies in the user's cache.

    Returns what it prints.
    """
    if shutil.which("go") is None:
        raise MissingRequirement(
            "A program must be built of a Go module, but `go` is not on the PATH.",
            next_step="Install Go 1.21 or newer: it downloads the toolchain that is pinned by itself.",
        )
    kept = {"GOPATH": str(cache_dir / "go"), "GOCACHE": str(cache_dir / "go" / "build"), "GOFLAGS": "-modcacherw"}
    words = ["go", *arguments]
    completed = subprocess.run(
        words,
        cwd=folder,
        env={**os.environ, **kept, "GOTOOLCHAIN": toolchain, "GOWORK": "off", **(environment or {})},
        capture_output=True,
        text=True,
        timeout=BUILD_TIMEOUT_S,
        check=False,
    )
    if completed.returncode != 0:
        tail = completed.stderr.strip()[-_TAIL_CHARS:]
        raise MissingRequirement(
            f"exit {completed.returncode} from ({toolchain}):\n{shlex.join(words)}\n{tail}",
            next_step="The first build needs a Go module proxy within reach; later ones use the cache.",
        )
    return completed.stdout


def record(folder: Path, package: str, toolchain: str, cache_dir: Path, *, notice: Notice) -> int:
    """Pins a package's newest dependencies as it asks for them, builds it, and records its sums; returns how many there are."""
    if _PACKAGE.fullmatch(package) is None:
        raise InvalidInput(f"{package!r}: not PACKAGE@VERSION.")
    with tempfile.TemporaryDirectory(prefix="samebox-record-") as scratch:
        aside = Path(scratch) / folder.name
        aside.mkdir()
        notice(f"{package}: downloading its modules and building it with {toolchain}")
        _go(["mod", "init", _MODULE], aside, cache_dir, toolchain)
        _go(["get", "-tool", package], aside, cache_dir, toolchain)
        program = _pinned(folder.name, aside)
        build(program, Path(scratch) / "built", cache_dir)
        sums = sums_of(Path(scratch) / "built")
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("go.mod", "go.sum"):
            shutil.copy(aside / name, folder)
    write_sums(folder / "programs.sha256", sums)
    assert len(sums) == len(MACHINES)
    return len(sums)


def main(arguments: list[str] | None = None) -> int:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(prog="python -m systems.software.go_program", description=record.__doc__)
    parser.add_argument(
        "--record", metavar="FOLDER", type=Path, required=True, help="where the three files are written"
    )
    parser.add_argument(
        "--package", metavar="PACKAGE@VERSION", required=True, help="a main package, as `go get` takes it"
    )
    parser.add_argument("--toolchain", required=True, help="the Go that builds it, such as go1.26.8")
    given = parser.parse_args(arguments)
    try:
        count = record(
            given.record, given.package, given.toolchain, user_cache(), notice=lambda line: print(line, file=sys.stderr)
        )
    except SameboxError as error:
        print(f"{error}\n{error.next_step}".rstrip(), file=sys.stderr)
        return 1
    print(f"{given.record}: {count} programs recorded")
    return 0


if __name__ == "__main__":
    sys.exit(main())
