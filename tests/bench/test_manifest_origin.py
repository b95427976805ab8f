"""Which checkout a campaign was begun with."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bench.manifest import origin_of


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A git checkout with a room and a lock, all committed."""
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "a.py").write_text("one = 1\n")
    (tmp_path / "requirements.lock").write_text("x==1\n")
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "one"]):
        who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
        subprocess.run(["git", "-C", str(tmp_path), *who, *command], check=True)
    return tmp_path


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


def test_without_git_nothing_is_known(tmp_path: Path) -> None:
    """An unpacked archive has no commit."""
    (tmp_path / "requirements.lock").write_text("x==1\n")
    assert origin_of(tmp_path).git == {"commit": None, "dirty": None}
