"""The proof of a durability level with real strace and a real sender, on a small broker that is honest or isn't."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from secrets import token_hex

import pytest

from bench.checkout import CHECKOUT
from bench.load.client_hosts import deploy_client
from bench.proof.judge import judge
from bench.proof.observe import Observed, read_traces, send_traced
from bench.worker.sender import SenderJob
from contract.workload import Workload
from provisioning.cache import user_cache
from provisioning.errors import HostsFailed
from provisioning.hosts.ssh import SshHost
from provisioning.hosts.strace import traced
from systems.client import ClientSpec
from systems.registry import DURABILITY
from tests.strace import needs_strace

pytestmark = [pytest.mark.integration, needs_strace]
MESSAGES = 120
BROKER = Path(__file__).with_name("storing_broker.py")


@pytest.fixture
def observed(hosts: dict[str, SshHost], tmp_path: Path) -> Callable[[str], Observed]:
    """What is seen of a broker of some mode, on broker-1."""
    client, broker = hosts["client-1"], hosts["broker-1"]
    python = deploy_client([client], user_cache(), print)[client.name]

    def of(mode: str) -> Observed:
        command = ["env", f"PYTHONPATH={CHECKOUT}", sys.executable, str(BROKER), str(tmp_path), mode]
        process = broker.spawn(f"exec {shlex.join(command)}")
        try:
            pid, service_url = next(process.lines()).split()
            workload = Workload("w", 1, 1024, 1.0, partitions=1, batch_delay_ms=0, batch_bytes=4096, in_flight=1)
            spec = ClientSpec("systems.null_client", service_url, "topic", {}, workload, 10.0, 10.0)
            job = SenderJob(spec, MESSAGES, token_hex(4))
            return read_traces(send_traced([(broker, int(pid))], client, python, job), tmp_path / "evidence")
        finally:
            process.close()

    return of


@pytest.mark.parametrize(
    ("mode", "level", "verdict"),
    [
        ("sync", "1", "proven"),
        ("sync", "2", "disproved"),
        ("sync-late", "1", "disproved"),
        ("elsewhere", "1", "disproved"),
        ("page-cache", "2", "proven"),
        ("page-cache", "1", "disproved"),
        ("memory", "2-bypass", "proven"),
        ("memory", "2", "disproved"),
    ],
)
def test_the_truth_comes_out(observed: Callable[[str], Observed], mode: str, level: str, verdict: str) -> None:
    """What the broker really does decides, whatever level it is said to be; how often it syncs decides nothing."""
    seen = observed(mode)
    found = judge(DURABILITY[level], seen.sent, seen.nodes, clock_bound_ns=seen.clock_bound_ns, replicas=1)
    assert found.verdict == verdict, found.sentence
    assert (found.acknowledged, found.unseen) == (MESSAGES, 0)
    if mode in ("sync-late", "elsewhere"):
        assert seen.nodes[0].syncs >= MESSAGES - 1, "as many syncs as messages, each too late or of another file"


def test_the_evidence_is_kept_and_the_host_is_left_clean(
    observed: Callable[[str], Observed], hosts: dict[str, SshHost], tmp_path: Path
) -> None:
    """The trace is on the operator's disk, and neither strace nor its output is left on the host."""
    observed("sync")
    assert (tmp_path / "evidence" / "broker-1.strace.gz").stat().st_size > 1_000
    root = hosts["broker-1"].record.root
    assert hosts["broker-1"].run(f"ls {root}/strace").stdout == ""
    assert hosts["broker-1"].run(f"pgrep -fx 'strace .*{root}/strace/.*' | wc -l").stdout.strip() == "0"


def test_a_process_that_is_gone_is_named_by_its_host(hosts: dict[str, SshHost]) -> None:
    """Nothing to attach to: an error with strace's own words, and no process left behind."""
    gone = int(hosts["broker-1"].run("sh -c 'echo $$'").stdout)
    with (
        pytest.raises(HostsFailed, match=r"broker-1: can't be traced: .*No such process"),
        traced([(hosts["broker-1"], gone)], ["fsync"], "gone.strace"),
    ):
        pass
