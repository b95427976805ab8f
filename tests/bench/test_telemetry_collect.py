"""Telemetry of a testbed: who samples what, and how samples become records."""

from __future__ import annotations

import json
import os
import statistics
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from bench.telemetry.collect import HOSTS_SCHEMA, Telemetry, to_table
from provisioning.errors import HostError, HostsFailed
from provisioning.hosts.host import ScriptedHost
from provisioning.hosts.inventory import DataDir, HostRecord, SshAddress
from provisioning.hosts.ssh import SshHost

MACHINE_METRICS = {
    "cpu_user_s", "cpu_system_s", "cpu_iowait_s", "cpu_steal_s", "cpu_idle_s", "cpus", "run_queue",
    "dirty_bytes", "writeback_bytes", "cached_bytes", "available_bytes", "net_received_bytes", "net_sent_bytes",
}  # fmt: skip
MAY_BE_ABSENT = {
    "psi_cpu_some_s", "psi_io_some_s", "psi_io_full_s", "psi_memory_some_s",
    "disk_read_bytes", "disk_written_bytes", "disk_reads", "disk_writes", "disk_busy_s",
}  # fmt: skip


def scripted(name: str, device: str) -> ScriptedHost:
    """A host with one data directory; it refuses to start a process."""
    ssh = SshAddress("127.0.0.1", 22, "operator", "ssh-ed25519 AAAA")
    data = DataDir(f"/{name}/data", device, "/", owned=False)
    return ScriptedHost(HostRecord(name, "broker", ssh, "127.0.0.1", f"/{name}", (data,), "", "", 1))


def test_samples_become_rows(tmp_path: Path) -> None:
    """One row per sample and metric; an unfinished last line is what a killed sampler leaves."""
    samples = tmp_path / "samples.jsonl"
    whole = {"time_ns": 7, "sources": {"machine": {"cpus": 2, "cpu_idle_s": 1.5}, "broker": {"rss_bytes": 4096}}}
    samples.write_text(json.dumps(whole) + '\n{"time_ns": 8, "sour')
    table = to_table("broker-1", samples)
    assert table.schema.equals(HOSTS_SCHEMA, check_metadata=True)
    assert [tuple(row.values()) for row in table.to_pylist()] == [
        (7, "broker-1", "machine", "cpus", "gauge", 2.0),
        (7, "broker-1", "machine", "cpu_idle_s", "counter", 1.5),
        (7, "broker-1", "broker", "rss_bytes", "gauge", 4096.0),
    ]


def test_a_broken_line_is_told_with_its_number(tmp_path: Path) -> None:
    """Samples aren't dropped in silence."""
    samples = tmp_path / "samples.jsonl"
    samples.write_text('{"time_ns": 7, "sources": {}}\nnonsense\n')
    with pytest.raises(HostError, match="broker-1: line 2 of its telemetry"):
        to_table("broker-1", samples)


def test_the_machine_is_sampled_once_with_the_disks_of_all_its_hosts() -> None:
    """Two hosts on one machine: the first samples it, over both their disks; the third is another machine."""
    first, second, third = (
        scripted("broker-1", "/dev/a"),
        scripted("broker-2", "/dev/b"),
        scripted("broker-3", "/dev/a"),
    )
    telemetry = Telemetry([first, second, third], {"broker-1": "one", "broker-2": "one", "broker-3": "two"})
    commands = {}
    for host in (first, second, third):
        with pytest.raises(AssertionError) as caught:
            telemetry._start_on(host)
        commands[host.name] = str(caught.value)
    assert commands["broker-1"].endswith("--machine --disk /dev/a /broker-1/data --disk /dev/b /broker-2/data")
    assert "--machine" not in commands["broker-2"]
    assert commands["broker-3"].endswith("--machine --disk /dev/a /broker-3/data")


@pytest.mark.integration
def test_three_seconds_on_the_real_testbed(hosts: dict[str, SshHost], tmp_path: Path) -> None:
    """Samples once a second, the machine under one host only, a daemon while it runs; nothing stays behind."""
    started_ns = time.time_ns()
    boot_ids = {name: host.run("cat /proc/sys/kernel/random/boot_id").stdout.strip() for name, host in hosts.items()}
    broker = hosts["broker-2"]
    ticks = Path(f"/proc/{os.getpid()}/stat").read_text().rpartition(")")[2].split()[19]
    broker.put(f"{os.getpid()}\n{ticks}\n/dev/null\n0\n".encode(), f"{broker.record.root}/run/pytest.pid")
    telemetry = Telemetry(list(hosts.values()), boot_ids)
    telemetry.start()
    time.sleep(3.2)
    telemetry.stop()
    broker.run(f"rm {broker.record.root}/run/pytest.pid")
    rows = telemetry.write(tmp_path / "hosts")

    files = sorted((tmp_path / "hosts").iterdir())
    assert [file.name for file in files] == [f"{name}.parquet" for name in sorted(hosts)]
    tables = [pq.read_table(file) for file in files]
    assert all(table.schema.equals(HOSTS_SCHEMA, check_metadata=True) for table in tables)
    found = [row for table in tables for row in table.to_pylist()]
    assert len(found) == rows > 0
    first_of_machine = next(iter(hosts))
    machine = [row for row in found if row["source"] == "machine"]
    assert {row["host"] for row in machine} == {first_of_machine}
    assert {row["metric"] for row in machine} - MAY_BE_ABSENT == MACHINE_METRICS
    times = sorted({row["time_ns"] for row in machine})
    assert 3 <= len(times) <= 5 and started_ns < times[0] and times[-1] < time.time_ns() + 10**9
    assert statistics.median(b - a for a, b in pairwise(times)) == pytest.approx(1e9, rel=0.2)
    daemon = Counter(row["metric"] for row in found if row["host"] == "broker-2" and row["source"] == "pytest")
    assert daemon.keys() == {"rss_bytes", "cpu_s", "cpu_user_s", "threads"} and min(daemon.values()) >= 3
    left = broker.run("ps -eo args").stdout
    assert f"--root {broker.record.root} " not in left


@pytest.mark.integration
def test_a_sampler_that_cannot_start_is_told_by_host(hosts: dict[str, SshHost]) -> None:
    """The error carries what the host said; the samplers of the other hosts are ended."""
    broken, sound = hosts["broker-1"], hosts["broker-2"]
    samples = f"{broken.record.root}/telemetry/samples.jsonl"
    broken.run(f"rm -rf {samples} && mkdir -p {samples}")
    try:
        telemetry = Telemetry([broken, sound], {"broker-1": "one", "broker-2": "two"})
        with pytest.raises(HostsFailed, match="IsADirectoryError") as caught:
            telemetry.start()
    finally:
        broken.run(f"rmdir {samples}")
    assert list(caught.value.errors) == ["broker-1"]
    assert f"--root {sound.record.root} " not in sound.run("ps -eo args").stdout


@pytest.mark.integration
def test_a_sampler_that_was_killed_is_told_and_its_samples_kept(hosts: dict[str, SshHost], tmp_path: Path) -> None:
    """Missing telemetry is an error at the stop; what was sampled before is still written."""
    host = hosts["broker-3"]
    telemetry = Telemetry([host], {"broker-3": "one"})
    telemetry.start()
    host.run(
        f"ps -eo pid,args | awk '/sampler.sampler/ && index($0, \"{host.record.root}/\") && !/awk/ {{print $1}}' | xargs kill -9",
        check=False,
    )
    with pytest.raises(HostsFailed, match="broker-3"):
        telemetry.stop()
    assert telemetry.write(tmp_path) > 0
