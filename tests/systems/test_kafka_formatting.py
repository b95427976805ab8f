"""What a node's data directories begin with: written by the tool once, then given again, never half of it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from systems.kafka.layout import format_command

Format = Callable[..., int]


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A node's folder, with its configuration."""
    (tmp_path / "broker.properties").write_text("node.id=1\n")
    return tmp_path


def log_dirs(node: Path) -> list[Path]:
    """Where its data are."""
    return [node / "data 1", node / "data-2"]


def wipe(node: Path) -> None:
    """What a reset does."""
    for path in log_dirs(node):
        subprocess.run(["rm", "-rf", path], check=True)


@pytest.fixture
def format_node(node: Path) -> Format:
    """Runs the command, with a tool that writes what the real one does and notes that it ran; the exit status."""
    first, second = (str(path) for path in log_dirs(node))
    writes = (
        f"echo ran >> {node}/runs; mkdir '{first}/deeper';"
        f" echo $RANDOM > '{first}/meta.properties'; date +%N > '{second}/meta.properties'"
    )

    def run(*, then: str = "") -> int:
        tool = f"{{ {writes}; {then or 'true'}; }}"
        command = format_command([first, second], f"{node}/broker.properties", f"{node}/kept", tool)
        return subprocess.run(["bash", "-c", command]).returncode

    return run


def runs(node: Path) -> int:
    """How often the tool ran."""
    return len((node / "runs").read_text().splitlines())


def contents(node: Path) -> dict[str, str]:
    """All files of the data directories."""
    files = [path for folder in log_dirs(node) for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(node)): path.read_text() for path in files}


def test_the_tool_runs_once_for_a_configuration(node: Path, format_node: Format) -> None:
    """After a wipe the directories begin with the very same content; formatted ones are left alone."""
    assert format_node() == 0
    written = contents(node)
    assert len(written) == 2
    assert format_node() == 0
    wipe(node)
    assert format_node() == 0
    assert contents(node) == written
    assert (log_dirs(node)[0] / "deeper").is_dir()
    assert runs(node) == 1


def test_another_configuration_is_formatted_anew(node: Path, format_node: Format) -> None:
    """And both are kept."""
    format_node()
    wipe(node)
    (node / "broker.properties").write_text("node.id=2\n")
    format_node()
    assert runs(node) == 2
    assert len(list((node / "kept").iterdir())) == 2


def test_what_a_failing_tool_has_written_is_not_kept(node: Path, format_node: Format) -> None:
    """Its exit status is the command's, and the next one starts from nothing."""
    assert format_node(then="false") == 1
    wipe(node)
    assert format_node() == 0
    assert runs(node) == 2


def test_half_a_copy_is_never_taken(node: Path, format_node: Format) -> None:
    """A host that was lost in the middle of keeping leaves a folder that nobody looks into."""
    format_node()
    [kept] = (node / "kept").iterdir()
    kept.rename(f"{kept}.new")
    (kept.with_name(f"{kept.name}.new") / "1" / "meta.properties").unlink()
    wipe(node)
    assert format_node() == 0
    assert runs(node) == 2
    assert [path.name for path in (node / "kept").iterdir()] == [kept.name]
    assert len(contents(node)) == 2
