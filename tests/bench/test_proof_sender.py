"""One message in flight: the next goes when the one before is acknowledged, and a message that isn't ends the sending."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

import pytest

from bench.proof.observe import Sender
from bench.worker.sender import SenderJob, marked_payload, send_one_by_one, sender_job_of
from contract.workload import Workload
from provisioning.errors import Completed, HostError
from provisioning.hosts.host import ScriptedHost
from provisioning.hosts.inventory import HostRecord, SshAddress
from systems.client import ClientError, ClientModule, ClientSpec
from tests.bench import fake_client as fake
from tests.bench.fake_client import Behaviour, FakeBroker

RUN = "0a1b2c3d"
WORKLOAD = Workload("w", 1, 256, 1.0, partitions=1, batch_delay_ms=0, batch_bytes=4096, in_flight=1)
SPEC = ClientSpec("tests.bench.fake_client", "", "t", {}, WORKLOAD, 0.2, 1.0)
HOST = HostRecord("client-1", "client", SshAddress("127.0.0.1", 22, "b", ""), "127.0.0.1", "/r", (), "", "", 1)


def events_of(behaviour: Behaviour, *, messages: int = 5, begin: bool = True) -> list[tuple[str, dict[str, Any]]]:
    """What a sender says of a run against a broker that behaves so."""
    said: list[tuple[str, dict[str, Any]]] = []
    with FakeBroker(["t"], partitions=1, behaviour=behaviour) as broker:
        job = SenderJob(replace(SPEC, service_url=broker.service_url), messages, RUN)

        def emit(name: str, fields: Mapping[str, Any]) -> None:
            said.append((name, dict(fields)))

        send_one_by_one(job, cast(ClientModule, fake), emit, lambda: begin)
        assert not broker.pending
    return said


def test_each_message_waits_for_the_one_before() -> None:
    """Sent after the previous acknowledgement, acknowledged no sooner than the broker did."""
    ready, *messages, done = events_of(Behaviour(ack_delay_s=0.02))
    assert (ready[0], done[0]) == ("ready", "done")
    times = [at for _, fields in messages for at in (fields["sent_ns"], fields["acked_ns"])]
    assert times == sorted(times)
    assert [fields["sequence"] for _, fields in messages] == [0, 1, 2, 3, 4]
    assert all(fields["acked_ns"] - fields["sent_ns"] >= 20_000_000 for _, fields in messages)


def test_a_message_that_is_given_up_ends_the_sending() -> None:
    """It is told with its error, and nothing follows it."""
    _, *messages, done = events_of(Behaviour(fail=lambda sequence: sequence == 2))
    assert [fields["error"] for _, fields in messages] == [None, None, "FAILED"]
    assert messages[-1][1]["acked_ns"] is None
    assert done == ("done", {})


def test_nothing_is_sent_without_the_word() -> None:
    """An operator that has gone before the tracing began: no message is sent."""
    assert events_of(Behaviour(), begin=False) == [("ready", {}), ("done", {})]


def test_a_refusal_is_an_error() -> None:
    """What the client refuses is raised, not taken for a message without an acknowledgement."""
    with pytest.raises(ClientError, match="REFUSED"):
        events_of(Behaviour(refuse=lambda sequence: sequence == 1))


def test_a_job_survives_its_line() -> None:
    """Round trip; what isn't a job of this version is refused."""
    job = SenderJob(SPEC, 7, RUN)
    assert sender_job_of(job.to_line()) == job
    with pytest.raises(ValueError, match="not a job for this version"):
        sender_job_of('{"messages": 1}')
    assert marked_payload(RUN, 3, WORKLOAD.message_bytes).startswith(f"samebox-proof-{RUN}-000003;".encode())


class Told:
    """A remote process that says these lines and then ends."""

    def __init__(self, *lines: str) -> None:
        self._lines = lines
        self.orders: list[str] = []

    def send_line(self, line: str) -> None:
        self.orders.append(line)

    def lines(self) -> Iterator[str]:
        return iter(self._lines)

    def wait(self, *, timeout_s: float) -> Completed:
        del timeout_s
        return Completed("", "", "ImportError: no such client", 1)

    def close(self) -> None:
        return None


def sender(*lines: str) -> Sender:
    """The operator's side of a sender that says these lines."""
    process = Told(*lines)
    return Sender(ScriptedHost(HOST), process)


def test_a_sender_that_fails_or_dies_is_named_by_its_host() -> None:
    """Its own reason, or the end of its standard error."""
    with pytest.raises(HostError, match=r"client-1: .*ClientError: _TIMED_OUT: topic t"):
        sender('{"event": "failed", "error": "ClientError: _TIMED_OUT: topic t"}').await_ready()
    with pytest.raises(HostError, match=r"client-1: .*exited early\. ImportError: no such client"):
        sender().await_ready()
    with pytest.raises(HostError, match="exited early"):
        sender('{"event": "message", "sequence": 0, "sent_ns": 1, "acked_ns": 2, "error": null}').send(lambda _: None)
