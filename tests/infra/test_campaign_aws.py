"""`samebox rehearse` as a newcomer types it: `campaign aws` from nothing to a report to nothing, with the real engine, hosts that are
hosts, EMR steps that run. One disk is slow, and vetting has its host replaced."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.checkout import CHECKOUT
from bench.results.folder import Results
from provisioning.testbeds.aws.rehearsal.cloud.moto_patches import PATCHES_VARIABLE
from tests.cloud.faults import PATCHES
from tests.cloud.slow_disk import SLOW_HOST, only_first_is_slow

pytestmark = [
    pytest.mark.integration,
    pytest.mark.infra,
    pytest.mark.timeout(2400),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can stand up hosts with disks of their own"),
]
TIMEOUT_S = 2300


def test_from_nothing_to_a_report_to_nothing(tmp_path: Path) -> None:
    """Cost, hosts, one rejected and replaced through Pulumi, the campaign on the rest, the report from EMR, nothing left."""
    home = tmp_path / "home"
    rehearsals = home / ".samebox" / "rehearsal"
    command = [str(Path(sys.executable).with_name("samebox")), "rehearse", "campaigns/smoke.toml", "--plain"]
    environment = {**os.environ, "SAMEBOX_HOME": str(home), "COLUMNS": "200", PATCHES_VARIABLE: PATCHES}
    with only_first_is_slow(rehearsals / "cloud") as slow:
        ran = subprocess.run(
            command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-8000:]

    assert "$" in ran.stdout
    results = Results(rehearsals / "results" / "smoke")
    manifest = results.manifest()
    assert manifest["testbed"]["testbed"]["kind"] == "rehearsal"
    _one_was_replaced(manifest, slow)
    assert len(results.finished()) == 2
    # the clients have sent them to the bucket
    assert not [*results.root.glob("trials/*/produced/*.parquet"), *results.root.glob("trials/*/consumed/*.parquet")]
    assert "A rehearsal: AWS was played by one machine" in results.report_file.read_text()
    checks = json.loads(results.checks_file.read_text())
    assert {check["verdict"] for check in checks if check["check"] == "no-loss"} == {"met"}

    # what the cloud itself holds in the end, whatever the stack or a tag says
    assert ran.stderr.count("Left on the simulated AWS: bucket samebox-smoke-") == 1
    assert "not on purpose" not in ran.stderr
    assert not [*(rehearsals / "cloud").glob("hosts/*")]


def _one_was_replaced(manifest: dict[str, Any], slow: set[str]) -> None:
    """Exactly the slow machine was rejected, and another one by its name took part."""
    [rejected] = manifest["vetting"]["rejected"]
    assert (rejected["host"], {rejected["instance_id"]}, rejected["generation"]) == (SLOW_HOST, slow, 1)
    hosts = {host["name"]: host for host in manifest["testbed"]["hosts"]}
    assert {name: host["generation"] for name, host in hosts.items() if host["generation"] != 1} == {SLOW_HOST: 2}
    assert hosts[SLOW_HOST]["instance_id"] not in slow
