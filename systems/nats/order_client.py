"""What of a stream a consumer has received, by the numbers that the server writes into where a message is acknowledged."""

from __future__ import annotations

from typing import NamedTuple


class Numbers(NamedTuple):
    """Of a message: its place in the stream, which of the consumer's deliveries it is, and when it was stored (epoch ns)."""

    place: int
    delivery: int
    stored_ns: int


def numbers_in(reply: bytes) -> Numbers:
    """Out of "$JS.ACK.STREAM.CONSUMER.TIMES.PLACE.DELIVERY.STORED.LEFT", or what has the domain and the account before the stream."""
    words = reply.split(b".")
    first = 5 if len(words) == 9 else 7
    return Numbers(*map(int, words[first : first + 3]))


class Order:
    """Everything up to a position, which alone may be acknowledged, and what came before its turn."""

    def __init__(self, position: int = 0) -> None:
        self._position, self._stored_ns = position, 0
        self._deliveries = 0
        self._reply = b""  # where the message at the position is acknowledged
        self._untold = False
        self._early: dict[int, tuple[bytes, Numbers]] = {}

    def goes_on(self, last_reply: bytes, count: int) -> bool:
        """Whether `count` messages, the last of which has this reply, are those that follow on the position; then they are noted.

        By two counts: one alone would let a message that came again stand for one that is missing.
        """
        numbers = numbers_in(last_reply)
        if self._early or (numbers.place, numbers.delivery) != (self._position + count, self._deliveries + count):
            return False
        self._advance(last_reply, numbers)
        return True

    def is_new(self, reply: bytes) -> bool:
        """Whether a message hasn't been here; then it is noted."""
        numbers = numbers_in(reply)
        self._deliveries = numbers.delivery
        if numbers.place <= self._position and numbers.stored_ns > self._stored_ns:
            # the stream has lost what was there, and gives the numbers again
            self._position = numbers.place - 1
            self._early.clear()
        if numbers.place <= self._position or numbers.place in self._early:
            self.repeat()
            return False
        self._early[numbers.place] = (reply, numbers)
        while (following := self._early.pop(self._position + 1, None)) is not None:
            self._advance(*following)
        return True

    def repeat(self) -> None:
        """The position is to be told once more."""
        self._untold = bool(self._reply)

    def take_reply(self) -> bytes:
        """Where to acknowledge the position, if it hasn't been told yet; else empty."""
        reply = self._reply if self._untold else b""
        self._untold = False
        return reply

    def _advance(self, reply: bytes, numbers: Numbers) -> None:
        self._position, self._stored_ns = numbers.place, numbers.stored_ns
        self._deliveries = max(self._deliveries, numbers.delivery)
        self._reply, self._untold = reply, True
