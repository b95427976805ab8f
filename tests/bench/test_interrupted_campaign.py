"""What an interrupted `samebox run` says: how to go on, as it is to be typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.cli.conclusion import says_how_to_go_on
from bench.cli.target import Target
from bench.cli.terminal import shown
from bench.progress import PlainReporter
from bench.results.folder import Results


def interrupted(results: Results, target: Target, tarballs: dict[str, Path]) -> list[str]:
    """The lines of a run that is interrupted at once."""
    lines: list[str] = []
    with pytest.raises(KeyboardInterrupt), says_how_to_go_on(results, target, tarballs, PlainReporter(lines.append)):
        raise KeyboardInterrupt
    return [line.strip() for line in lines]


def test_a_campaign_that_has_begun_can_be_resumed(tmp_path: Path) -> None:
    """With what is finished, and the options that it was run with; before it has begun it is typed once more."""
    results, target = Results(tmp_path / "demo"), Target(stack_name="night")
    assert interrupted(results, target, {}) == [
        "Nothing is recorded yet, so there is nothing to resume. Next: run the same command again"
    ]
    campaign_file = tmp_path / "demo.toml"
    campaign_file.write_text("schema = 1\n")
    results.begin({"schema": 1, "order": [{"trial": "one"}, {"trial": "two"}]}, {}, campaign_file)
    results.begin_trial("one")
    results.finish_trial("one", {"schema": 1})
    command = f"samebox resume {shown(results.root)} --stack night --software kafka={shown(tmp_path / 'kafka.tgz')}"
    assert interrupted(results, target, {"kafka": tmp_path / "kafka.tgz"}) == [
        f"1 of 2 trials are finished. Next: {command}"
    ]
