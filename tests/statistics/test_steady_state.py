"""Is a trial called unsteady as rarely as the check says, and how much of a warm-up does it see?"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.certainty.shift import shift
from analysis.steady_state import FALSE_ALARMS, Change
from bench.load.warmup_watch import ROUNDS, ROUNDS_IN_BOUND, is_steady
from tests.statistics.measurements import MEASUREMENTS, Measured, Measurement, Warmup, measured, wandering
from tests.statistics.rules import standard_error
from tests.statistics.tables import per_cent, show

SEED = 23
FEW_MESSAGES, MANY_MESSAGES = 80, 500  # in a window: their chance alone moves its p50 by 12 % and 5 %
OF_P99, FEWER = 1000, 10  # what p99 takes, in a tenth as many trials
STRICT, WIDE = {"p50": 1.1, "p99": 1.25}, {"p50": 1.25, "p99": 1.5}
FADES = {"a twelfth": 1 / 12, "a sixth": 1 / 6, "a third": 1 / 3, "all of it": 1.0}
SIZES = (0.2, 0.5, 1.0)
# of disturbances, and for how many windows they last
SCATTERS = ((0.02, 1.0), (0.05, 0.25), (0.05, 1.0), (0.1, 1.0))


def _simulated(
    measurement: Measurement, trials: int, messages: int, quantile: float, warmup: Warmup | None = None
) -> Measured:
    random = np.random.default_rng(zlib.crc32(measurement.name.encode()) + SEED)
    return measured(random, measurement, trials, messages, quantile, warmup)


def _warned(found: Measured, bound: float, judged: int = 1) -> NDArray[np.bool_]:
    """By the check's rule, of trials of which so many percentiles are judged."""
    p = np.minimum(1.0, shift(np.log(found.windows)).p * judged)
    ratio = found.last / found.first
    large = (ratio > bound) | (ratio < 1 / bound)
    warned: NDArray[np.bool_] = large & (p <= FALSE_ALARMS)
    return warned


def test_steady_trials_are_rarely_warned_about(size: Any) -> None:
    """In at most 5 % plus three standard errors, by the windows alone and so by the check, however messages follow one another."""
    most = FALSE_ALARMS + 3 * standard_error(FALSE_ALARMS, size.campaigns)
    rows, wrong = [], []
    for measurement in MEASUREMENTS:
        found = _simulated(measurement, size.campaigns, FEW_MESSAGES, 0.5)
        by_windows = float(np.mean(shift(np.log(found.windows)).p <= FALSE_ALARMS))
        by_check = [float(np.mean(_warned(found, bounds["p50"]))) for bounds in (STRICT, WIDE)]
        rows.append([measurement.name, per_cent(by_windows), *map(per_cent, by_check)])
        if not measurement.beyond and max(by_windows, *by_check) > most:
            wrong.append((measurement.name, by_windows, by_check))
    show(
        f"Share of {size.campaigns} trials without any warm-up that are warned about, by p50",
        ["trials", "windows alone", "bound 1.1", "bound 1.25"],
        rows,
    )
    assert not wrong


def test_two_percentiles_together_are_rarely_warned_about(size: Any) -> None:
    """p50 and p99 share the false alarms: where both are judged, at most 5 % of steady trials plus three standard errors are."""
    trials = size.campaigns // FEWER
    most = FALSE_ALARMS + 3 * standard_error(FALSE_ALARMS, trials)
    rows, wrong = [], []
    for measurement in (MEASUREMENTS[1], MEASUREMENTS[4], MEASUREMENTS[6]):
        both = {
            name: _simulated(measurement, trials, OF_P99, quantile) for name, quantile in (("p50", 0.5), ("p99", 0.99))
        }
        shares = [
            float(np.mean(np.any([_warned(found, bounds[name], 2) for name, found in both.items()], axis=0)))
            for bounds in (STRICT, WIDE)
        ]
        rows.append([measurement.name, *map(per_cent, shares)])
        wrong += [(measurement.name, share) for share in shares if share > most]
    show(
        f"Share of {trials} trials without any warm-up that are warned about, by p50 or p99",
        ["trials", "bounds 1.1 and 1.25", "bounds 1.25 and 1.5"],
        rows,
    )
    assert not wrong


def test_what_is_left_of_a_warm_up_is_seen(size: Any) -> None:
    """The larger it is, and the less there is beside it: half as much again that fades within a third of the measurement, beside
    disturbances of 5 %, in at least 80 % of trials. Where the thirds differ by less than the bound, nothing is called.
    """
    trials = size.campaigns // FEWER
    rows, seen = [], {}
    for initially in SIZES:
        for name, fades in FADES.items():
            row, ratio = [f"{1 + initially:g} times, fading within {name}"], 0.0
            for scatter, lasts in SCATTERS:
                measurement = Measurement("", wandering(lasts, scatter))
                found = _simulated(measurement, trials, MANY_MESSAGES, 0.5, Warmup(initially, fades))
                ratio = float(np.median(found.first / found.last))
                shares = [float(np.mean(_warned(found, bounds["p50"]))) for bounds in (STRICT, WIDE)]
                seen[initially, name, scatter, lasts] = shares
                row.append(" / ".join(map(per_cent, shares)))
            rows.append([row[0], f"{ratio:.2f}", *row[1:]])
    columns = [f"{scatter:.0%}, {lasts:g}" for scatter, lasts in SCATTERS]
    show(
        f"Share of {trials} trials with a warm-up left that are warned about (bound 1.1 / 1.25)",
        ["latency at first", "thirds' ratio", *columns],
        rows,
    )
    assert seen[0.5, "a third", 0.05, 1.0][0] >= 0.8
    assert max(shares[1] for key, shares in seen.items() if key[0] == 0.2) <= FALSE_ALARMS


def test_the_simulated_rule_is_the_checks() -> None:
    """Trial by trial the same is warned about."""
    found = _simulated(MEASUREMENTS[4], 100, MANY_MESSAGES, 0.5, Warmup(0.5, 1 / 3))
    told = [
        Change("p50", float(first), float(last), 1.1, float(shift(np.log(windows)).p)).is_shown
        for windows, first, last in zip(found.windows, found.first, found.last, strict=True)
    ]
    assert _warned(found, 1.1).tolist() == told
    assert 0 < sum(told) < len(told)


def test_how_much_of_a_warm_up_is_left_when_it_is_found_steady(size: Any) -> None:
    """By the load driver's rule, which decides when to measure. What fades within a few rounds is waited for; what fades more slowly
    is for the check to tell.
    """
    trials, rounds = size.campaigns // FEWER, np.arange(ROUNDS_IN_BOUND)
    rows, left = [], {}
    for fades in (0, 2, 5, 10, 40):
        fading = 1 + (np.exp(-rounds / fades) if fades else np.zeros(ROUNDS_IN_BOUND))
        row = [f"twice as slow, fading within {fades} rounds" if fades else "steady from the beginning"]
        for scatter in (0.02, 0.05, 0.1):
            noise = np.exp(np.random.default_rng(SEED).normal(0, scatter, (trials, ROUNDS_IN_BOUND)))
            found = [_found_steady_after(list(series)) for series in fading * noise]
            known = [count for count in found if count is not None]
            left[fades, scatter] = float(np.median([fading[count - 1] for count in known])) if known else np.nan
            told = f"{np.median(known):.0f} rounds, {left[fades, scatter]:.2f}" if known else "-"
            row.append(f"{per_cent(len(known) / trials)}: {told}")
        rows.append(row)
    show(
        f"Share of {trials} warm-ups that were found steady within {ROUNDS_IN_BOUND} rounds: after how many, and how slow it still was",
        ["latency", "scatter 2 %", "5 %", "10 %"],
        rows,
    )
    assert max(left[fades, 0.02] for fades in (0, 2, 5)) <= 1.1


def _found_steady_after(medians: list[float | None]) -> int | None:
    """How many rounds."""
    return next((count for count in range(ROUNDS, ROUNDS_IN_BOUND + 1) if is_steady(medians[:count])), None)
