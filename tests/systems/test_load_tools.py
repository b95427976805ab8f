"""The systems' own load tools: what they are told, and how their words are understood."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contract.workload import Workload
from provisioning.errors import Completed, HostError
from provisioning.hosts.host import Host, ScriptedHost
from provisioning.hosts.inventory import HostRecord, SshAddress
from systems.deployment import Endpoints
from systems.kafka.load_tool import ProducerPerformance
from systems.load_tool import NativeLoad, NativeTool, load_of
from systems.nats.load_tool import NatsBench
from systems.pulsar.load_tool import PulsarPerf
from systems.rabbitmq.load_tool import PerfTest
from systems.registry import SYSTEMS
from tests.benchmarks.native_run import run_native
from tests.systems.native_output import (
    KAFKA_CONSUMED,
    KAFKA_PRODUCED,
    NATS_CONSUMED,
    NATS_PRODUCED_BY_ONE,
    NATS_PRODUCED_BY_SEVERAL,
    PULSAR_CONSUMED,
    PULSAR_PRODUCED,
    RABBITMQ_CONSUMED,
    RABBITMQ_PRODUCED,
)

WORKLOAD = Workload("w", 1000, 1024, 10.0, warmup_s=2.0, in_flight=10_000)
LOAD = NativeLoad(
    service_url="broker:1", topic="samebox", client_settings={"acks": "1"}, workload=WORKLOAD, rate_per_s=1000, messages=12_000,
    duration_s=12.0,
)  # fmt: skip


def load(**changes: Any) -> NativeLoad:
    """The same for another workload."""
    return replace(LOAD, workload=replace(WORKLOAD, **changes))


def test_the_steady_state_is_taken_where_there_is_one() -> None:
    """The whole run's summary comes first; after a warm-up the second one counts."""
    tool = ProducerPerformance()
    steady = tool.result(KAFKA_PRODUCED, LOAD)
    assert steady.messages == 10_000
    assert steady.rate_per_s == pytest.approx(1000.2, abs=0.01)
    assert (steady.publish_mean_ms, steady.publish_max_ms, steady.resolution_ms) == (2.86, 57, 1)
    assert (steady.publish_p50_ms, steady.publish_p95_ms, steady.publish_p99_ms, steady.publish_p999_ms) == (
        2,
        5,
        9,
        31,
    )
    whole = tool.result("".join(KAFKA_PRODUCED.splitlines(keepends=True)[:2]), LOAD)
    assert (whole.messages, whole.publish_p99_ms) == (12_000, 41)


def test_a_rate_over_shutting_down_is_not_believed() -> None:
    """pulsar-perf divides by the time to its end; messages over the time it was told to send for are the rate."""
    result = PulsarPerf().result(PULSAR_PRODUCED, LOAD)
    assert result.messages == 11_999
    assert result.rate_per_s == pytest.approx(11_999 / 12)
    assert (result.publish_mean_ms, result.publish_max_ms) == (10.303, 141.676)
    assert (result.publish_p50_ms, result.publish_p95_ms) == (4.549, 39.622)
    assert (result.publish_p99_ms, result.publish_p999_ms) == (82.619, 126.871)


def test_what_several_clients_printed_is_taken_together() -> None:
    """Each prints figures of its own before; the messages are those of the load, for it ends if a client fails."""
    result = NatsBench().result(NATS_PRODUCED_BY_SEVERAL, replace(LOAD, messages=2_000))
    assert (result.messages, result.rate_per_s) == (2_000, 499)
    assert result.publish_mean_ms == pytest.approx(0.98208)
    assert result.publish_max_ms == pytest.approx(7.03795)
    assert result.publish_p50_ms == pytest.approx(0.88182)
    assert result.publish_p99_ms == pytest.approx(3.02975)
    assert result.publish_p999_ms == pytest.approx(6.95348)
    assert result.publish_p95_ms is None, "it prints none"


def test_what_one_client_printed() -> None:
    """In other words than those of several."""
    result = NatsBench().result(NATS_PRODUCED_BY_ONE, replace(LOAD, messages=300))
    assert (result.messages, result.rate_per_s) == (300, 99)
    assert result.publish_p50_ms == pytest.approx(1.04684)
    assert result.publish_max_ms == pytest.approx(49.49089)
    consumed = NatsBench().consumer_result(NATS_CONSUMED)
    assert (consumed.messages, consumed.rate_per_s, consumed.end_to_end_p50_ms) == (2_300, 575, None)


def test_only_a_tool_that_has_sent_or_read_everything_is_believed() -> None:
    """PerfTest prints no numbers of messages: they are those it was told, if it ended for having reached them."""
    result = PerfTest().result(RABBITMQ_PRODUCED, LOAD)
    assert (result.messages, result.rate_per_s, result.resolution_ms) == (12_000, 1964, 0.001)
    consumed = PerfTest().consumer_result(RABBITMQ_CONSUMED)
    assert (consumed.messages, consumed.rate_per_s, consumed.end_to_end_p50_ms) == (12_000, 25_335, None)
    with pytest.raises(ValueError, match="no summary of all messages"):
        PerfTest().result(RABBITMQ_PRODUCED.replace("Producer reached message limit", "Reached time limit"), LOAD)
    with pytest.raises(ValueError, match="no summary of all messages"):
        PerfTest().consumer_result(RABBITMQ_CONSUMED.replace("Consumer reached message limit", "Reached time limit"))


def test_what_a_tool_prints_where_there_is_no_sign_for_microseconds() -> None:
    """A question mark stands for it; latencies are the same, and those that it doesn't print stay unknown."""
    signed = PerfTest().result(RABBITMQ_PRODUCED.replace("?s", "µs"), LOAD)
    assert signed == PerfTest().result(RABBITMQ_PRODUCED, LOAD)
    assert (signed.publish_p50_ms, signed.publish_p95_ms, signed.publish_p99_ms) == (4.434, 185.027, 426.789)
    assert (signed.publish_mean_ms, signed.publish_p999_ms, signed.publish_max_ms) == (None, None, None)


@pytest.mark.parametrize("tool", [ProducerPerformance(), NatsBench(), PulsarPerf(), PerfTest()])
def test_words_without_figures_are_an_error(tool: NativeTool) -> None:
    """A tool that printed something else is never taken for one that measured nothing."""
    with pytest.raises(ValueError, match="no "):
        tool.result("Exception in thread main", LOAD)
    with pytest.raises(ValueError, match="no "):
        tool.consumer_result("Exception in thread main")


def test_all_of_the_load_is_passed_on() -> None:
    """Rate, size, batch, linger, window, acks: nothing is left to a tool's own default."""
    kafka = " ".join(ProducerPerformance().arguments(LOAD))
    for word in (
        "acks=1",
        "linger.ms=1",
        "batch.size=131072",
        "buffer.memory=10240000",
        "--throughput 1000",
        "enable.idempotence=false",
    ):
        assert word in kafka
    assert "--throughput -1" in " ".join(ProducerPerformance().arguments(replace(LOAD, rate_per_s=None)))
    pulsar = " ".join(PulsarPerf().arguments(LOAD))
    for word in (
        "--rate 1000",
        "--size 1024",
        "--batch-max-bytes 131072",
        "--max-outstanding 10000",
        "--test-duration 12",
    ):
        assert word in pulsar
    assert "--disable-batching" in PulsarPerf().arguments(load(batch_delay_ms=0))
    nats = " ".join(NatsBench().arguments(LOAD))
    for word in ("pub sync", "--stream samebox-0", "--msgs 12000", "--size 1024B", "--throughput 1000"):
        assert word in nats
    rabbitmq = " ".join(PerfTest().arguments(LOAD))
    for word in (
        "--queue-pattern samebox-%d --queue-pattern-from 0 --queue-pattern-to 5",
        "--producers 6 --consumers 0",
        "--size 1024",
        "--flag persistent --flag mandatory",
        "--confirm 1666",
        "--pmessages 2000",
        "--rate 166.667",
    ):
        assert word in rabbitmq
    assert "--rate" not in PerfTest().arguments(replace(LOAD, rate_per_s=None))
    assert "pub async --clients 1 --batch 4000" in " ".join(NatsBench().arguments(replace(LOAD, rate_per_s=None)))


def test_several_producers_are_one_with_their_windows_or_as_many() -> None:
    """A tool that has one producer gives it all of their room; the other has as many, each with its own."""
    three = load(producers=3)
    assert "buffer.memory=30720000" in ProducerPerformance().arguments(three)
    assert "--num-producers 3" in " ".join(PulsarPerf().arguments(three))


@pytest.mark.parametrize(("partitions", "producers", "asked"), [(1, 1, 1), (6, 1, 6), (6, 6, 6), (6, 7, 12)])
def test_each_partition_has_as_many_of_perftests_producers(partitions: int, producers: int, asked: int) -> None:
    """So each partition gets as many messages, and window and messages of all together are the workload's, or a few more."""
    arguments = PerfTest().arguments(load(partitions=partitions, producers=producers))
    told = {word: int(arguments[arguments.index(word) + 1]) for word in ("--producers", "--confirm", "--pmessages")}
    assert told["--producers"] == asked
    assert told["--confirm"] == producers * WORKLOAD.in_flight // asked
    assert 0 <= told["--pmessages"] * asked - LOAD.messages < asked


def test_consumers_of_queues_and_of_streams() -> None:
    """Each partition has one, which reads its share of all messages; a stream is read from its beginning."""
    queues = " ".join(PerfTest().consumer_arguments(LOAD))
    assert "--consumers 6 --qos 500 --multi-ack-every 250 --cmessages 2000" in queues
    assert "--id messages-12000 " in queues
    streams = PerfTest().consumer_arguments(replace(LOAD, client_settings={"queue_type": "stream"}))
    assert "--stream-consumer-offset first" in " ".join(streams)


def test_a_load_that_perftest_cannot_make_is_refused() -> None:
    """Its producers stay with a partition, and know of no keys."""
    assert PerfTest().cannot(WORKLOAD) is None
    assert "no keys" in str(PerfTest().cannot(replace(WORKLOAD, keys="random")))
    assert "stays with one" in str(PerfTest().cannot(replace(WORKLOAD, partitioning="round-robin")))


@pytest.mark.parametrize(("rate_per_s", "producers", "clients"), [(1_000, 1, 20), (100, 5, 5), (1_000_000, 1, 100)])
def test_clients_of_one_message_each_are_as_many_as_the_rate_takes(
    rate_per_s: int, producers: int, clients: int
) -> None:
    """At an acknowledgement within 20 ms; never fewer than there are producers, and not without end."""
    asked = replace(load(producers=producers), rate_per_s=rate_per_s)
    assert f"--clients {clients} " in " ".join(NatsBench().arguments(asked))


def test_a_load_that_one_stream_cannot_take_is_refused() -> None:
    """Several partitions are several streams; a key belongs to one of them."""
    tool = NatsBench()
    assert tool.cannot(replace(WORKLOAD, partitions=1)) is None
    assert "a topic of 6 partitions is as many" in str(tool.cannot(WORKLOAD))
    assert "no keys" in str(tool.cannot(replace(WORKLOAD, partitions=1, keys="random")))


def test_what_the_program_keeps_lies_in_the_kits_own_folder_of_the_host() -> None:
    """It writes settings into its user's home; the home that it is given is the kit's."""
    host = ScriptedHost(HostRecord("client-1", "client", SshAddress("h", 22, "u", ""), "h", "/box", (), "", "", 1))
    words = NatsBench().producer_command(replace(LOAD, service_url="a:1,b:1"), host, _Store())
    assert words[:3] == ("env", "HOME=/box/native", "XDG_CONFIG_HOME=/box/native")
    assert words[3:7] == ("/box/software/natscli/bin/nats", "--server", "nats://a:1,nats://b:1", "bench")
    assert "samebox-0" in NatsBench().consumer_command(LOAD, "s", host, _Store())


def test_compression_batching_and_partitioning_are_those_of_our_client() -> None:
    """Each tool's own words for them."""
    changes = {"compression": "gzip", "batching": False}
    kafka = ProducerPerformance().arguments(load(partitioning="round-robin", **changes))
    assert {"compression.type=gzip", "batch.size=0", "linger.ms=0"} <= set(kafka)
    assert "partitioner.class=org.apache.kafka.clients.producer.RoundRobinPartitioner" in kafka
    assert {"ZLIB", "--disable-batching"} <= set(PulsarPerf().arguments(load(**changes)))


def test_client_settings_of_a_profile_reach_the_tools() -> None:
    """What a profile sets for our client is set for the tool; what none sets is our client's default."""
    kafka = replace(LOAD, client_settings={"in_flight_requests": "1", "max_partition_fetch_bytes": "10485760"})
    assert "max.in.flight.requests.per.connection=1" in ProducerPerformance().arguments(kafka)
    assert "--fetch-size 10485760" in " ".join(ProducerPerformance().consumer_arguments(kafka, "s"))
    pulsar = replace(
        LOAD, client_settings={"io_threads": "8", "receiver_queue": "7", "topic_prefix": "persistent://a/b/"}
    )
    assert "--num-io-threads 8" in " ".join(PulsarPerf().arguments(pulsar))
    consumer = " ".join(PulsarPerf().consumer_arguments(pulsar, "s"))
    assert "--receiver-queue-size 7 --receiver-queue-size-across-partitions 50000" in consumer
    assert consumer.endswith(" persistent://a/b/samebox")


def test_what_consumers_printed() -> None:
    """Count and rate of both; latencies of the one that measures any."""
    kafka = ProducerPerformance().consumer_result(KAFKA_CONSUMED)
    assert (kafka.messages, kafka.end_to_end_p50_ms) == (15_000, None)
    assert kafka.rate_per_s == pytest.approx(689.782)
    pulsar = PulsarPerf().consumer_result(PULSAR_CONSUMED)
    assert (pulsar.messages, pulsar.rate_per_s) == (12_435, 619.517)
    assert (pulsar.end_to_end_p50_ms, pulsar.end_to_end_p99_ms) == (9977, 16393)


def test_the_load_is_the_workloads() -> None:
    """Warm-up included in what is sent, consumers per subscription."""
    workload = Workload(
        "w", rate_per_s=300, message_bytes=100, warmup_s=2, measure_s=8, producers=2, consumers=6, subscriptions=3
    )
    asked = load_of(workload, Endpoints("b:1", {"acks": "1"}), "samebox", consumer_timeout_s=9)
    assert (asked.messages, asked.duration_s, asked.consumers, asked.workload) == (3000, 10, 2, workload)
    assert (asked.client_settings, asked.consumer_timeout_s) == ({"acks": "1"}, 9)


def test_every_system_has_its_tool() -> None:
    """The registry names one for each."""
    assert {name: system.native_tool.name for name, system in SYSTEMS.items() if system.native_tool} == {
        "kafka": "kafka-producer-perf-test",
        "nats": "nats bench js pub",
        "pulsar": "pulsar-perf produce",
        "rabbitmq": "PerfTest",
        "redpanda": "kafka-producer-perf-test",
    }


class _Store:
    """A store whose bundles are on every host already."""

    def deploy(self, name: str, hosts: Sequence[Host]) -> str:
        del hosts
        return f"software/{name}"

    def version(self, name: str) -> str:
        return name


class _TalkingHost(ScriptedHost):
    """Answers whatever it is asked with the same words."""

    said = Completed("", "", "", 0)

    def run(self, command: str, **options: object) -> Completed:
        del options
        self.asked.append(command)
        return self.said


@pytest.fixture
def host(tmp_path: Path) -> _TalkingHost:
    """A client host."""
    ssh = SshAddress("127.0.0.1", 22, "user", "key")
    return _TalkingHost(HostRecord("client-1", "client", ssh, "127.0.0.1", str(tmp_path), (), "id", "local", 1))


def test_a_run_has_its_command_line_and_cpu(host: _TalkingHost) -> None:
    """CPU is what the shell's `time` said of the whole process."""
    host.said = Completed("", KAFKA_PRODUCED, "samebox-cpu 3.25 0.50\n", 0)
    run = run_native(ProducerPerformance(), LOAD, host, _Store())
    assert run.cpu_s == 3.75
    assert run.command.startswith("java -Xmx1g ")
    assert "org.apache.kafka.tools.ProducerPerformance" in run.command


@pytest.mark.parametrize("stderr", ["", "samebox-cpu 1.0 1.0\n"])
def test_a_tool_that_says_nothing_usable_is_quoted(host: _TalkingHost, stderr: str) -> None:
    """Without figures, or without the CPU time, the error carries the tool's last words."""
    host.said = Completed("", "gone fishing" if stderr else KAFKA_PRODUCED, stderr, 0)
    with pytest.raises(HostError, match="kafka-producer-perf-test said nothing usable"):
        run_native(ProducerPerformance(), LOAD, host, _Store())
