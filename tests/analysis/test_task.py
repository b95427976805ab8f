"""What a worker does around its work on one task."""

from __future__ import annotations

import importlib
import sys
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from analysis.records.scan import in_task

BATCH = pa.RecordBatch.from_pydict({"path": ["a"]})


def test_archives_are_not_read_again_before_each_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are no longer among the importers in use, and modules are imported from them all the same."""
    archive = tmp_path / "archive.zip"
    with zipfile.ZipFile(archive, "w") as written:
        written.writestr("samebox_test_one.py", "VALUE = 1")
        written.writestr("samebox_test_two.py", "VALUE = 2")
    monkeypatch.syspath_prepend(str(archive))
    assert importlib.import_module("samebox_test_one").VALUE == 1
    assert str(archive) in sys.path_importer_cache

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        assert str(archive) not in sys.path_importer_cache
        yield from batches

    assert list(in_task(work, [BATCH])) == [BATCH]
    assert importlib.import_module("samebox_test_two").VALUE == 2
    for name in ("samebox_test_one", "samebox_test_two"):
        del sys.modules[name]
