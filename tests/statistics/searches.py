"""Made-up campaigns of throughput searches: the kit's own search, run against systems that do what they can and no more."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bench.load.load import LoadResult, LoadSpec
from bench.load.search import find_highest
from bench.load.workers import Sample
from contract.workload import Workload
from tests.statistics.worlds import Floats, Random

CAPACITY_PER_S = 83_000.0
EXPECTED_PER_S = 20_000
BLOCKS = 6


@dataclass(frozen=True)
class Bench:
    """How long a confirmation is measured, and how far what a system can do scatters from run to run (standard deviation)."""

    measure_s: int
    noise: float


BENCHES = (Bench(10, 0.002), Bench(10, 0.01), Bench(60, 0.002), Bench(60, 0.01))
RATIOS = (1.0, 1.01, 1.03)


def system(capacity_per_s: float, noise: float, chance: random.Random) -> Callable[[LoadSpec], LoadResult]:
    """Acknowledges what it is offered, up to what it can do in this run."""

    def run(spec: LoadSpec) -> LoadResult:
        workload = spec.workload
        seconds = workload.warmup_s + workload.measure_s
        done = min(workload.rate_per_s, capacity_per_s * chance.gauss(1.0, noise)) * seconds
        samples = (
            Sample("producer-0", "producer", None, 0.0, 0, 0),
            Sample("producer-0", "producer", None, seconds, round(done), 0),
        )
        return LoadResult("load/0", (), (), (), samples, None, 0, None, None)

    return run


def searches(bench: Bench, ratio: float, trials: int, *, seed: str, dithered: bool = True) -> Floats:
    """The bracket of each trial: (trials, 2), its lower and its upper end, infinite where nothing failed."""
    chance = random.Random(seed)
    run = system(CAPACITY_PER_S * ratio, bench.noise, chance)
    workload = Workload(
        name="max", rate_per_s=10_000_000, message_bytes=1024, measure_s=bench.measure_s, pacing="search",
        expected_rate_per_s=EXPECTED_PER_S,
    )  # fmt: skip
    spec = LoadSpec(workload, "", "", {}, ("t",), seed=1)
    found = []
    for _ in range(trials):
        one = find_highest(spec, run, lambda _load: None, octaves_below=chance.random() if dithered else 0.0)
        assert one.rate_per_s is not None
        found.append((one.rate_per_s, one.failed_per_s or math.inf))
    return np.array(found, dtype=np.float64)


def drawn(random_: Random, trials: Floats, campaigns: int) -> Floats:
    """Brackets for so many campaigns: (campaigns, BLOCKS, 2), no trial twice in one campaign."""
    chosen = random_.permuted(np.tile(np.arange(len(trials)), (campaigns, 1)), axis=1)[:, :BLOCKS]
    found: Floats = trials[chosen]
    return found
