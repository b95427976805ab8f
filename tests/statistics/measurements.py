"""Made-up measurements of one trial: skewed latencies that follow one another, message by message and stretch by stretch, in numpy.

A message's latency = what its stretch of time is like x a skewed variable that follows its predecessor x the warm-up that is left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.signal import lfilter

from analysis.records.windows import WINDOWS
from tests.statistics.worlds import Floats, Random

STRETCHES = 4 * WINDOWS
AT_ONCE_MESSAGES = 6_000_000
# log factors of stretches: (trials, STRETCHES)
Factors = Callable[[Random, int], Floats]


@dataclass(frozen=True)
class Measurement:
    """`beyond`: it wanders so slowly that it isn't steady for as long as it was measured. `follows`: of neighbouring messages."""

    name: str
    factors: Factors
    beyond: bool = False
    follows: float = 0.5


@dataclass(frozen=True)
class Measured:
    """A percentile of each window and of the first and the last third: (trials, WINDOWS) and (trials,) each."""

    windows: Floats
    first: Floats
    last: Floats


@dataclass(frozen=True)
class Warmup:
    """What is left of it when the measurement begins: latency is (1 + size) times as high, which fades with a time constant in shares
    of the measurement."""

    size: float = 0.0
    fades: float = 1.0

    def logs(self, at: Floats) -> Floats:
        """Of the factor at these shares of the measurement."""
        found: Floats = np.log1p(self.size * np.exp(-at / self.fades))
        return found


def wandering(fades: float, scatter: float, *, heavy: bool = False) -> Factors:
    """Disturbances of which 1/e is left after so many windows: an AR(1). `heavy`: with steps of Student's t, 3 degrees of freedom."""
    rho = np.exp(-WINDOWS / STRETCHES / fades)

    def factors(random: Random, trials: int) -> Floats:
        shape = trials, STRETCHES
        fresh = random.standard_t(3, shape) / np.sqrt(3) if heavy else random.standard_normal(shape)
        fresh[:, 0] /= np.sqrt(1 - rho**2)  # the first is of the series' own distribution
        found: Floats = scatter * lfilter([np.sqrt(1 - rho**2)], [1.0, -rho], fresh, axis=1)
        return found

    return factors


def stalling(share: float, factor: float) -> Factors:
    """So many stretches, by chance, that much slower."""
    return lambda random, trials: np.where(random.random((trials, STRETCHES)) < share, np.log(factor), 0.0)


def every(stretches: int, factor: float) -> Factors:
    """Every so many stretches one that is slower, beginning anywhere: such as a flush."""

    def factors(random: Random, trials: int) -> Floats:
        first = random.integers(0, stretches, (trials, 1))
        return np.where((np.arange(STRETCHES) - first) % stretches == 0, np.log(factor), 0.0)

    return factors


def two_modes(windows: float, factor: float) -> Factors:
    """Slower half of the time, in turns that last so many windows on average."""

    def factors(random: Random, trials: int) -> Floats:
        turns = random.random((trials, STRETCHES)) < WINDOWS / STRETCHES / windows
        slow = (np.cumsum(turns, axis=1) + random.integers(0, 2, (trials, 1))) % 2
        found: Floats = np.log(factor) * slow
        return found

    return factors


MEASUREMENTS = (
    Measurement("nothing but messages", wandering(1, 0.0)),
    Measurement("long-lived stalls of messages", wandering(1, 0.0), follows=0.98),
    Measurement("disturbances of 10 %, for a quarter of a window", wandering(0.25, 0.1)),
    Measurement("disturbances of 5 %, for a window", wandering(1, 0.05)),
    Measurement("disturbances of 20 %, for a window", wandering(1, 0.2)),
    Measurement("disturbances of 20 %, for a window, heavy-tailed", wandering(1, 0.2, heavy=True)),
    Measurement("10 times slower in a twentieth of the time", stalling(0.05, 10.0)),
    Measurement("3 times slower every two windows, for a quarter of one", every(8, 3.0)),
    Measurement("two modes, 1.5 times apart, each for a window", two_modes(1, 1.5)),
    Measurement("two modes, 1.5 times apart, each for 4 windows", two_modes(4, 1.5), beyond=True),
    Measurement("disturbances of 10 %, for a third", wandering(WINDOWS / 3, 0.1), beyond=True),
)


def measured(
    random: Random, measurement: Measurement, trials: int, messages: int, quantile: float, warmup: Warmup | None = None
) -> Measured:
    """A percentile (nearest rank) of trials with so many messages in each window."""
    at_once = max(1, AT_ONCE_MESSAGES // (WINDOWS * messages))
    parts = [
        _percentiles(
            _latencies(random, measurement, min(at_once, trials - done), messages, warmup or Warmup()), quantile
        )
        for done in range(0, trials, at_once)
    ]
    return Measured(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def _latencies(random: Random, measurement: Measurement, trials: int, messages: int, warmup: Warmup) -> Floats:
    """(trials, WINDOWS, messages)."""
    follows, in_all = measurement.follows, WINDOWS * messages
    fresh = random.standard_normal((trials, in_all), dtype=np.float32)
    fresh[:, 0] /= np.sqrt(1 - follows**2)
    logs = 0.5 * lfilter([np.sqrt(1 - follows**2)], [1.0, -follows], fresh, axis=1)
    logs += np.repeat(measurement.factors(random, trials), in_all // STRETCHES, axis=1)
    logs += warmup.logs((np.arange(in_all) + 0.5) / in_all)
    found: Floats = np.exp(logs).reshape(trials, WINDOWS, messages)
    return found


def _percentiles(latencies: Floats, quantile: float) -> tuple[Floats, Floats, Floats]:
    trials, third = len(latencies), WINDOWS // 3
    thirds = (latencies[:, :third].reshape(trials, -1), latencies[:, -third:].reshape(trials, -1))
    windows, first, last = (_nearest_rank(values, quantile) for values in (latencies, *thirds))
    return windows, first, last


def _nearest_rank(values: Floats, quantile: float) -> Floats:
    place = int(np.ceil(quantile * values.shape[-1])) - 1
    found: Floats = np.partition(values, place, axis=-1)[..., place]
    return found
