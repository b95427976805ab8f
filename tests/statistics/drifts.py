"""Made-up campaigns whose blocks depend on one another: one of two equal systems wanders, the other doesn't. All at once in numpy.

Log ratio of a block = the wandering system's deviation + the noise of both trials. In an A/A block the deviation is in both runs, a
few minutes apart, and cancels: only the noise is left. What is beyond what a report allows for is here too, to say what comes of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.signal import lfilter

from tests.statistics.worlds import Floats, Random

SCATTER = 0.1  # of the log ratios, in every campaign
NOISE = 0.02
METRICS = 10
_SHARED = 0.5  # share of the deviation's variance that ten metrics have in common
Shape = tuple[int, int, int]  # campaigns, blocks, metrics
Deviations = Callable[[Random, Shape], Floats]


@dataclass(frozen=True)
class Drift:
    """`beyond`: more than an interval allows for, so that it may fail. `second_place`: a factor on the ratio, in A/A blocks too."""

    name: str
    deviations: Deviations
    beyond: bool = False
    second_place: float = 1.0


def following(rho: float, *, heavy: bool = False) -> Deviations:
    """An AR(1) over blocks of standard deviation SCATTER; `heavy`: its steps are Student's t with 3 degrees of freedom."""

    def series(random: Random, shape: Shape) -> Floats:
        fresh = random.standard_t(3, shape) / np.sqrt(3) if heavy else random.standard_normal(shape)
        fresh[:, 0] = random.standard_normal((shape[0], shape[2])) / np.sqrt(1 - rho**2)
        found: Floats = SCATTER * lfilter([np.sqrt(1 - rho**2)], [1.0, -rho], fresh, axis=1)
        return found

    return series


def _bimodal(random: Random, shape: Shape) -> Floats:
    slow = [np.where(random.random(shape) < 0.3, np.log(3.0), 0.0) for _ in range(2)]
    found: Floats = slow[0] - slow[1]
    return found


def _once(random: Random, shape: Shape) -> Floats:
    """One arbitrary effect for a whole campaign, such as where the leaders ended up."""
    found: Floats = SCATTER * np.broadcast_to(random.standard_normal((shape[0], 1, shape[2])), shape)
    return found


INDEPENDENT = Drift("independent", following(0.0))
DRIFTS = (
    INDEPENDENT,
    Drift("trials with two modes", _bimodal),
    Drift("second place 5 % worse, fixed order", following(0.0), second_place=1.05),
    Drift("drift, 0.4", following(0.4)),
    Drift("drift, 0.8", following(0.8)),
    Drift("drift, 0.8, heavy-tailed steps", following(0.8, heavy=True)),
    Drift("drift, 0.8, second place 5 % worse", following(0.8), second_place=1.05),
    Drift("an arbitrary effect, drawn per block", following(0.0)),
    Drift("an arbitrary effect, once per campaign", _once, beyond=True),
    Drift("drift, 0.95", following(0.95), beyond=True),
)


def drifting(random: Random, drift: Drift, campaigns: int, blocks: int, metrics: int) -> tuple[Floats, Floats]:
    """Ratios of A/B blocks and of as many A/A blocks, of two equals: (campaigns, blocks, metrics) each."""
    shape = campaigns, blocks, metrics
    common = drift.deviations(random, (campaigns, blocks, 1))
    deviation = (
        common if metrics == 1 else np.sqrt(_SHARED) * common + np.sqrt(1 - _SHARED) * drift.deviations(random, shape)
    )
    ab, aa = (np.exp(random.normal(0.0, NOISE * np.sqrt(2), shape)) / drift.second_place for _ in range(2))
    return ab * np.exp(deviation), aa
