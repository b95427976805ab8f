"""A campaign that runs by itself on a testbed host is killed in the middle, and goes on: real brokers, real sshd, real report."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest

from bench.results.folder import Results
from tests.campaign.command import samebox
from tests.orchestrator.traces import folders, keys, processes, roots, write_campaign

pytestmark = [pytest.mark.integration, pytest.mark.truth, pytest.mark.timeout(1800)]
FIRST, SECOND = "b01-1-kafka-l2-steady", "b02-1-kafka-l2-steady"
STEP_TIMEOUT_S = 900.0


def progress(home: Path) -> str:
    """The step's title, read from the host's own disk."""
    (folder,) = folders(home)
    file = folder / "progress.json"
    return str(json.loads(file.read_text())["title"]) if file.exists() else ""


def kill_when(home: Path, step: str) -> None:
    """SIGKILL for the campaign's process as soon as it is in `step`."""
    deadline = time.monotonic() + STEP_TIMEOUT_S
    while progress(home) != step:
        assert time.monotonic() < deadline, progress(home)
        assert processes(home), (folders(home)[0] / "log").read_text()
        time.sleep(0.2)
    os.kill(int((folders(home)[0] / "run" / "campaign.pid").read_text().splitlines()[0]), signal.SIGKILL)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with a testbed up, for the command's state and results."""
    up = samebox(tmp_path, "up")
    assert up.returncode == 0, up.stderr
    return tmp_path


def test_a_detached_campaign_survives_its_operator_and_its_own_death(home: Path) -> None:
    """Left alone it finishes a trial; killed, it is started again from anywhere, and the finished trial stays as it was."""
    try:
        ran = samebox(home, "run", str(write_campaign(home, "kafka")), "--detach", "--plain")
        assert ran.returncode == 0, ran.stdout + ran.stderr
        kill_when(home, f"{SECOND}: load")
        (there,) = [folder / "results" / "tiny" / "trials" / FIRST / "trial.json" for folder in folders(home)]
        first = there.read_bytes()
        assert "has died without an error" in samebox(home, "status").stdout

        resumed = samebox(home, "resume", str(home / "results" / "tiny"), "--plain")
        assert resumed.returncode == 0, resumed.stdout + resumed.stderr
        assert "restarted; finished trials are kept" in resumed.stderr
        assert f"{FIRST}: load" not in resumed.stderr
        assert f"{SECOND}: reset" in resumed.stderr
        assert "2 trials, all valid." in resumed.stderr

        results = Results(home / "results" / "tiny")
        assert results.finished() == (FIRST, SECOND)
        assert (results.trial_dir(FIRST) / "trial.json").read_bytes() == first
        assert results.report_file.stat().st_size > 0
        manifest = results.manifest()
        assert manifest["repeat"][0].endswith("tiny.toml --detach")
        assert len(manifest["git"]["commit"]) == 40
        assert len(manifest["testbed"]["hosts"]) == len(roots(home))
        assert (folders(home), keys(home), processes(home)) == ([], [], [])
    finally:
        assert samebox(home, "down").returncode == 0
