"""A bundle is verified by the real report job, started as users start it; one figure that is edited is told."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.checkout import CHECKOUT
from bench.results.folder import Results
from tests.bundle.honest import honest_results
from tests.bundle.sealing import files_of, pack, sealed

pytestmark = pytest.mark.integration


def _samebox(*words: object) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("samebox")), *map(str, words)]
    return subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, timeout=400)


def test_a_real_report_is_recomputed_to_the_last_byte(tmp_path: Path) -> None:
    """In a fresh process, of results that lay elsewhere; then with one digit of one figure changed, and all sums made anew."""
    results, bundle = honest_results(tmp_path / "results" / "demo"), tmp_path / "demo.samebox"
    assert _samebox("report", results, "--plain").returncode in (0, 2)
    made = _samebox("bundle", results, "-o", bundle)
    assert made.returncode == 0, made.stderr
    results.rename(tmp_path / "gone")
    done = _samebox("verify", bundle)
    assert done.returncode == 0, done.stdout + done.stderr
    files = files_of(bundle)
    report: dict[str, Any] = json.loads(files["report/report.json"])
    report["summary"][3]["value"] += 0.000001
    files["report/report.json"] = (json.dumps(report, indent=1) + "\n").encode()
    pack(sealed(files), bundle)
    told = _samebox("verify", bundle)
    assert told.returncode == 2, told.stdout
    row = report["summary"][3]
    assert f"{row['trial']} " in told.stdout
    assert "differs    report/report.json: summary[" in told.stdout
    assert "DIFFERS in 1 thing." in told.stdout
    assert Results(tmp_path / "gone").finished()
