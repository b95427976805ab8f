"""What brokers hold after a load, read by other clients than ours, is what the records say: payload, partition, order."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from bench.load.client_hosts import deploy_client
from bench.load.collect import collect_records
from bench.load.load import Limits
from bench.load.worker_pool import run_load
from bench.worker.message import message_maker
from contract.workload import Workload
from provisioning.cache import user_cache
from provisioning.hosts.host import Host
from provisioning.hosts.ssh import SshHost
from provisioning.software.store import Store
from systems.deployment import Topic
from systems.registry import software
from tests.given import archives_of
from tests.three_nodes import LEVEL, ThreeNodes
from tests.truth.comparison import HEADER_BYTES, Name, Stored, Told, differences, header, payloads, sample, stored_of

READERS = Path(__file__).parent
# System, level, consumers: a queue that forgets what was read is looked at unread.
SYSTEMS = [
    pytest.param("kafka", LEVEL, 1, id="kafka"),
    pytest.param("nats", LEVEL, 1, id="nats"),
    pytest.param("pulsar", LEVEL, 1, id="pulsar", marks=pytest.mark.truth),
    pytest.param("rabbitmq", LEVEL, 0, id="rabbitmq"),
    pytest.param("rabbitmq", "2-stream", 1, id="rabbitmq-stream"),
    pytest.param("redpanda", LEVEL, 1, id="redpanda", marks=pytest.mark.redpanda),
    pytest.param("valkey", LEVEL, 1, id="valkey"),
]
READING_LIMIT_S = 300.0
RUN = 0xFEDCBA98
SEED = 20
TOPIC = "truth"
# The body's zeros are a half to be rounded, its random bytes are no multiple of the generator's words, and each producer
# goes through its pool of bodies more than once.
WORKLOAD = Workload(
    name="truth", rate_per_s=1500, message_bytes=1001, producers=2, partitions=6, warmup_s=1, measure_s=7, drain_s=120
)
PATIENT = Limits(ready_s=240, nothing_acknowledged_s=120, silence_s=120, delivery_timeout_s=120)


def records_of(folder: Path) -> list[Told]:
    """The rows of the produced files, each producer's in the order of its sequences."""
    columns = [field.name for field in dataclasses.fields(Told)]
    rows = pq.read_table(folder / "produced", columns=columns).to_pylist()
    return sorted((Told(**row) for row in rows), key=lambda told: told.name)


def read_brokers(system: str, libs: str, host: Host, service_url: str, fetched: Path) -> list[Stored]:
    """All messages of the topic, as the system's reader on `host` reads them. Raises HostError."""
    [source] = [
        path
        for name in (f"{system.capitalize()}Reader.java", f"{system}_reader.py")
        if (path := READERS / name).is_file()
    ]
    root = host.record.root
    program, output = f"{root}/tmp/{source.name}", f"{root}/tmp/stored.tsv"
    host.push(source, program)
    # Brokers' own jars have a client in them, and Java compiles a single source file in memory and runs it.
    java = ["java", f"@{root}/etc/{system}/tool.jvm", "-cp", f"{root}/{libs}/*"]
    argv = [*(java if source.suffix == ".java" else ["python3", "-IS"]), program, service_url, TOPIC, output]
    host.run(shlex.join(argv), timeout_s=READING_LIMIT_S)
    host.fetch(output, fetched)
    return [_stored(line) for line in fetched.read_text().splitlines()]


def _stored(line: str) -> Stored:
    partition, position, sha256, head = line.split("\t")
    return Stored(int(partition), tuple(int(part) for part in position.split(":")), sha256, bytes.fromhex(head))


@pytest.mark.integration
@pytest.mark.timeout(1500)
@pytest.mark.parametrize(("system", "level", "consumers"), SYSTEMS)
def test_the_brokers_hold_what_was_acknowledged(
    system: str, level: str, consumers: int, hosts: dict[str, SshHost], tmp_path: Path
) -> None:
    """Each acknowledged message is there once, in its partition and in order; a hundredth is compared byte by byte."""
    topic = Topic(TOPIC, WORKLOAD.partitions)
    store = Store(user_cache(), software(archives_of(system)))
    cluster = ThreeNodes(system, tuple(hosts.values()), store, topic, level=level)
    workload = dataclasses.replace(WORKLOAD, consumers=consumers)
    with cluster.running():
        pythons = deploy_client(cluster.clients, user_cache(), print)
        result = run_load(cluster.load(workload, seed=SEED, limits=PATIENT), cluster.clients, pythons)
        assert result.abort is None
        collect_records(result, cluster.clients, tmp_path)
        libs = f"{cluster.store.deploy(system, cluster.brokers)}/libs"
        service_url = cluster.deployment.endpoints().service_url
        stored = read_brokers(system, libs, cluster.brokers[-1], service_url, tmp_path / "stored.tsv")
        counted = cluster.deployment.messages_stored()
    told = records_of(tmp_path)
    chosen = sample(told, seed=SEED)
    assert {each.producer for each in chosen} == set(range(WORKLOAD.producers))
    # the load's directory is named after its run
    run = int(Path(result.directory).name, 16)
    sampled = payloads(
        chosen, run=run, seed=SEED, message_bytes=WORKLOAD.message_bytes, compressible_share=WORKLOAD.compressible_share
    )
    found = differences(told, stored, run=run, sampled=sampled)
    assert not found, "\n".join([f"{len(found)} differences:", *found[:20]])
    assert counted == len(stored)


@pytest.mark.parametrize("message_bytes", [32, 33, 35, 1001, 4096, 1_000_000])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_the_documented_message_is_the_one_sent(message_bytes: int, share: float) -> None:
    """Made by hand from docs/records.md it is the load generator's, byte by byte, also where the pool begins anew."""
    told = [Told(3, sequence, 1_800_000_000_123_456_789 + sequence, 0) for sequence in (0, 1, 2, 4095, 4096, 2**40)]
    make = message_maker(message_bytes, share, seed=SEED, producer=3, run=RUN)
    by_hand = payloads(told, run=RUN, seed=SEED, message_bytes=message_bytes, compressible_share=share)
    assert by_hand == {each.name: make(each.sequence, each.intended_ns) for each in told}


TOLD = [Told(producer, at, 1_000_000 * at, (at + producer) % 3) for producer in (0, 1) for at in range(300)]
SENT = payloads(TOLD, run=RUN, seed=SEED, message_bytes=64, compressible_share=0.5)
SAMPLED = {each.name: SENT[each.name] for each in sample(TOLD, seed=SEED)}
VICTIM = sample(TOLD, seed=SEED)[2]  # after the first and the last


def whole() -> dict[Name, Stored]:
    """A topic that holds exactly TOLD; positions ascend with the sequence over all partitions."""
    return {each.name: stored_of(SENT[each.name], each.partition or 0, (each.sequence,)) for each in TOLD}


def flipped(at: int) -> Callable[[dict[Name, Stored]], list[Stored]]:
    """One bit of the victim's payload is another."""

    def harm(topic: dict[Name, Stored]) -> list[Stored]:
        payload = bytearray(SENT[VICTIM.name])
        payload[at] ^= 1
        before = topic[VICTIM.name]
        return list((topic | {VICTIM.name: stored_of(bytes(payload), before.partition, before.position)}).values())

    return harm


def moved(topic: dict[Name, Stored]) -> list[Stored]:
    """The victim lies in another partition."""
    before = topic[VICTIM.name]
    return list((topic | {VICTIM.name: dataclasses.replace(before, partition=(before.partition + 1) % 3)}).values())


def swapped(topic: dict[Name, Stored]) -> list[Stored]:
    """The victim and the message after it in its partition have changed places."""
    first, second = topic[VICTIM.name], topic[VICTIM.producer, VICTIM.sequence + 3]
    assert first.partition == second.partition
    changed = {
        first.name: dataclasses.replace(first, position=second.position),
        second.name: dataclasses.replace(second, position=first.position),
    }
    return list((topic | changed).values())


def missing(topic: dict[Name, Stored]) -> list[Stored]:
    """The victim isn't there."""
    return [message for message in topic.values() if message.name != VICTIM.name]


def repeated(topic: dict[Name, Stored]) -> list[Stored]:
    """The victim is there again, right after itself."""
    again = topic[VICTIM.name]
    return [*topic.values(), dataclasses.replace(again, position=(*again.position, 1))]


def foreign(topic: dict[Name, Stored]) -> list[Stored]:
    """A message that this load never sent."""
    payload = header(Told(1, 300, 0, 0), RUN) + bytes(32)
    return [*topic.values(), stored_of(payload, 0, (300,))]


def test_what_agrees_has_no_differences() -> None:
    """A topic that holds exactly what was acknowledged, in whatever order the reader went through it."""
    assert differences(TOLD, list(whole().values())[::-1], run=RUN, sampled=SAMPLED) == []


def test_the_sample_is_a_hundredth_with_both_ends() -> None:
    """Of each producer: the first, the last, and one in a hundred between them; the same for the same seed."""
    chosen = sample(TOLD, seed=SEED)
    assert chosen == sample(TOLD, seed=SEED) != sample(TOLD, seed=SEED + 1)
    for producer in (0, 1):
        sequences = [each.sequence for each in chosen if each.producer == producer]
        assert len(set(sequences)) == 5
        assert {0, 299} < set(sequences)


@pytest.mark.parametrize(
    ("harm", "sentences"),
    [
        pytest.param(flipped(-1), ["the payload's SHA-256 is"], id="last byte of the body"),
        pytest.param(flipped(HEADER_BYTES), ["the payload's SHA-256 is"], id="first byte of the body"),
        pytest.param(flipped(0), ["its header is", "the payload's SHA-256 is"], id="magic"),
        pytest.param(flipped(8), ["its header is", "the payload's SHA-256 is"], id="run"),
        pytest.param(flipped(24), ["its header is", "the payload's SHA-256 is"], id="intended time"),
        pytest.param(moved, ["acknowledged in partition"], id="another partition"),
        pytest.param(swapped, ["stored in partition"], id="swapped"),
        pytest.param(missing, ["acknowledged once, stored 0 times"], id="missing"),
        pytest.param(repeated, ["acknowledged once, stored 2 times"], id="repeated"),
        pytest.param(foreign, ["never sent"], id="foreign"),
    ],
)
def test_every_fault_is_reported(harm: Callable[[dict[Name, Stored]], list[Stored]], sentences: list[str]) -> None:
    """Each harm to a single message is told, by what it is and of whom, and nothing else is."""
    found = differences(TOLD, harm(whole()), run=RUN, sampled=SAMPLED)
    assert [sentence in said for sentence, said in zip(sentences, found, strict=True)] == [True] * len(sentences)
    named = (
        "producer 1, sequence 300:" if harm is foreign else f"producer {VICTIM.producer}, sequence {VICTIM.sequence}:"
    )
    assert all(said.startswith(named) for said in found)
