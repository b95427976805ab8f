"""Progress as files: the step under way, the steps that won't happen, the time left."""

from __future__ import annotations

import json
from pathlib import Path

from bench.orchestrator.process import ProgressFile
from bench.progress import PlainReporter, Step


def test_the_file_is_at_the_current_step(tmp_path: Path) -> None:
    """Each step is a line of the log and the content of the file."""
    file, lines = tmp_path / "progress.json", list[str]()
    journal = PlainReporter(lines.append, ProgressFile(file).watch)
    journal.plan([Step("one", 10.0), Step("two", 20.0), Step("three", 30.0)])
    journal.step("one")
    journal.skip(1)
    journal.step("three")
    progress = json.loads(file.read_text())
    assert (progress["step"], progress["of"], progress["title"]) == (2, 2, "three")
    assert 0 < progress["left_s"] <= 30.0
    assert len(lines) == 2
    assert "[2/2] three" in lines[1]
