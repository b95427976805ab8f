"""Archives that the operator adds: checked, copied, recorded by SHA-256, and never used where they differ."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from provisioning.cache import sha256_of
from provisioning.errors import InvalidInput
from systems.software.added import add, added, is_added, needed, verified
from systems.software.release_jars import read_tarball
from tests.systems.test_software_store import write_tarball

READ = partial(read_tarball, "toy")


def release(folder: Path, version: str, content: bytes = b"one") -> Path:
    """An archive that `READ` takes."""
    folder.mkdir(exist_ok=True)
    return write_tarball(folder / f"toy-{version}.tgz", {f"toy-{version}/libs/a.jar": content})


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A user's cache that isn't there yet."""
    return tmp_path / "cache"


def test_what_is_added_is_copied_and_recorded(tmp_path: Path, cache: Path) -> None:
    """With version and sum; the operator's own file isn't needed any more."""
    file = release(tmp_path / "given", "1.0")
    record = add("toy", READ, file, cache)
    assert (record.system, record.version, record.sha256) == ("toy", "1.0", sha256_of(file))
    file.unlink()
    assert added(cache) == {"toy": record}
    assert READ(verified(record, cache)).digest == record.sha256


def test_nothing_is_added_in_an_empty_cache(cache: Path) -> None:
    """No record, no error, and nothing is written."""
    assert added(cache) == {}
    assert not cache.exists()


def test_the_last_one_that_was_added_counts(tmp_path: Path, cache: Path) -> None:
    """And the one before is gone, whatever it was called."""
    for version in ("1.0", "1.1"):
        add("toy", READ, release(tmp_path / "given", version), cache)
    assert added(cache)["toy"].version == "1.1"
    assert [path.name for path in (cache / "added" / "toy").iterdir()] == ["toy-1.1.tgz"]


def test_a_file_that_is_no_release_is_refused_and_changes_nothing(tmp_path: Path, cache: Path) -> None:
    """By the operator's own path; what was added before stays."""
    before = add("toy", READ, release(tmp_path / "given", "1.0"), cache)
    other = tmp_path / "notes.txt"
    other.write_text("not a tarball")
    with pytest.raises(InvalidInput, match=f"{other}: can't be read as a tarball of toy"):
        add("toy", READ, other, cache)
    with pytest.raises(InvalidInput, match="no such file"):
        add("toy", READ, tmp_path / "absent.tgz", cache)
    assert added(cache) == {"toy": before}
    assert [path.name for path in (cache / "added").iterdir() if path.name.startswith(".adding")] == []


def test_a_copy_that_differs_from_its_record_is_refused(tmp_path: Path, cache: Path) -> None:
    """With both sums, and the command that adds it again."""
    record = add("toy", READ, release(tmp_path / "given", "1.0"), cache)
    record.path(cache).write_bytes(b"cut short")
    with pytest.raises(InvalidInput, match=f"recorded {record.sha256}") as refusal:
        verified(record, cache)
    assert refusal.value.next_step == "Add it again: samebox software add toy --file FILE"


def test_a_record_without_its_archive_counts_as_nothing_added(tmp_path: Path, cache: Path) -> None:
    """The cache may be emptied by hand."""
    add("toy", READ, release(tmp_path / "given", "1.0"), cache).path(cache).unlink()
    assert added(cache) == {}


def test_a_record_of_another_schema_is_refused(tmp_path: Path, cache: Path) -> None:
    """Never half understood."""
    add("toy", READ, release(tmp_path / "given", "1.0"), cache)
    file = cache / "added" / "toy.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "schema": 9}))
    with pytest.raises(InvalidInput, match="schema"):
        added(cache)


def test_only_archives_of_the_systems_that_run_are_needed(tmp_path: Path, cache: Path) -> None:
    """One that was added for another system is left out; one that was typed never is."""
    kept = add("toy", READ, release(tmp_path / "given", "1.0"), cache).path(cache)
    typed = release(tmp_path / "typed", "2.0")
    assert is_added(kept, cache) and not is_added(typed, cache)
    assert needed({"toy": kept, "other": typed}, ["kafka"], cache) == {"other": typed}
    assert needed({"toy": kept}, ["toy"], cache) == {"toy": kept}
    kept.write_bytes(b"cut short")
    with pytest.raises(InvalidInput, match="isn't the archive that was added"):
        needed({"toy": kept}, ["toy"], cache)
