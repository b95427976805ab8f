"""The orchestrator killed in the middle of a campaign: `samebox resume` goes on from there, on the same testbed."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.results.folder import Results
from provisioning.document import read_document
from tests.campaign.command import samebox, start
from tests.campaign.killed import HEAD, stamps

pytestmark = pytest.mark.integration
FIRST, SECOND = "b01-1-kafka-l2-first", "b01-1-kafka-l2-second"
WORKLOAD = """
[[workloads]]
name = "{name}"
rate_per_s = 500
message_bytes = 1024
partitions = 3
warmup_s = 2
measure_s = 5
"""
CAMPAIGN = HEAD + "".join(WORKLOAD.format(name=name) for name in ("first", "second"))


def kill_when(home: Path, step: str) -> None:
    """Runs the campaign and kills it (SIGKILL) as soon as it is in `step`."""
    file = home / "killed.toml"
    file.write_text(CAMPAIGN)
    with start(home, "run", str(file), "--plain") as process:
        assert process.stderr is not None
        lines = iter(process.stderr.readline, "")
        seen = []
        for line in lines:
            seen.append(line)
            if step in line:
                break
        else:
            pytest.fail("".join(seen))
        process.kill()


def test_a_killed_campaign_is_resumed(home_with_testbed: Path) -> None:
    """The finished trial isn't touched, the broken one is repeated on a clean testbed, and the report has both and says so."""
    kill_when(home_with_testbed, f"{SECOND}: load")
    results = Results(home_with_testbed / "results" / "killed")
    assert results.finished() == (FIRST,)
    before = stamps(results)

    resumed = samebox(home_with_testbed, "resume", str(results.root), "--plain")
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    assert f"{FIRST}: load" not in resumed.stderr
    assert f"{SECOND}: reset" in resumed.stderr
    assert before.items() <= stamps(results).items()
    assert sorted(folder.name for folder in (results.root / "trials").iterdir()) == [FIRST, SECOND]
    assert "2 trials, all valid." in resumed.stderr
    [attempt] = read_document(results.trial_dir(SECOND) / "trial.json")["cut_off_attempts"]
    assert (attempt["step"], attempt["reason"]) == ("load", None)
    assert (
        "Attempts at trials that were cut off and repeated: 1, of them after their load had begun: 1."
        in results.report_file.read_text()
    )
