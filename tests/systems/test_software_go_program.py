"""Programs of Go modules: what is recorded is what hosts get, built by exactly the pinned toolchain, and only when it must be."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from provisioning.errors import InvalidInput, MissingRequirement
from systems.registry import software
from systems.software.go_program import GoProgram, go_program, main, record
from systems.software.programs import MACHINES, ProgramsDiffer

PACKAGE = "example.org/tools/toy@v1.2.0"
# Stands in for Go: notes with what it was called, writes what `go` would, and builds a program that says for which processor it is.
FAKE_GO = """#!/bin/sh
echo "$GOTOOLCHAIN $CGO_ENABLED $GOOS $GOARCH $*" >> "$CALLS"
case "$1 $2" in
"mod init") printf 'module samebox\\n\\ngo %s\\n' "${GOTOOLCHAIN#go}" > go.mod;;
"get -tool")
  printf '\\ntool example.org/tools/toy\\n\\nrequire example.org/tools v1.2.0\\n' >> go.mod
  echo 'example.org/tools v1.2.0 h1:x=' > go.sum;;
build*)
  grep -q 'h1:x=' go.sum || exit 1
  while [ "$1" != -o ]; do shift; done
  mkdir -p "$(dirname "$2")"; printf '#!/bin/sh\\necho toy for %s: $*\\n' "$GOARCH" > "$2";;
*) echo "unknown: $*" >&2; exit 2;;
esac
"""


def silent(line: str) -> None:
    """Takes notices without keeping them."""
    del line


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fake `go` on the PATH; the file returned has a line per call."""
    programs = tmp_path / "path"
    programs.mkdir()
    (programs / "go").write_text(FAKE_GO)
    (programs / "go").chmod(0o755)
    noted = tmp_path / "calls"
    noted.touch()
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("CALLS", str(noted))
    return noted


@pytest.fixture
def toy(calls: Path, tmp_path: Path) -> GoProgram:
    """The toy as it is recorded."""
    folder = tmp_path / "software" / "1.2.0"
    assert record(folder, PACKAGE, "go1.26.8", tmp_path / "cache", notice=silent) == len(MACHINES)
    calls.write_text("")
    return go_program("toy", folder)


def test_what_was_recorded_is_built_for_every_processor_and_started_by_its_name(
    toy: GoProgram, calls: Path, tmp_path: Path
) -> None:
    """Without the C library, by exactly the pinned toolchain; a host starts the program for its own processor."""
    folder = toy.fetch(tmp_path / "cache", notice=silent)
    words = [line.split()[:4] for line in calls.read_text().splitlines()]
    assert sorted(words) == [["go1.26.8", "0", "linux", "amd64"], ["go1.26.8", "0", "linux", "arm64"]]
    assert all("-mod=readonly -trimpath -buildvcs=false" in line for line in calls.read_text().splitlines())
    for machine in MACHINES:
        (folder / "bin" / machine / "toy").chmod(0o755)  # as go does it
    said = subprocess.run([folder / "bin" / "toy", "a"], capture_output=True, text=True, check=True).stdout
    assert said in ("toy for amd64: a\n", "toy for arm64: a\n")


def test_it_is_built_once(toy: GoProgram, calls: Path, tmp_path: Path) -> None:
    """The second fetch calls no `go`."""
    first = toy.fetch(tmp_path / "cache", notice=silent)
    calls.write_text("")
    assert toy.fetch(tmp_path / "cache", notice=silent) == first
    assert calls.read_text() == ""


def test_a_build_with_other_bytes_is_refused(toy: GoProgram, tmp_path: Path) -> None:
    """Whatever the reason: another compiler, other sources."""
    go = tmp_path / "path" / "go"
    go.write_text(go.read_text().replace("toy for", "toy of"))
    with pytest.raises(
        ProgramsDiffer, match=r"as go1\.26\.8 built it: 2 of the programs(?s:.*)differs: bin/aarch64/toy"
    ):
        toy.fetch(tmp_path / "cache", notice=silent)
    assert not [path for path in (tmp_path / "cache" / "software").iterdir() if path.is_dir()]


def test_a_failing_build_is_one_message_with_command_and_tail(toy: GoProgram, tmp_path: Path) -> None:
    """What go said last, the toolchain and the command to repeat are in the error."""
    (toy.folder / "go.sum").write_text("")
    (tmp_path / "path" / "go").write_text("#!/bin/sh\necho 'missing go.sum entry' >&2\nexit 1\n")
    with pytest.raises(MissingRequirement, match=r"exit 1 from \(go1\.26\.8\):\ngo build (?s:.*)missing go\.sum entry"):
        toy.fetch(tmp_path / "cache", notice=silent)


def test_no_go_says_what_to_install(toy: GoProgram, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without `go` on the PATH the message says so."""
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(MissingRequirement, match="`go` is not on the PATH") as caught:
        toy.fetch(tmp_path / "cache", notice=silent)
    assert "Go 1.21" in caught.value.next_step


def test_a_folder_that_pins_no_toolchain_is_refused(tmp_path: Path) -> None:
    """Another one would make other bytes."""
    (tmp_path / "go.mod").write_text("module samebox\n\ngo 1.26\n\ntool example.org/tools/toy\n")
    with pytest.raises(InvalidInput, match=r"go\.mod: names no tool, or no whole version of Go"):
        go_program("toy", tmp_path)


def test_recording_something_else_than_a_version_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """`latest` would pin whatever it is today."""
    folder = tmp_path / "latest"
    given = ["--record", str(folder), "--package", "example.org/toy@latest", "--toolchain", "go1.26.8"]
    assert main(given) == 1
    assert "not PACKAGE@VERSION" in capsys.readouterr().err
    assert not folder.exists()


@pytest.mark.parametrize(
    "program", [each for each in software() if isinstance(each, GoProgram)], ids=lambda each: each.name
)
def test_all_programs_of_the_repository_are_pinned(program: GoProgram) -> None:
    """The folder is called by the version, which is the tool's; every module has its sum."""
    required = [
        line.split() for line in (program.folder / "go.mod").read_text().splitlines() if f" v{program.version} " in line
    ]
    assert any(program.package.startswith(words[0]) for words in required)
    assert (program.folder / "go.sum").read_text().count(" h1:") > 10
