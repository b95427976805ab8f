"""A load by a system's own tools: started, followed, ended, read. On real processes of this machine, with a java that is a script."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.load.abort import Abort
from bench.load.load import Hooks
from bench.load.native import Limits, NativeTools
from contract.workload import Workload
from provisioning.hosts import daemons
from provisioning.hosts.host import Host
from systems.deployment import Endpoints
from systems.kafka.load_tool import ProducerPerformance
from systems.load_tool import NativeTool
from systems.pulsar.load_tool import PulsarPerf
from tests.orchestrator.folder_host import FolderHost, folder_host
from tests.systems.native_output import KAFKA_CONSUMED, KAFKA_PRODUCED, PULSAR_CONSUMED, PULSAR_PRODUCED

WORKLOAD = Workload("steady", rate_per_s=500, message_bytes=100, measure_s=1, warmup_s=0.5, drain_s=1, consumers=1)
ENDPOINTS = Endpoints("broker:1", {})
LIMITS = Limits(lead_s=0.2, beyond_s=8, poll_s=0.1, ending_s=5)
JAVA = """#!/bin/sh
# by its arguments: the class that is asked for has a script of its own
for word in "$@"; do
  test -x "{folder}/$word" && exec "{folder}/$word"
done
echo "no such class among these"; exit 1
"""
SAYS = "#!/bin/sh\nsleep 0.3\ncat <<'END'\n{text}END\n"
SAYS_WHEN_TOLD = """#!/bin/bash
trap 'echo "$text"; exit 0' TERM
text=$(cat <<'END'
{text}END
)
while true; do sleep 0.1; done
"""
HANGS = "#!/bin/sh\necho here I stay\nexec sleep 60\n"
KAFKA = "org.apache.kafka.tools."


class _Store:
    """A store whose bundles are on every host already."""

    def deploy(self, name: str, hosts: Sequence[Host]) -> str:
        del hosts
        return f"software/{name}"

    def version(self, name: str) -> str:
        return name


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, str]], None]:
    """Puts a java on the PATH that runs these scripts: word of the command line -> script."""
    folder = tmp_path / "bin"
    folder.mkdir()

    def install(scripts: dict[str, str]) -> None:
        for name, text in {"java": JAVA.format(folder=folder), **scripts}.items():
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)

    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return install


@pytest.fixture
def client(tmp_path: Path) -> FolderHost:
    """A client host."""
    return folder_host(tmp_path / "client")


def tools(client: FolderHost, tool: NativeTool, workload: Workload = WORKLOAD, **limits: float) -> NativeTools:
    """What is tested."""
    return NativeTools(tool, workload, "samebox", [client], _Store(), replace(LIMITS, **limits))


def run(generator: NativeTools, watch: Callable[[], Abort | None] = lambda: None) -> Any:
    """One load, to its end."""
    generator.prepare()
    return generator.load(ENDPOINTS, Hooks(watch=watch), stored=lambda: None)


def test_a_load_is_a_consumer_and_a_producer(client: FolderHost, java: Any, tmp_path: Path) -> None:
    """Both leave their command lines, figures and output; nothing of them runs or is known as a daemon afterwards."""
    java({f"{KAFKA}ProducerPerformance": SAYS.format(text=KAFKA_PRODUCED), f"{KAFKA}ConsumerPerformance": SAYS.format(text=KAFKA_CONSUMED)})  # fmt: skip  # noqa: E501
    generator = tools(client, ProducerPerformance())
    before_ns = time.time_ns()
    result = run(generator)
    assert result.abort is None
    assert (result.files, result.workers, result.produced_rows) == ((), (), 0)
    consumer, producer = result.observations["native"]
    assert (consumer["role"], consumer["subscription"], producer["role"]) == ("consumer", "subscription-0", "producer")
    assert (producer["figures"]["messages"], producer["figures"]["publish_p99_ms"]) == (10_000, 9)
    assert consumer["figures"]["messages"] == 15_000
    assert "--throughput 500" in producer["command"]
    warmup, measure = result.phases
    assert before_ns < warmup["start_ns"] < time.time_ns()
    assert measure["end_ns"] - measure["start_ns"] == 1_000_000_000
    generator.collect_logs(tmp_path / "logs")
    assert (tmp_path / producer["output"]).read_text() == KAFKA_PRODUCED
    assert (tmp_path / consumer["output"]).read_text() == KAFKA_CONSUMED
    assert daemons.states(client) == {}


def test_what_must_be_over_first_is_before_the_first_tool(client: FolderHost, java: Any, tmp_path: Path) -> None:
    """And from the moment a trial begins, nothing that an earlier one's tools printed can be taken for its own."""
    java({f"{KAFKA}ProducerPerformance": SAYS.format(text=KAFKA_PRODUCED), f"{KAFKA}ConsumerPerformance": SAYS.format(text=KAFKA_CONSUMED)})  # fmt: skip  # noqa: E501
    generator = tools(client, ProducerPerformance())
    seen: list[object] = []
    generator.prepare()
    generator.load(ENDPOINTS, Hooks(before_start=lambda: seen.append(daemons.states(client))), stored=lambda: None)
    assert seen == [{}]
    generator.collect_logs(tmp_path / "first")
    generator.prepare()
    generator.collect_logs(tmp_path / "second")
    printed = [[each for each in (tmp_path / name).rglob("*") if each.is_file()] for name in ("first", "second")]
    assert [len(files) for files in printed] == [2, 0]


def test_a_consumer_that_reads_on_is_told_to_end(client: FolderHost, java: Any) -> None:
    """It says its figures when it is told; one for each subscription."""
    java({"produce": SAYS.format(text=PULSAR_PRODUCED), "consume": SAYS_WHEN_TOLD.format(text=PULSAR_CONSUMED)})
    result = run(tools(client, PulsarPerf(), replace(WORKLOAD, consumers=2, subscriptions=2)))
    assert result.abort is None
    *consumers, producer = result.observations["native"]
    assert [each["subscription"] for each in consumers] == ["subscription-0", "subscription-1"]
    assert [each["figures"]["messages"] for each in consumers] == [12_435, 12_435]
    assert producer["figures"]["publish_p50_ms"] == 4.549


def test_without_consumers_none_is_started(client: FolderHost, java: Any) -> None:
    """A workload that nobody reads is not read here either."""
    java({"produce": SAYS.format(text=PULSAR_PRODUCED)})
    result = run(tools(client, PulsarPerf(), replace(WORKLOAD, consumers=0)))
    assert [each["role"] for each in result.observations["native"]] == ["producer"]


def test_a_tool_without_figures_is_the_reason(client: FolderHost, java: Any) -> None:
    """Its last words are quoted, and the other's figures are kept."""
    java({f"{KAFKA}ConsumerPerformance": SAYS.format(text=KAFKA_CONSUMED)})
    result = run(tools(client, ProducerPerformance()))
    assert result.abort["rule"] == "native-tool"
    assert result.abort["axis"] == "validity"
    assert "kafka-producer-perf-test printed no figures (no summary)" in result.abort["reason"]
    assert "no such class" in result.abort["reason"]
    consumer, producer = result.observations["native"]
    assert (consumer["figures"]["messages"], producer["figures"]) == (15_000, None)


def test_a_tool_that_hangs_is_given_up(client: FolderHost, java: Any) -> None:
    """After a bounded time the load ends with its name; what ends every daemon of a trial ends it."""
    java({f"{KAFKA}ProducerPerformance": HANGS})
    workload = replace(WORKLOAD, consumers=0, warmup_s=0.0)
    result = run(tools(client, ProducerPerformance(), workload, beyond_s=-2.0))
    assert "kafka-producer-perf-test was still running after 1 s" in result.abort["reason"]
    assert list(daemons.running(client)) == ["native-producer"]
    daemons.stop_everything([client], grace_s=5)
    assert daemons.states(client) == {}


def test_the_watch_ends_it(client: FolderHost, java: Any) -> None:
    """A full disk ends the load at once, as it does ours."""
    java({f"{KAFKA}ProducerPerformance": HANGS})
    full = Abort("disk-full", "validity", "no room", "broker-1")
    try:
        result = run(tools(client, ProducerPerformance(), replace(WORKLOAD, consumers=0)), lambda: full)
        assert result.abort == full.to_json()
        assert result.observations["native"][0]["figures"] is None
    finally:
        daemons.stop_everything([client], grace_s=5)


def test_output_of_the_trial_before_is_gone(client: FolderHost, java: Any, tmp_path: Path) -> None:
    """A second load's files hold its own words only."""
    java({"produce": SAYS.format(text=PULSAR_PRODUCED), "consume": SAYS_WHEN_TOLD.format(text=PULSAR_CONSUMED)})
    generator = tools(client, PulsarPerf())
    run(generator)
    alone = replace(generator, workload=replace(WORKLOAD, consumers=0))
    run(alone)
    alone.collect_logs(tmp_path / "logs")
    assert [path.name for path in (tmp_path / "logs").rglob("*.log")] == ["native-producer.log"]
