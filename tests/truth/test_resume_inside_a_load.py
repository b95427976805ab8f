"""The orchestrator interrupted inside a search, then killed inside the reading of a backlog: `samebox resume` goes on each time."""

from __future__ import annotations

import os
import re
import signal
import threading
from pathlib import Path

import pytest

from bench.results.folder import Results
from provisioning.document import read_document
from tests.campaign.command import samebox, start
from tests.campaign.killed import HEAD, stamps

pytestmark = [pytest.mark.integration, pytest.mark.truth, pytest.mark.timeout(1800)]
STEP_LIMIT_S = 900.0
SEARCH, BACKLOG, LAST = "b01-1-kafka-l2-search", "b01-1-kafka-l2-backlog", "b01-1-kafka-l2-last"
CAMPAIGN = f"""{HEAD}
[[workloads]]
name = "search"
pacing = "search"
rate_per_s = 4000
expected_rate_per_s = 500
message_bytes = 1024
partitions = 3
producers = 1
consumers = 1
warmup_s = 2
measure_s = 10

[[workloads]]
name = "backlog"
rate_per_s = 2000
message_bytes = 1024
partitions = 3
producers = 1
consumers = 0
warmup_s = 2
measure_s = 5
[workloads.backlog]
size_bytes = 20_000_000
catch_up_s = 60

[[workloads]]
name = "last"
rate_per_s = 500
message_bytes = 1024
partitions = 3
warmup_s = 2
measure_s = 5
"""
# what the line beside the bar says; nobody reads before the backlog is built
IN_SEARCH = r"search: step at"
IN_BACKLOG = r"-backlog: load: .* acknowledged, [1-9][0-9,]* received"


def end_at(home: Path, pattern: str, number: signal.Signals, *arguments: str) -> str:
    """Runs the command as on a terminal and signals it as soon as it says that; all that it said."""
    said = ""
    with start(home, *arguments, FORCE_COLOR="1", COLUMNS="300") as process:
        assert process.stderr is not None
        guard = threading.Timer(STEP_LIMIT_S, process.kill)
        guard.start()
        try:
            while re.search(pattern, said) is None:
                piece = os.read(process.stderr.fileno(), 65_536).decode(errors="replace")
                assert piece, said
                said += piece
            process.send_signal(number)
            while piece := os.read(process.stderr.fileno(), 65_536).decode(errors="replace"):
                said += piece
        finally:
            guard.cancel()
            process.kill()
    return said


def test_a_campaign_cut_off_inside_its_loads(tmp_path: Path) -> None:
    """Each trial is finished once, in the planned order, and all are valid; what was cut off is gone, and told of."""
    file = tmp_path / "killed.toml"
    file.write_text(CAMPAIGN)
    results = Results(tmp_path / "results" / "killed")
    up = samebox(tmp_path, "up")
    assert up.returncode == 0, up.stderr
    try:
        interrupted = end_at(tmp_path, IN_SEARCH, signal.SIGINT, "run", str(file))
        assert results.finished() == ()
        end_at(tmp_path, IN_BACKLOG, signal.SIGKILL, "resume", str(results.root))
        assert results.finished() == (SEARCH,)
        before = stamps(results)
        resumed = samebox(tmp_path, "resume", str(results.root), "--plain")
        samebox(tmp_path, "down")
        samebox(tmp_path, "up")
        elsewhere = samebox(tmp_path, "resume", str(results.root), "--plain")
    finally:
        assert samebox(tmp_path, "down").returncode == 0
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    assert "3 trials, all valid." in resumed.stderr
    assert set(results.finished()) == {SEARCH, BACKLOG, LAST}
    assert before.items() <= stamps(results).items()
    assert [entry["trial"] for entry in results.manifest()["order"]] == [SEARCH, BACKLOG, LAST]
    assert sorted(folder.name for folder in (results.root / "trials").iterdir()) == sorted([SEARCH, BACKLOG, LAST])
    documents = {trial: read_document(results.trial_dir(trial) / "trial.json") for trial in results.finished()}
    keys = ("step", "reason")
    cut_off = {
        name: [[each[key] for key in keys] for each in found["cut_off_attempts"]] for name, found in documents.items()
    }
    assert cut_off == {SEARCH: [["load", "interrupted by Ctrl-C or a signal"]], BACKLOG: [["load", None]], LAST: []}
    assert "0 of 3 trials are finished. Next: samebox resume " in interrupted
    assert elsewhere.returncode == 1
    assert "began on other hosts" in elsewhere.stderr
    assert "vetting" not in elsewhere.stderr, "refused before anything is started"
