"""Made-up watches: versions that are run beside an anchor over several days, on a host that drifts. All at once in numpy.

Log value of a trial = the version's level + the host's state in its block + the trial's noise. The host's state is one of the day (each
watch is on a day of its own) and one that wanders from block to block; anchor and versions have it in common. `own_drift`: what wanders
in one version alone, so that it doesn't cancel.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.certainty.verdict import FALSE_SHARE
from analysis.watch.series import SUSPECTED_P
from bench.watch.watching import confirming_blocks
from tests.statistics.cuts import cuts_of
from tests.statistics.drifts import following
from tests.statistics.rules import Flags, printed
from tests.statistics.worlds import Floats, Random

VERSIONS, FIRST_WATCH = 12, 4  # then one version a watch
DAY, WANDERING, CORRELATION = 0.1, 0.05, 0.8  # of the host: 10 % from day to day
OTAVA_P = 0.001  # which Apache Otava takes if it is told nothing


@dataclass(frozen=True)
class World:
    """`scatter`: standard deviation of the log ratios of blocks. `step`: how much slower versions are from a random one on."""

    blocks: int
    step: float
    scatter: float = 0.05
    own_drift: float = 0.0


@dataclass(frozen=True)
class Watched:
    """Of histories, which versions are slower than the one before, suspected of it, shown to be, and called slower by the change points
    of their values alone, without an anchor: (histories, VERSIONS) each.
    """

    truly: Flags
    suspected: Flags
    shown: Flags
    unanchored: Flags

    def false(self, called: Flags) -> float:
        """The share of histories in which a version is called that isn't slower."""
        return float((called & ~self.truly).any(axis=1).mean())

    def found(self, called: Flags) -> float:
        """The share of histories in which the version is called that is slower."""
        return float(called[self.truly].mean())


@dataclass(frozen=True)
class Values:
    """Logarithms: `alone` of the versions' values, `ratios` to the anchor: (histories, VERSIONS, blocks). `levels`: the true ones."""

    alone: Floats
    ratios: Floats
    levels: Floats


def values_of(random: Random, world: World, histories: int) -> Values:
    """What all watches of the histories measure."""
    day = np.maximum(np.arange(VERSIONS) - FIRST_WATCH + 1, 0)
    days, noise = int(day[-1]) + 1, world.scatter / np.sqrt(2)
    since = random.integers(1, VERSIONS, histories)
    levels = np.where(np.arange(VERSIONS) >= since[:, None], np.log1p(world.step), 0.0)
    host = random.normal(0.0, DAY, (histories, days, 1)) + _wandering(random, WANDERING, histories, days, world.blocks)
    anchor = random.normal(0.0, noise, (histories, days, world.blocks))
    shape = (histories, VERSIONS, world.blocks)
    own = random.normal(0.0, noise, shape) + _wandering(random, world.own_drift, *shape)
    alone = levels[:, :, None] + host[:, day] + own
    return Values(alone, alone - (host + anchor)[:, day], levels)


def watched(random: Random, world: World, histories: int) -> Watched:
    """Watch by watch, as `bench.watch.watching` does it: what looks worse and wasn't judged yet is run again, and that decides."""
    values = values_of(random, world, histories)
    truly = np.diff(values.levels, axis=1, prepend=0.0) > 0
    suspected, shown, unanchored = (np.zeros_like(truly) for _ in range(3))
    for known in range(FIRST_WATCH, VERSIONS + 1):
        new = _worse(values.ratios[:, :known], SUSPECTED_P) & ~suspected
        suspected |= new
        shown |= new & _confirmed(random, world, values.levels, new)
        unanchored |= _worse(values.alone[:, :known], OTAVA_P)
    return Watched(truly, suspected, shown, unanchored)


def _worse(values: Floats, p: float) -> Flags:
    cuts, shifts = cuts_of(values, p)
    missing = VERSIONS - values.shape[1]
    return np.pad(cuts & (shifts > 0), ((0, 0), (0, missing)))


def _confirmed(random: Random, world: World, levels: Floats, asked: Flags) -> Flags:
    """By new blocks of both versions, whatever the host does."""
    found = np.zeros_like(asked)
    history, version = np.nonzero(asked)
    if len(history):
        blocks = confirming_blocks(world.blocks)
        logs = (levels[history, version] - levels[history, version - 1])[:, None] + random.normal(
            0.0, world.scatter, (len(history), blocks)
        )
        for sign in (1, -1):
            logs += sign * _wandering(random, world.own_drift, 1, len(history), blocks)[0]
        p = printed(np.exp(logs)[:, :, None]).p[:, 0]  # each is the only comparison of its round
        found[history, version] = (p <= FALSE_SHARE) & (logs.mean(axis=1) > 0)
    return found


def _wandering(random: Random, deviation: float, histories: int, places: int, blocks: int) -> Floats:
    """An AR(1) over the blocks of each place."""
    if not deviation:
        return np.zeros((histories, places, blocks))
    series = following(CORRELATION)(random, (histories * places, blocks, 1))
    found: Floats = deviation * (series / series.std()).reshape(histories, places, blocks)
    return found
