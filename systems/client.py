"""What the load generator asks of a client. One module per system implements it.

A worker is given the dotted name of its client's module. The load generator takes all times, at the same places for every system:
`sent` when `send` has returned, `acked` when the client calls back, `received` when `receive` has returned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from contract.workload import Workload, workload_of


class ClientError(Exception):
    """The client could not do what was asked; `name` is the client's own name for it."""

    def __init__(self, name: str, message: str = "") -> None:
        super().__init__(f"{name}: {message}" if message else name)
        self.name = name


class Backpressure(ClientError):
    """The client's own buffer is full: hand over the same message again a little later."""


@dataclass(frozen=True)
class ClientSpec:
    """How to connect, and for which workload. `settings` are the deployment's: {"acks": "all"}; a client refuses unknown ones.

    `delivery_timeout_s` is after how long a client must give up a message and report it failed. `members`: consumers of a
    subscription that share the topic, of which this is number `member` (from 0); those beyond its partitions stand by. `seed` is for
    the order of random keys.
    """

    module: str
    service_url: str
    topic: str
    settings: Mapping[str, str]
    workload: Workload
    delivery_timeout_s: float
    connect_timeout_s: float
    members: int = 1
    member: int = 0
    seed: int = 0


def client_spec_of(document: Mapping[str, Any]) -> ClientSpec:
    """Reads what `dataclasses.asdict` made of one. Raises TypeError or KeyError for keys of another version."""
    return ClientSpec(**{**document, "workload": workload_of(document["workload"])})


# the keys of a workload that a client library is configured with: a connection serves other loads if these are the same
TOLD = (
    *("message_bytes", "partitions", "partitioning", "keys"),
    *("batching", "batch_delay_ms", "batch_bytes", "in_flight", "compression"),
)


def connects_alike(one: ClientSpec, other: ClientSpec) -> bool:
    """Whether a connection of one serves the other."""
    told = ((expects_faults(each.workload), *(getattr(each.workload, name) for name in TOLD)) for each in (one, other))
    return replace(one, workload=other.workload) == other and len(set(told)) == 1


def expects_faults(workload: Workload) -> bool:
    """Whether something is done to the brokers meanwhile, so that clients have to send again."""
    return bool(workload.faults)


class Acknowledgements(Protocol):
    """Where a producer reports what became of each message, from any thread. Never raises, never blocks.

    The first report on a message is what became of it. A client that hears of it once more, or of one that it has given up, reports
    that as well: it is counted.
    """

    def acknowledged(self, sequence: int, partition: int) -> None:
        """The broker has acknowledged the message."""

    def failed(self, sequence: int, error: str) -> None:
        """The client gave up on the message; `error` is its name for the reason."""


class Producer(Protocol):
    """A connected producer. It reports acknowledgements as soon as the client has them, without being polled."""

    def configuration(self) -> Mapping[str, str]:
        """The library's effective configuration; where it can't be read back, what the library was given."""

    def send(self, sequence: int, payload: bytes) -> None:
        """Hands a message over without waiting. Raises Backpressure, or ClientError if it is refused."""

    def errors(self) -> Mapping[str, int]:
        """What befell the client so far, by name: lost connections, answers that didn't come in time. Not what became of messages."""

    def close(self) -> None:
        """Gives up on what isn't acknowledged and disconnects. Idempotent, bounded in time, never raises."""


class Consumer(Protocol):
    """A consumer that already has its partitions (or its place in the subscription)."""

    def configuration(self) -> Mapping[str, str]:
        """As a producer's."""

    def receive(self, timeout_s: float) -> Sequence[tuple[int, bytes]]:
        """(partition, payload) of the messages that are there, as soon as there are any; empty after `timeout_s`."""

    def hold(self) -> None:
        """Until `release`, `receive` returns nothing and the consumer keeps its place. Called before the first message."""

    def release(self) -> None:
        """Ends `hold`; the messages that have accumulated follow."""

    def errors(self) -> Mapping[str, int]:
        """The client's errors so far, by name."""

    def close(self) -> None:
        """Disconnects. Idempotent, bounded in time, never raises."""


class ClientModule(Protocol):
    """What a client's module offers. The connecting functions raise ClientError if they don't succeed within `connect_timeout_s`.

    `SETTINGS`: the settings of the client that a system profile or a campaign may change, with their defaults. A value has its
    default's type: a number, or true and false. `UNDER_FAULTS`: those of them that have another default where the workload has faults:
    what protects messages that are sent again, and isn't free where nothing breaks.
    """

    SETTINGS: Mapping[str, str]
    UNDER_FAULTS: Mapping[str, str]

    def connect_producer(self, spec: ClientSpec, acknowledgements: Acknowledgements) -> Producer:
        """A producer that has found the topic."""

    def connect_consumer(self, spec: ClientSpec, subscription: str, name: str) -> Consumer:
        """A consumer of the whole topic from its beginning, sharing it by partition with others of its subscription."""

    def configuration(self, spec: ClientSpec) -> Mapping[str, Mapping[str, str]]:
        """All that the client library is configured with, for the record: "producer" | "consumer" -> the library's key -> value.

        Without connecting. A connection's own values (its name, its subscription) are left out. Raises ClientError.
        """


def printable(options: Mapping[str, object]) -> dict[str, str]:
    """A library's options as they are recorded: by name, true and false in lower case."""
    return {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in options.items()}


def take_settings(
    spec: ClientSpec, known: Mapping[str, str], under_faults: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The deployment's client settings over their defaults; `under_faults`: other defaults where the workload has faults.

    Raises ClientError naming a setting that the client doesn't have.
    """
    unknown = sorted(set(spec.settings) - set(known))
    if unknown:
        raise ClientError(
            "unknown setting", f"{', '.join(unknown)}; this client knows {', '.join(sorted(known)) or 'none'}"
        )
    return {**known, **((under_faults or {}) if expects_faults(spec.workload) else {}), **spec.settings}
