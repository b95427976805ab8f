"""Made-up brokers whose knee is known: a constant delay, then one server. Every wait is exact, by Lindley's recursion in numpy.

The capacity is one message in a unit of time, and so is the mean service. For each queue the p99 of the stationary response is
known in closed form, so the true knee is too. A trial sees far less of it: so many messages at each rung after as few of warm-up, and
a delay of its own. Its rate was kept by the report's rule: of what is offered at most 0.5 % was added to what was on its way.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from tests.statistics.worlds import Floats, Random

MESSAGES, WARMUP = 10_000, 2_000
QUANTILE = 0.99
KEPT_SHARE = 0.995  # as the offered-rate check has it
DELAY_SCATTER = 0.05  # standard deviation of its logarithm, from trial to trial
RUNGS = (0.12, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.88, 0.95, 1.06)
_UNTIL = 1e-9
_LONG_WAITS = 0.7  # above this utilization both agree to seven digits, and then only the tail is right

Times = Callable[[Random, int], Floats]


@dataclass(frozen=True)
class Queue:
    """`interarrival` and `service`: times of mean 1. `p99`: of the time in the system at a utilization."""

    name: str
    delay: float
    interarrival: Times
    service: Times
    p99: Callable[[float], float]

    def latency(self, rho: float) -> float:
        """The true p99 at a rate."""
        return self.delay + self.p99(rho)

    @property
    def knee(self) -> float:
        """Where rate / latency is truly highest."""
        return float(minimize_scalar(lambda rho: self.latency(rho) / rho, bounds=(0.2, 0.98), method="bounded").x)

    def rate_of(self, latency: float) -> float:
        """At which rate the true p99 is so long."""
        return float(brentq(lambda rho: self.latency(rho) - latency, 0.05, 0.99))


def _random(random: Random, count: int) -> Floats:
    return random.exponential(1.0, count)


def _constant(_random: Random, count: int) -> Floats:
    return np.ones(count)


def _p99_of_mm1(rho: float) -> float:
    return -math.log(1 - QUANTILE) / (1 - rho)


def _p99_of_dm1(rho: float) -> float:
    """As of M/M/1, with the share of arrivals that wait in place of the utilization."""
    waiting, before = 0.0, -1.0
    while abs(waiting - before) > _UNTIL:
        waiting, before = math.exp((waiting - 1) / rho), waiting
    return -math.log(1 - QUANTILE) / (1 - waiting)


def _p99_of_md1(rho: float) -> float:
    """By Erlang's sum for the distribution of the wait, whose terms cancel where waits are long; there its tail is exponential."""
    if rho > _LONG_WAITS:
        decay = float(brentq(lambda rate: rho * math.expm1(rate) - rate, _UNTIL, 10.0))
        return 1 + math.log((1 - rho) / (rho * math.exp(decay) - 1) / (1 - QUANTILE)) / decay

    def beyond(wait: float) -> float:
        terms = ((rho * (k - wait)) ** k / math.factorial(k) * math.exp(rho * (wait - k)) for k in range(int(wait) + 1))
        return (1 - rho) * math.fsum(terms) - QUANTILE

    upper = 1.0
    while beyond(upper) < 0:
        upper += 1
    return 1 + float(brentq(beyond, upper - 1, upper))


QUEUES = (
    Queue("M/M/1, delay 3", 3.0, _random, _random, _p99_of_mm1),
    Queue("M/D/1, delay 30", 30.0, _random, _constant, _p99_of_md1),
    Queue("D/M/1, delay 3", 3.0, _constant, _random, _p99_of_dm1),
)


@dataclass(frozen=True)
class Climb:
    """One block: the rungs that were kept, ascending, with their p99, and the lowest above them that wasn't."""

    kept: tuple[float, ...]
    latencies: tuple[float, ...]
    failed: float | None


def climb(queue: Queue, random: Random) -> Climb:
    """A trial at each rung until one isn't kept."""
    found: dict[float, float] = {}
    for rho in RUNGS:
        latency, kept = _trial(queue, rho, random)
        if not kept:
            return Climb(tuple(found), tuple(found.values()), rho)
        found[rho] = latency
    return Climb(tuple(found), tuple(found.values()), None)


def _trial(queue: Queue, rho: float, random: Random) -> tuple[float, bool]:
    """The p99 of a trial, and whether its rate was kept."""
    count = WARMUP + MESSAGES
    between, service = queue.interarrival(random, count) / rho, queue.service(random, count)
    steps = np.concatenate(([0.0], service[:-1] - between[1:]))
    ahead = np.cumsum(steps)
    response = ahead - np.minimum.accumulate(ahead) + service
    arrived = np.cumsum(between)
    start, end = arrived[WARMUP], arrived[-1]
    done = arrived + response
    added = np.count_nonzero(done > end) - np.count_nonzero((arrived < start) & (done > start))
    delay = queue.delay * math.exp(random.normal(0.0, DELAY_SCATTER))
    p99 = float(np.quantile(response[WARMUP:], QUANTILE, method="inverted_cdf"))
    return delay + p99, added <= (1 - KEPT_SHARE) * MESSAGES
