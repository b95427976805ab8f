"""When each message is to be sent, fixed before the run: a pure function of the schedule's fields.

Offsets count from the start instant. They come in chunks, so that memory stays flat however long the run is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

CHUNK_MESSAGES = 65_536
SECOND_NS = 1_000_000_000


@dataclass(frozen=True)
class Phase:
    """A named stretch of the schedule, from `start_ns` up to, but not including, `end_ns`."""

    name: str
    start_ns: int
    end_ns: int


@dataclass(frozen=True)
class Schedule:
    """`rate_per_s` over all producers. Constant arrivals of the producers are interleaved; Poisson ones are independent.

    With a `build_ns` a backlog is built for so long, then read, which takes at most `catch_up_ns` and ends when it has been read. The
    tail of `measure_ns` follows. A warm-up `until_steady` may end before `warmup_ns` are over, and the schedule so much earlier.
    """

    rate_per_s: int
    producers: int
    arrivals: Literal["constant", "poisson"]
    warmup_ns: int
    measure_ns: int
    seed: int
    build_ns: int = 0
    catch_up_ns: int = 0
    until_steady: bool = False

    @property
    def duration_ns(self) -> int:
        """From the start instant to the end of the last phase, however long a backlog takes to read, or a warm-up."""
        return self.warmup_ns + self.build_ns + self.catch_up_ns + self.measure_ns

    @property
    def mean_gap_ns(self) -> int:
        """Between two messages of one producer."""
        return SECOND_NS * self.producers // self.rate_per_s

    def drain_from_ns(self, start_ns: int) -> int:
        """When the consumers of the backlog begin."""
        return start_ns + self.warmup_ns + self.build_ns

    def phases(self, start_ns: int, phase_ends_ns: int | None = None, end_ns: int | None = None) -> tuple[Phase, ...]:
        """The phases of a run that starts at `start_ns`, without those of no length.

        `phase_ends_ns`, `end_ns`: when the phase ends whose length shows during the run (the drain, or a warm-up until steady) and when
        the run does, once these are known; until then that phase lasts as long as it may.
        """
        before: tuple[Phase, ...]
        warm, drain = start_ns + self.warmup_ns, self.drain_from_ns(start_ns)
        if self.build_ns:
            drained = drain + self.catch_up_ns if phase_ends_ns is None else phase_ends_ns
            before = (Phase("warmup", start_ns, warm), Phase("build", warm, drain), Phase("drain", drain, drained))
            last = Phase("tail", drained, drained + self.measure_ns)
        else:
            warm = phase_ends_ns if self.until_steady and phase_ends_ns is not None else warm
            before = (Phase("warmup", start_ns, warm),)
            last = Phase("measure", warm, warm + self.measure_ns)
        if end_ns is not None:
            last = replace(last, end_ns=min(end_ns, last.end_ns))
        return tuple(phase for phase in (*before, last) if phase.start_ns < phase.end_ns)

    def measured(self, start_ns: int, phase_ends_ns: int | None = None, end_ns: int | None = None) -> Phase | None:
        """The phase that a run's figures describe: the drain where a backlog is read; None if it had no length. As `phases`."""
        name = "drain" if self.build_ns else "measure"
        return next((phase for phase in self.phases(start_ns, phase_ends_ns, end_ns) if phase.name == name), None)

    def offsets_ns(self, producer: int) -> Iterator[NDArray[np.int64]]:
        """The intended times of one producer, ascending, in chunks of CHUNK_MESSAGES (the last may be shorter)."""
        if self.arrivals == "constant":
            return self._constant(producer)
        return self._poisson(producer)

    def count(self, producer: int) -> int:
        """How many messages one producer is to send."""
        if self.arrivals == "constant":
            return len(range(producer, self._constant_total(), self.producers))
        return sum(len(chunk) for chunk in self._poisson(producer))

    def total(self) -> int:
        """How many messages all producers are to send."""
        return sum(self.count(producer) for producer in range(self.producers))

    def _constant_total(self) -> int:
        return -(-self.rate_per_s * self.duration_ns // SECOND_NS)

    def _constant(self, producer: int) -> Iterator[NDArray[np.int64]]:
        total = self._constant_total()
        step = CHUNK_MESSAGES * self.producers
        for first in range(producer, total, step):
            order = np.arange(first, min(first + step, total), self.producers, dtype=np.int64)
            # whole seconds apart: order * SECOND_NS alone would overflow after nine thousand million messages
            seconds, rest = np.divmod(order, self.rate_per_s)
            yield seconds * SECOND_NS + rest * SECOND_NS // self.rate_per_s

    def _poisson(self, producer: int) -> Iterator[NDArray[np.int64]]:
        generator = np.random.default_rng([self.seed, producer])
        mean_gap_ns = SECOND_NS * self.producers / self.rate_per_s
        last = 0.0
        while True:
            gaps = generator.exponential(mean_gap_ns, CHUNK_MESSAGES)
            gaps[0] += last
            times = np.cumsum(gaps)
            last = float(times[-1])
            chunk = times.astype(np.int64)
            inside = int(np.searchsorted(chunk, self.duration_ns, side="left"))
            if inside:
                yield chunk[:inside]
            if inside < CHUNK_MESSAGES:
                return
