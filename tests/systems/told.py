"""Acknowledgements that are kept, for the tests of clients."""

from __future__ import annotations

import threading


class Told:
    """Implements Acknowledgements: keeps what it was told, in order. `awaited`: how many messages `wait` waits for."""

    def __init__(self, awaited: int = 0) -> None:
        self.acknowledgements: list[tuple[int, int]] = []
        self.failures: list[tuple[int, str]] = []
        self._more = threading.Condition()
        self._awaited = awaited

    def acknowledged(self, sequence: int, partition: int) -> None:
        with self._more:
            self.acknowledgements.append((sequence, partition))
            self._more.notify_all()

    def failed(self, sequence: int, error: str) -> None:
        with self._more:
            self.failures.append((sequence, error))
            self._more.notify_all()

    def wait(self) -> None:
        """Until all that is awaited is settled."""
        self.wait_for(self._awaited, 60.0)

    def wait_for(self, count: int, within_s: float = 5.0) -> None:
        """Until so many messages are settled."""
        with self._more:
            settled = self._more.wait_for(lambda: len(self.acknowledgements) + len(self.failures) >= count, within_s)
        assert settled, f"only {len(self.acknowledgements)} acknowledged, {self.failures} failed"
