"""The worker as a real process: the conversation, the end of its input, stray output, and a load over real SSH."""

from __future__ import annotations

import dataclasses
import json
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from bench.load.collect import collect_records
from bench.load.load import Hooks, Limits, LoadSpec
from bench.load.worker_pool import run_load
from bench.worker.job import Job, job_of
from bench.worker.schedule import SECOND_NS, Schedule
from contract.workload import Workload
from provisioning.hosts.ssh import SshHost
from systems.client import ClientSpec
from systems.null_client import NullBroker

REPOSITORY = Path(__file__).resolve().parents[2]
ENVIRONMENT = {"PYTHONPATH": f"{REPOSITORY}:{Path(__file__).parent}", "PATH": "/usr/bin:/bin"}


@pytest.fixture
def null_broker() -> Iterator[NullBroker]:
    """A broker that stores nothing, on a port of its own."""
    broker = NullBroker()
    yield broker
    broker.close()


def job_at(service_url: str, folder: Path, **changes: Any) -> Job:
    """A producer of 100 messages a second for a minute."""
    workload = Workload(
        "w", 100, 64, 60.0, partitions=3, batch_delay_ms=1, batch_bytes=4096, in_flight=100, drain_s=5.0
    )
    client = ClientSpec("systems.null_client", service_url, "t", {}, workload, 10.0, 5.0)
    schedule = Schedule(100, 1, "constant", 0, 60 * SECOND_NS, seed=1)
    job = Job("producer-0", "producer", 0, None, 7, client, schedule, 30.0, None, str(folder))
    return dataclasses.replace(job, **changes)


@pytest.fixture
def start() -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Starts workers and ends those that a failed test has left."""
    started: list[subprocess.Popen[str]] = []

    def begin(job_line: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "bench.worker.main"], env=ENVIRONMENT, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        started.append(process)
        tell(process, job_line)
        return process

    yield begin
    for process in started:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            assert stream is not None
            stream.close()


@pytest.mark.parametrize(("module", "status"), [("systems.null_client", 0), ("systems.nobody", 1)])
def test_a_client_named_at_the_start_is_loaded_before_any_job(module: str, status: int) -> None:
    """One that isn't there is told at once, by name; without a job the end of input is the end."""
    command = [sys.executable, "-m", "bench.worker.main", module]
    done = subprocess.run(command, env=ENVIRONMENT, text=True, input="", capture_output=True, timeout=60)
    assert done.returncode == status
    assert (f"No module named '{module}'" in done.stderr) == (status == 1)


def tell(process: subprocess.Popen[str], line: str) -> None:
    """Gives a worker one line."""
    assert process.stdin is not None
    process.stdin.write(line + "\n")
    process.stdin.flush()


def next_event(process: subprocess.Popen[str], name: str) -> dict[str, Any]:
    """The next event of that name; all lines before it must be events, too."""
    assert process.stdout is not None
    for line in process.stdout:
        event: dict[str, Any] = json.loads(line)
        if event["event"] == name:
            return event
    raise AssertionError(f"its output ended without {name}")


def test_a_job_survives_its_line(tmp_path: Path) -> None:
    """What the driver wrote is what the worker reads."""
    job = job_at("127.0.0.1:1", tmp_path, subscription="s")
    assert job_of(job.to_line()) == job
    with pytest.raises(ValueError, match="not a job for this version"):
        job_of('{"worker": "producer-0"}')


@pytest.mark.parametrize("how", ["its input ends", "it is told"])
def test_an_abort_ends_the_process_and_keeps_its_rows(
    null_broker: NullBroker, tmp_path: Path, start: Callable[[str], subprocess.Popen[str]], how: str
) -> None:
    """Promptly, with the messages whose turn had come, exit status 0."""
    process = start(job_at(null_broker.service_url, tmp_path).to_line())
    ready = next_event(process, "ready")
    tell(process, json.dumps({"start_ns": ready["now_ns"] + 100_000_000}))
    while next_event(process, "progress")["acked"] < 50:
        pass
    assert process.stdin is not None
    if how == "it is told":
        tell(process, json.dumps({"abort": "enough"}))
    else:
        process.stdin.close()
    file = next_event(process, "file")
    assert next_event(process, "done")["acked"] <= file["rows"]
    assert process.wait(60) == 0
    rows = pq.read_table(tmp_path / file["name"]).to_pylist()
    assert [row["sequence"] for row in rows] == list(range(file["rows"]))
    assert 50 <= len(rows) < 6000


def test_input_that_ends_before_the_start_ends_the_process(
    null_broker: NullBroker, tmp_path: Path, start: Callable[[str], subprocess.Popen[str]]
) -> None:
    """An operator who is gone before the start leaves no worker waiting."""
    process = start(job_at(null_broker.service_url, tmp_path).to_line())
    next_event(process, "ready")
    assert process.communicate(timeout=60)[0].count('"done"') == 1
    assert process.returncode == 0


def test_what_a_library_prints_is_no_event_and_has_a_limit(
    null_broker: NullBroker, tmp_path: Path, start: Callable[[str], subprocess.Popen[str]]
) -> None:
    """A chatty client can neither break the conversation nor flood the operator; its beginning is evidence."""
    job = job_at(null_broker.service_url, tmp_path)
    chatty = dataclasses.replace(job, client=dataclasses.replace(job.client, module="chatty_client"))
    process = start(chatty.to_line())
    output, errors = process.communicate(timeout=60)
    assert [json.loads(line)["event"] for line in output.splitlines()] == ["failed"]
    assert "NO_CONNECTION" in output
    assert errors.startswith("connection already disconnected\n")
    assert len(errors) <= 70_000
    assert process.returncode == 1


def test_a_bad_job_is_said(start: Callable[[str], subprocess.Popen[str]]) -> None:
    """Neither a traceback nor silence."""
    process = start("hello")
    output, errors = process.communicate(timeout=60)
    assert json.loads(output)["event"] == "failed"
    assert "Traceback" not in errors
    assert process.returncode == 2


def test_an_unreachable_system_is_the_clients_failure(
    tmp_path: Path, start: Callable[[str], subprocess.Popen[str]]
) -> None:
    """What the client met is told apart from what went wrong in the worker."""
    process = start(job_at("127.0.0.1:1", tmp_path).to_line())
    failed = next_event(process, "failed")
    assert failed["cause"] == "client"
    assert "ConnectionRefusedError" in failed["error"]


@pytest.mark.integration
def test_a_load_over_ssh_keeps_every_row(hosts: dict[str, SshHost], null_broker: NullBroker, tmp_path: Path) -> None:
    """Real sshd, real processes, a broker that stores nothing: rows = schedule = receipts, and nothing stays on the host."""
    client = hosts["client-1"]
    workload = Workload(
        name="ssh", rate_per_s=1000, message_bytes=256, measure_s=2, warmup_s=1, producers=2, consumers=2, drain_s=5
    )
    spec = LoadSpec(
        workload, "systems.null_client", null_broker.service_url, {}, ("t",), seed=1, limits=Limits(lead_s=0.5)
    )
    python = f"env PYTHONPATH={REPOSITORY} {sys.executable} -P"
    result = run_load(spec, [client], {"client-1": python})
    assert result.abort is None
    assert result.produced_rows == result.consumed_rows == 3000
    assert [worker["state"] for worker in result.workers] == ["done"] * 4
    collect_records(result, [client], tmp_path)
    for kind in ("produced", "consumed"):
        assert pq.read_table(tmp_path / kind).num_rows == 3000
    left = client.run(f"ls {client.record.root}/load", check=False).stdout.split()
    assert result.directory.removeprefix("load/") not in left


@pytest.mark.integration
def test_an_interrupt_over_ssh_leaves_no_worker(hosts: dict[str, SshHost], null_broker: NullBroker) -> None:
    """Ctrl-C at the operator ends the processes on the host."""
    client = hosts["client-1"]
    workload = Workload(name="ssh", rate_per_s=100, message_bytes=256, measure_s=120)
    spec = LoadSpec(
        workload, "systems.null_client", null_broker.service_url, {}, ("t",), seed=1, limits=Limits(lead_s=0.5)
    )
    mark = f"mark={secrets.token_hex(8)}"

    def workers() -> list[str]:
        # bracketed, so that the shell that looks doesn't find itself
        return client.run(f"pgrep -f -- '-X [m]{mark[1:]}'", check=False).stdout.split()

    def interrupt(text: str) -> None:
        if "sent" in text:
            assert len(workers()) == 2
            raise KeyboardInterrupt

    python = f"env PYTHONPATH={REPOSITORY} {sys.executable} -P -X {mark}"
    with pytest.raises(KeyboardInterrupt):
        run_load(spec, [client], {"client-1": python}, Hooks(on_progress=interrupt))
    assert workers() == []
