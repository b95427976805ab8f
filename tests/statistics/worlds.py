"""Made-up campaigns: skewed, autocorrelated latencies inside trials, effects of trial and block, all at once in numpy.

A message's latency = block's effect x trial's effect x a skewed variable that follows its predecessor (an AR(1) underneath). A
trial's figure is a nearest-rank percentile of its messages, as in a report. Two systems differ by the factor RATIO and are alike in
all else, so that the median of the ratios of blocks is RATIO exactly; where they aren't, it is taken from many blocks more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

RATIO = 1.3
MESSAGES = 400
HIGH = 390  # rank of the high percentile among MESSAGES: ten lie beyond
TRIALS_AT_ONCE = 4000
Floats = NDArray[np.float64]
Random = np.random.Generator
Effects = Callable[[Random, tuple[int, ...]], Floats]


def scattered(log_sd: float) -> Effects:
    """Factors that are lognormal about 1."""
    return lambda random, shape: np.exp(random.normal(0.0, log_sd, shape))


def heavy_tailed(log_scale: float) -> Effects:
    """Factors whose logarithm is Student's t with 2 degrees of freedom: most near 1, a few far off."""
    return lambda random, shape: np.exp(np.clip(log_scale * random.standard_t(2, shape), -3, 3))


def stalling(log_sd: float, share: float, factor: float) -> Effects:
    """Factors about 1, and in a share of the trials one that is `factor` larger: to one side only."""
    return lambda random, shape: (
        np.exp(random.normal(0.0, log_sd, shape)) * np.where(random.random(shape) < share, factor, 1.0)
    )


@dataclass(frozen=True)
class World:
    """`follows`: correlation of a message with its predecessor; `gamma`: latencies are exponential, else lognormal.

    `first`, `second`: the effects of the two systems' trials; `alike`: whether these are the same.
    """

    name: str
    follows: float
    gamma: bool
    first: Effects
    second: Effects
    alike: bool = True


STEADY, HEAVY = scattered(0.05), heavy_tailed(0.08)
WORLDS = (
    World("lognormal", 0.5, False, STEADY, STEADY),
    World("long-lived stalls", 0.98, False, scattered(0.1), scattered(0.1)),
    World("heavy-tailed trials", 0.9, True, HEAVY, HEAVY),
    World("one stalls at times", 0.9, True, stalling(0.05, 0.2, 3.0), STEADY, alike=False),
)


def messages(random: Random, world: World, trials: int) -> NDArray[np.float32]:
    """Latencies of so many trials, about 1: (trials, MESSAGES), each in the order sent."""
    normal = [_following(random, world.follows, trials) for _ in range(2 if world.gamma else 1)]
    skewed: NDArray[np.float32] = np.exp(np.float32(0.8) * normal[0])
    return (normal[0] ** 2 + normal[1] ** 2) / np.float32(2) if world.gamma else skewed


def _following(random: Random, follows: float, trials: int) -> NDArray[np.float32]:
    fresh = random.standard_normal((trials, MESSAGES), dtype=np.float32)
    fresh[:, 0] /= np.sqrt(1 - follows**2)  # the first is of the series' own distribution, not of its noise
    series: NDArray[np.float32] = lfilter([np.sqrt(1 - follows**2)], [1.0, -follows], fresh, axis=1).astype(np.float32)
    return series


def high_percentiles(random: Random, world: World, effects: Effects, shape: tuple[int, int]) -> Floats:
    """The high percentile of a trial each: (campaigns, blocks)."""
    count = shape[0] * shape[1]
    found = np.concatenate(
        [
            np.partition(messages(random, world, min(TRIALS_AT_ONCE, count - done)), HIGH - 1, axis=1)[:, HIGH - 1]
            for done in range(0, count, TRIALS_AT_ONCE)
        ]
    )
    return found.reshape(shape).astype(np.float64) * effects(random, shape)


def block_ratios(random: Random, world: World, campaigns: int, blocks: int) -> Floats:
    """First over second, a ratio per block: (campaigns, blocks)."""
    shape = campaigns, blocks
    effect = np.exp(random.normal(0.0, 0.3, shape))  # of the block on both: hours, disks, neighbours
    first = RATIO * effect * high_percentiles(random, world, world.first, shape)
    return first / (effect * high_percentiles(random, world, world.second, shape))


def true_median(world: World, seed: int) -> float:
    """What an endless campaign would find."""
    if world.alike:
        return RATIO
    return float(np.median(block_ratios(np.random.default_rng(seed), world, 200, 300)))


@dataclass(frozen=True)
class Alike:
    """A campaign of one system under two names, with ten metrics. `shared`: the share of a trial's effect that all have in common.

    `second_place`: a factor on everything that a block's second trial shows.
    """

    name: str
    shared: float
    second_place: float = 1.0


ALIKE = (
    Alike("ten metrics, nearly identical", 0.95),
    Alike("ten metrics, nearly independent", 0.1),
    Alike("always the second place 10 % worse", 0.5, second_place=1.1),
)
LATENCIES = 3  # publish, response = publish + delay, end to end = response + delivery: two percentiles each
RATES = 4
METRICS = 2 * LATENCIES + RATES
_STREAM = WORLDS[0]


def alike_ratios(random: Random, alike: Alike, campaigns: int, blocks: int) -> Floats:
    """First trial over second trial of one system, for every metric: (campaigns, blocks, METRICS)."""
    first, second = (_ten_metrics(random, alike, campaigns * blocks) for _ in range(2))
    ratios: Floats = first / (second * alike.second_place)
    return ratios.reshape(campaigns, blocks, METRICS)


def _ten_metrics(random: Random, alike: Alike, trials: int) -> Floats:
    parts = [_percentiles(random, min(TRIALS_AT_ONCE, trials - done)) for done in range(0, trials, TRIALS_AT_ONCE)]
    common, own = random.normal(0.0, 0.1, (trials, 1)), random.normal(0.0, 0.1, (trials, METRICS))
    effects = np.exp(np.sqrt(alike.shared) * common + np.sqrt(1 - alike.shared) * own)
    values: Floats = np.hstack([np.concatenate(parts), np.ones((trials, RATES))]) * effects
    return values


def _percentiles(random: Random, trials: int) -> Floats:
    total = np.zeros((trials, MESSAGES), dtype=np.float32)
    found = []
    for weight in (1.0, 0.1, 0.3):
        total = total + np.float32(weight) * messages(random, _STREAM, trials)
        ranked = np.partition(total, (MESSAGES // 2 - 1, HIGH - 1), axis=1)
        found += [ranked[:, MESSAGES // 2 - 1], ranked[:, HIGH - 1]]
    return np.stack(found, axis=1).astype(np.float64)
