"""The real command while a load worker is killed: exit code, what it prints, the next trial, and what stays behind."""

from __future__ import annotations

import json
import signal
import threading
import time
from pathlib import Path

import pytest

from provisioning.hosts.inventory import load_inventory
from tests.campaign.command import start
from tests.truth.campaigns import HEAD, WORKLOAD
from tests.truth.faults import processes_of, signal_all, worker_pids

pytestmark = [pytest.mark.integration, pytest.mark.truth, pytest.mark.timeout(1800)]
STEP_LIMIT_S = 900.0
FIRST, SECOND = "b01-1-kafka-l2-first", "b01-1-kafka-l2-second"


def kill_a_worker_of(inventory_file: Path) -> None:
    """Waits until the load has all its workers (a consumer, two producers), and kills the last."""
    deadline = time.monotonic() + STEP_LIMIT_S
    while time.monotonic() < deadline:
        (client,) = load_inventory(inventory_file).with_role("client")
        workers = worker_pids(Path(client.root))
        if len(workers) == 3:
            signal_all(workers[-1:], signal.SIGKILL)
            return
        time.sleep(0.2)


def test_a_killed_worker_as_a_user_sees_it(tmp_path: Path) -> None:
    """Exit 2, one line that says which trial ended why, one that says what is excluded; the next trial is valid; no process stays."""
    file = tmp_path / "faults.toml"
    workloads = [WORKLOAD.format(name=name, measure_s=10) for name in ("first", "second")]
    file.write_text(HEAD.format(system="kafka") + "".join(workloads))
    inventory_file = tmp_path / ".samebox" / "testbed" / "inventory.json"
    roots: list[Path] = []
    lines: list[str] = []
    with start(tmp_path, "campaign", "local", str(file), "--plain") as process:
        assert process.stderr is not None
        guard = threading.Timer(STEP_LIMIT_S, process.kill)
        guard.start()
        try:
            for line in process.stderr:
                lines.append(line)
                if f"{FIRST}: load" in line:
                    roots = [Path(host.root) for host in load_inventory(inventory_file).hosts]
                    kill_a_worker_of(inventory_file)
            status = process.wait()
        finally:
            guard.cancel()
            process.kill()
    said = "".join(lines)
    assert status == 2, said
    assert f"{FIRST} ended early (worker-died): producer-1: it was killed by a signal" in said
    assert f"excluded  {FIRST}: hosts-kept invalid" in said
    assert "Traceback" not in said
    results = tmp_path / "results" / "faults"
    trials = {name: json.loads((results / "trials" / name / "trial.json").read_text()) for name in (FIRST, SECOND)}
    assert (trials[FIRST]["abort"]["axis"], trials[FIRST]["abort"]["host"]) == ("validity", "client-1")
    assert trials[SECOND]["ended"] == "completed"
    checks = json.loads((results / "report" / "checks.json").read_text())
    invalid = {
        entry["trial"] for entry in checks if entry["axis"] == "validity" and entry["verdict"] not in ("valid", "warn")
    }
    assert invalid == {FIRST}
    assert roots
    assert {str(root): processes_of(root) for root in roots if processes_of(root)} == {}
