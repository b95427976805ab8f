"""The knee of latency against rate: from which rate on one per cent more rate costs more than one per cent of latency.

It is where rate / latency, the "power" of a queue, is highest: where the tangent of the curve goes through the origin (Kleinrock,
"Power and deterministic rules of thumb for probabilistic problems in computer communications", ICC 1979; Jain, "The Art of Computer
Systems Performance Analysis", 1991, 3.3). It depends neither on units nor on how far the axes go, as the point of strongest
bending does. Rungs are few, so a curve is laid through them, and only ever used between them:

    latency = base + queue x rho^bend / (1 - rho), rho = rate / capacity

With bend = 1 that is exact for the mean and every percentile of M/M/1 behind a constant delay; steadier arrivals make bend larger.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, least_squares

from analysis.bounded import Bounded

FEWEST_RUNGS = 5  # of which the rate was kept: the curve has four parameters
MOST_MISFIT = 0.25  # of the natural logarithm, root mean square: through rungs further off than that no curve is laid
MODEL_ERROR = (
    0.05  # how far off the knee may be though rungs are exact: the most in the queues of `make test-statistics`
)
_SCALE = 0.1  # of residuals beyond which a rung counts less: a stall in one of them isn't the curve's
_BEND = (0.3, 30.0)
_LEAST_ROOM, _MOST_ROOM = 1e-3, 9.0  # of the capacity above the highest rung that was kept, as a share of its rate
_START_ROOM = 0.3
_EDGE = 1e-9

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Fit:
    """The curve. `misfit`: root mean square of the rungs' distances from it, in natural logarithms."""

    base_ms: float
    queue_ms: float
    bend: float
    capacity_per_s: float
    misfit: float

    def latency_ms(self, rate_per_s: float) -> float:
        """At a rate below the capacity."""
        rho = rate_per_s / self.capacity_per_s
        return self.base_ms + self.queue_ms * math.pow(rho, self.bend) / (1 - rho)

    @property
    def knee_per_s(self) -> float:
        """Where rate / latency is highest: rho x its derivative = the latency, which has one solution."""

        def excess(rho: float) -> float:
            steep = (self.bend - 1) * (1 - rho) + rho
            return self.queue_ms * math.pow(rho, self.bend) * steep - self.base_ms * (1 - rho) ** 2

        return self.capacity_per_s * float(brentq(excess, _EDGE, 1 - _EDGE))


@dataclass(frozen=True)
class Knee:
    """Of one block: the rate as far as it is known, and the curve, where one could be laid."""

    known: Bounded
    fit: Fit | None


def knee_of(rates_per_s: Sequence[float], latencies_ms: Sequence[float], failed_per_s: float | None) -> Knee | None:
    """The knee of one contestant in one block; None where no rung was kept.

    `rates_per_s`, ascending, and `latencies_ms`: of the rungs that were kept. `failed_per_s`: the lowest one above them that wasn't;
    the capacity is below it. Where the curve's knee isn't between two rungs that were kept, or there is no curve, all that is told
    is between which two rates it lies: next to the rung of the highest power. Above the highest rung nothing bounds it.
    """
    if not rates_per_s:
        return None
    peak = int(np.argmax(np.asarray(rates_per_s) / np.asarray(latencies_ms)))
    around = [0.0, *rates_per_s, math.inf if failed_per_s is None else failed_per_s]
    beside = Bounded(None, around[peak], around[peak + 2])
    if len(rates_per_s) < FEWEST_RUNGS:
        return Knee(beside, None)
    fit = fitted(rates_per_s, latencies_ms, failed_per_s)
    if fit.misfit > MOST_MISFIT or (failed_per_s is None and peak == len(rates_per_s) - 1):
        return Knee(beside, fit)
    knee = fit.knee_per_s
    if not rates_per_s[0] <= knee <= rates_per_s[-1]:
        at_end = 0 if knee < rates_per_s[0] else len(rates_per_s)
        return Knee(Bounded(None, around[at_end], around[at_end + 1]), fit)
    return Knee(Bounded(knee, knee / (1 + MODEL_ERROR), knee * (1 + MODEL_ERROR)), fit)


def fitted(rates_per_s: Sequence[float], latencies_ms: Sequence[float], failed_per_s: float | None) -> Fit:
    """The curve closest to the rungs on a logarithmic axis of latency; single ones that are far off count less."""
    rates, logs = np.asarray(rates_per_s, dtype=float), np.log(np.asarray(latencies_ms, dtype=float))
    highest, least, most = float(rates[-1]), float(logs.min()), float(logs.max())
    most_room = _MOST_ROOM if failed_per_s is None else max(2 * _LEAST_ROOM, failed_per_s / highest - 1)
    # natural logarithms of the base, the queue, the bend, and the capacity's room above the highest rung
    low = [least - 5, least - 25, math.log(_BEND[0]), math.log(_LEAST_ROOM)]
    high = [least + 1, most + 5, math.log(_BEND[1]), math.log(most_room)]

    def waiting(logarithms: Floats) -> tuple[Floats, Floats]:
        _, queue, bend, room = np.exp(logarithms)
        rho = rates / (highest * (1 + room))
        return rho, queue * rho**bend / (1 - rho)

    def distances(logarithms: Floats) -> Floats:
        return np.asarray(np.log(np.exp(logarithms[0]) + waiting(logarithms)[1]) - logs)

    def slopes(logarithms: Floats) -> Floats:
        (rho, queue), (base, _, bend, room) = waiting(logarithms), np.exp(logarithms)
        share = queue / (base + queue)
        of_room = -share * (bend + rho / (1 - rho)) * room / (1 + room)
        return np.column_stack([1 - share, share, share * bend * np.log(rho), of_room])

    start = np.clip([least, least - 1, 0.0, math.log(_START_ROOM)], np.add(low, _EDGE), np.subtract(high, _EDGE))
    found = least_squares(distances, start, jac=slopes, bounds=(low, high), loss="soft_l1", f_scale=_SCALE).x
    base, queue, bend, room = (float(each) for each in np.exp(found))
    return Fit(base, queue, bend, highest * (1 + room), float(np.sqrt(np.mean(distances(found) ** 2))))
