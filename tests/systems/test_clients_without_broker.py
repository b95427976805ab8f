"""The real client libraries as far as they can be tested without a broker; with one they are tested by whole trials."""

from __future__ import annotations

import contextlib
import ctypes
import socket
import threading
import time
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import _pulsar
import pulsar  # type: ignore[import-untyped]
import pytest

import systems.kafka.client
import systems.nats.client
import systems.pulsar.client
import systems.rabbitmq.client
from contract.workload import Workload
from systems.client import ClientError, ClientSpec
from systems.pulsar.client import PulsarProducer, keep_thread_state

CALLBACKS = 4


class NoAcknowledgements:
    """Implements Acknowledgements for a producer that never comes about."""

    def acknowledged(self, sequence: int, partition: int) -> None:
        raise AssertionError(f"acknowledged {sequence} in {partition}")

    def failed(self, sequence: int, error: str) -> None:
        raise AssertionError(f"failed {sequence}: {error}")


@pytest.fixture
def deaf() -> Iterator[str]:
    """An address:port where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield "{}:{}".format(*taken.getsockname())


def spec_at(service_url: str, **settings: str) -> ClientSpec:
    """How to connect, without much patience."""
    workload = Workload("w", 1, 1024, 1.0, partitions=3, in_flight=100)
    return ClientSpec("", service_url, "t", settings, workload, 5.0, connect_timeout_s=1.0)


@pytest.mark.parametrize(
    ("module", "scheme"),
    [
        (systems.kafka.client, ""),
        (systems.nats.client, ""),
        (systems.pulsar.client, "pulsar://"),
        (systems.rabbitmq.client, ""),
    ],
)
def test_nobody_there_is_a_client_error_in_time(module: ModuleType, scheme: str, deaf: str) -> None:
    """A missing broker is told in the client's words, with topic and address, and not after minutes."""
    began = time.monotonic()
    with pytest.raises(ClientError) as raised:
        module.connect_producer(spec_at(scheme + deaf), NoAcknowledgements())
    assert f"topic t at {scheme}{deaf}" in str(raised.value)
    with pytest.raises(ClientError):
        module.connect_consumer(spec_at(scheme + deaf), "s", "consumer-0")
    assert time.monotonic() - began < 30


@pytest.mark.parametrize(
    "module", [systems.kafka.client, systems.nats.client, systems.pulsar.client, systems.rabbitmq.client]
)
def test_a_setting_that_a_client_has_not_is_refused(module: ModuleType) -> None:
    """A misspelt setting must not silently do nothing."""
    with pytest.raises(
        ClientError,
        match=r"ackz; this client knows (acks, idem|(ack_wait_ms, )?acknowledge_every_ms, (acks|confirms)|io_threads, receiver_q)",
    ):
        module.connect_producer(spec_at("127.0.0.1:1", ackz="all"), NoAcknowledgements())


def test_an_impossible_setting_is_refused_by_the_library() -> None:
    """What the library itself refuses comes as a ClientError, not as one of its own."""
    with pytest.raises(ClientError, match="acks"):
        systems.kafka.client.connect_producer(spec_at("127.0.0.1:1", acks="some"), NoAcknowledgements())


@pytest.fixture
def silent_broker() -> Iterator[str]:
    """An address:port that greets Pulsar's clients and answers nothing else."""
    hello = bytes.fromhex("0803 1a05 0a0178 1014")  # the command CONNECTED: server version "x", protocol version 20
    with socket.create_server(("127.0.0.1", 0)) as server, contextlib.ExitStack() as connections:

        def greet() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection = connections.enter_context(server.accept()[0])
                    connection.recv(65_536)
                    connection.sendall((len(hello) + 4).to_bytes(4, "big") + len(hello).to_bytes(4, "big") + hello)

        threading.Thread(target=greet, daemon=True).start()
        yield "{}:{}".format(*server.getsockname())


def test_a_producer_is_closed_while_a_callback_runs(silent_broker: str) -> None:
    """The callback ends in its own time, and nobody is held up: an answer is often still on its way into Python then."""
    client = pulsar.Client(
        f"pulsar://{silent_broker}", logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error), operation_timeout_seconds=1
    )
    began, ended = threading.Event(), threading.Event()
    took_s: list[float] = []

    def callback(_result: Any, _producer: Any) -> None:
        began_s = time.monotonic()
        began.set()
        time.sleep(0.1)
        took_s.append(time.monotonic() - began_s)
        ended.set()

    client._client.create_producer_async("t", _pulsar.ProducerConfiguration(), callback)
    assert began.wait(timeout=30)
    connected = SimpleNamespace(is_connected=lambda: True)
    PulsarProducer(client, connected, NoAcknowledgements(), None, {}).close()
    assert ended.wait(timeout=30)
    assert took_s[0] < 5, "the interpreter was locked while the client closed: with `shutdown` for 10 s"


def thread_states_seen(callback_does: Any, deaf: str) -> tuple[set[int], set[int], int]:
    """Runs CALLBACKS callbacks of the binding on its I/O thread: thread ids, thread state addresses, fresh thread locals."""
    current = ctypes.pythonapi.PyThreadState_Get
    current.restype = ctypes.c_void_p
    threads: set[int] = set()
    states: set[int] = set()
    of_thread = threading.local()
    fresh = [0]
    came = threading.Semaphore(0)

    def callback(_result: Any, _producer: Any) -> None:
        callback_does()
        if not hasattr(of_thread, "mark"):
            of_thread.mark = True
            fresh[0] += 1
        threads.add(threading.get_ident())
        states.add(current())
        came.release()

    configuration = _pulsar.ClientConfiguration()
    configuration.set_console_logger(pulsar.LoggerLevel.Error)
    configuration.operation_timeout_seconds(1)
    client = _pulsar.Client(f"pulsar://{deaf}", configuration)
    for number in range(CALLBACKS):
        client.create_producer_async(f"t{number}", _pulsar.ProducerConfiguration(), callback)
        assert came.acquire(timeout=30)
    client.shutdown()
    return threads, states, fresh[0]


def test_the_binding_throws_thread_states_away_unless_kept(deaf: str) -> None:
    """Why `keep_thread_state` exists, and that it works. When the first half fails, the binding has mended this itself:
    remove `keep_thread_state`.
    """
    threads, _, fresh = thread_states_seen(lambda: None, deaf)
    assert len(threads) == 1
    assert fresh == CALLBACKS, "the binding keeps its thread state by itself now"
    threads, states, fresh = thread_states_seen(keep_thread_state, deaf)
    assert (len(threads), len(states), fresh) == (1, 1, 1)
