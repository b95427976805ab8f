"""A campaign left to the local testbed and given up: one at a time, and afterwards nothing of it is there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.campaign.command import samebox
from tests.orchestrator.traces import folders, keys, processes, write_campaign

pytestmark = pytest.mark.integration


def test_given_up_it_leaves_nothing(home_with_testbed: Path, tmp_path: Path) -> None:
    """Started, seen by status, in nobody's way twice, ended: no process, no key, no folder; the testbed is free again."""
    home, file = home_with_testbed, write_campaign(tmp_path, "kafka")
    ran = samebox(home, "run", str(file), "--detach", "--plain")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "runs detached on client-1" in ran.stderr
    assert (len(folders(home)), len(keys(home)), len(processes(home))) == (1, 4, 1)
    assert not (home / "results").exists()

    detached = json.loads(samebox(home, "status", "--json").stdout)["detached"]
    assert (detached["phase"], detached["campaign"]) == ("running", "tiny")
    for taken in (("run", str(file)), ("run", str(file), "--detach"), ("vet",)):
        refused = samebox(home, *taken)
        assert refused.returncode == 1
        assert "the testbed is taken. campaign tiny, started by" in refused.stderr
    other = samebox(home, "resume", str(home / "results" / "other"), "--no-report")
    assert other.returncode == 1
    assert "campaign tiny" in other.stderr

    given_up = samebox(home, "abandon")
    assert given_up.returncode == 0, given_up.stdout + given_up.stderr
    assert (folders(home), keys(home), processes(home)) == ([], [], [])
    assert json.loads(samebox(home, "status", "--json").stdout)["detached"] is None
    assert "No detached campaign is there" in samebox(home, "abandon").stderr
