"""Which checkout a campaign was begun with."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from bench.checkout import CHECKOUT
from bench.run.manifest import origin_of


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A git checkout with a room and a lock, all committed."""
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "a.py").write_text("one = 1\n")
    (tmp_path / "requirements.lock").write_text("x==1\n")
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "one"]):
        git(tmp_path, *command)
    return tmp_path


def git(folder: Path, *command: str) -> None:
    """Runs it as somebody."""
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", "-C", str(folder), *who, *command], check=True)


def test_changes_of_the_code_are_told_by_what_they_are(checkout: Path) -> None:
    """A digest of edits and new files in the kit's rooms, the same for the same ones; a campaign file of one's own is none."""

    def changes() -> str | None:
        found = origin_of(checkout).git["changes_sha256"]
        assert found is None or isinstance(found, str)
        return found

    assert (origin_of(checkout).git["dirty"], changes()) == (False, None)
    (checkout / "mine.toml").write_text("schema = 1\n")
    assert (origin_of(checkout).git["dirty"], changes()) == (True, None)
    seen = []
    for name, text in (("a.py", "one = 2\n"), ("a.py", "one = 3\n"), ("b.py", "two = 2\n"), ("b.py", "two = 3\n")):
        (checkout / "bench" / name).write_text(text)
        assert changes() == changes()
        seen.append(changes())
    assert None not in seen and len(set(seen)) == 4


def test_a_stack_of_ones_own_leaves_the_checkout_clean(checkout: Path) -> None:
    """Its file, made from a preset, is where Pulumi and `samebox campaign aws` write: git ignores it."""
    shutil.copy(CHECKOUT / ".gitignore", checkout)
    for command in (["add", "."], ["commit", "-q", "-m", "ignored"]):
        git(checkout, *command)
    for preset in (CHECKOUT / "infra" / "presets").glob("*.yaml"):
        shutil.copy(preset, checkout / f"Pulumi.{preset.name}")
    assert sorted(file.name for file in checkout.glob("Pulumi.*")) == [
        "Pulumi.smoke.yaml",
        "Pulumi.sn2020.yaml",
        "Pulumi.sn2022.yaml",
        "Pulumi.tiny.yaml",
    ]
    assert origin_of(checkout).git["dirty"] is False
    (checkout / "Pulumi.yaml").write_text("name: samebox\n")
    assert origin_of(checkout).git["dirty"] is True


def test_without_git_nothing_is_known(tmp_path: Path) -> None:
    """An unpacked archive has no commit."""
    (tmp_path / "requirements.lock").write_text("x==1\n")
    assert origin_of(tmp_path).git == {"commit": None, "dirty": None}
