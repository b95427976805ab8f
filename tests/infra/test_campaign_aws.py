"""`samebox campaign aws` as an operator types it, from nothing to a report to nothing: the real engine, hosts that are hosts, EMR
steps that run. One disk is slow, and vetting has its host replaced."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.checkout import CHECKOUT
from bench.results import Results
from provisioning.aws.rehearsal.cloud.local_cloud import Cloud, Faults
from tests.infra.project import NewProject, Project
from tests.infra.things import buckets, instances

pytestmark = [
    pytest.mark.integration,
    pytest.mark.infra,
    pytest.mark.timeout(2400),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can stand up hosts with disks of their own"),
]
TIMEOUT_S = 2300
SLOW_HOST, SLOW_BYTES_PER_S = "broker-2", 6_000_000

# what an AWS host keeps and five hosts on one shared machine don't
WIDE = """
[checks.send-delay]
p99_ms = 5000
[checks.steal]
share = 1.0
[checks.client-cpu]
share_of_core = 8.0
share_of_host = 1.0
[checks.foreign-load]
cores = 64
[checks.cpu-pressure]
waiting_share = 1.0
tasks_per_cpu = 1000
[checks.network-allowance]
uncounted_machines = 5
"""

# the kit's rules; probes are small, and only a disk that is many times slower than its neighbours is rejected
CHANGES = {
    'profile = "report-2020"': 'profile = "small"',
    'profile = "medium"': 'profile = "small"',
    "throughput_bytes = 67_108_864": "throughput_bytes = 16_777_216",
    '[instances."i3en.large"]\n': '[instances."i3en.large"]\nwrite_bytes_per_s = 20_000_000\nsource = "any disk of today"\n',
    "between = 0.05": "between = 0.7",
    "reject_variation = 0.15": "reject_variation = 100.0",
    "reject_stalls_per_min = 6.0": "reject_stalls_per_min = 10_000.0",
    "reject_max_ms = 1000.0": "reject_max_ms = 10_000.0",
    "reject_p99_ms = 10.0": "reject_p99_ms = 100.0",
    "warn_busy_share = 0.20": "warn_busy_share = 1.0",
}


@pytest.fixture
def campaign_file(tmp_path: Path) -> Path:
    """The committed smoke campaign, with bounds for hosts that share one machine."""
    file = tmp_path / "smoke.toml"
    text = (CHECKOUT / "campaigns" / "smoke.toml").read_text()
    head, workloads, rest = text.partition("[[workloads]]")
    file.write_text(f"{head}{WIDE}\n{workloads}{rest}")
    return file


@pytest.fixture
def thresholds_file(tmp_path: Path) -> Path:
    """The kit's thresholds but for CHANGES."""
    text = (CHECKOUT / "provisioning" / "thresholds.toml").read_text()
    for kit, ours in CHANGES.items():
        assert kit in text, kit
        text = text.replace(kit, ours)
    file = tmp_path / "thresholds.toml"
    file.write_text(text)
    return file


def samebox(project: Project, home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command in the project's folder, its state and results in `home`."""
    command = [str(Path(sys.executable).with_name("samebox")), *arguments]
    environment = {**project.environment, "SAMEBOX_HOME": str(home), "COLUMNS": "200"}
    return subprocess.run(
        command, cwd=project.folder, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )


def test_from_nothing_to_a_report_to_nothing(
    new_project: NewProject, campaign_file: Path, thresholds_file: Path, tmp_path: Path
) -> None:
    """Cost, hosts, one rejected and replaced through Pulumi, the campaign on the rest, the report from EMR, nothing left."""
    project = new_project("smoke", hosts=True)
    home = tmp_path / "home"
    options = ["--stack", "smoke", "--yes", "--plain", "--thresholds", str(thresholds_file)]
    with only_first_is_slow(project.cloud) as slow:
        ran = samebox(project, home, "campaign", "aws", str(campaign_file), *options)
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-8000:]

    assert "$" in ran.stdout
    results = Results(home / "results" / "smoke")
    manifest = results.manifest()
    assert manifest["testbed"]["testbed"]["kind"] == "aws"
    _one_was_replaced(manifest, slow)
    assert len(results.finished()) == 2
    # the clients have sent them to the bucket
    assert not [*results.root.glob("trials/*/produced/*.parquet"), *results.root.glob("trials/*/consumed/*.parquet")]
    assert results.report_file.stat().st_size > 10_000
    checks = json.loads(results.checks_file.read_text())
    assert {check["verdict"] for check in checks if check["check"] == "no-loss"} == {"met"}

    assert instances(project.cloud) == {}
    assert len(buckets(project.cloud)) == 1
    swept = samebox(project, home, "sweep", "--json")
    found = json.loads(swept.stdout)
    assert (swept.returncode, found["left"], len(found["kept"])) == (0, [], 1)


@contextlib.contextmanager
def only_first_is_slow(cloud: Cloud) -> Iterator[set[str]]:
    """The first machine called SLOW_HOST has a slow disk, its successors don't. Yields a set that will hold the first one's id."""
    slow: set[str] = set()
    ended = threading.Event()
    cloud.inject(Faults(disk_bytes_per_s={SLOW_HOST: SLOW_BYTES_PER_S}))

    def watch() -> None:
        while not ended.wait(0.1) and not slow:
            made = {each for each, tags in instances(cloud).items() if tags.get("host") == SLOW_HOST}
            # its console is there once it has been told how fast its disk is
            if any((cloud.state_dir / "hosts" / each / "console.log").exists() for each in made):
                cloud.inject(Faults())
                slow.update(made)

    watching = threading.Thread(target=watch, name="only-first-is-slow")
    watching.start()
    try:
        yield slow
    finally:
        ended.set()
        watching.join()


def _one_was_replaced(manifest: dict[str, Any], slow: set[str]) -> None:
    """Exactly the slow machine was rejected, and another one by its name took part."""
    [rejected] = manifest["vetting"]["rejected"]
    assert (rejected["host"], {rejected["instance_id"]}, rejected["generation"]) == (SLOW_HOST, slow, 1)
    hosts = {host["name"]: host for host in manifest["testbed"]["hosts"]}
    assert {name: host["generation"] for name, host in hosts.items() if host["generation"] != 1} == {SLOW_HOST: 2}
    assert hosts[SLOW_HOST]["instance_id"] not in slow
