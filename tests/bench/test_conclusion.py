"""How a campaign that has come to its end is told, and the exit code."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.cli.conclusion import conclude
from bench.report.here import Verdicts
from bench.results.folder import Results


@pytest.mark.parametrize(
    ("excluded", "not_met", "code", "words"),
    [
        ((), (), 0, "0 trials, all valid."),
        ((), ("b01: no-loss: 3 lost",), 0, "not met   b01: no-loss: 3 lost"),
        (("b01: clock invalid: too far apart",), (), 2, "NOT all valid"),
    ],
)
def test_only_an_unsound_trial_is_exit_2(
    excluded: tuple[str, ...],
    not_met: tuple[str, ...],
    code: int,
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What a system failed to do is a result; a measurement that isn't sound is none."""
    verdicts = Verdicts(excluded=excluded, not_met=not_met)
    assert conclude(Results(tmp_path), verdicts) == code
    assert words in capsys.readouterr().err
