"""The bounds of the fleet rule: what they follow from, and that the documentation states them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from provisioning.vetting import load_thresholds
from provisioning.vetting.scatter import Scatter, deviation_bound, log_worse, share_of

DOCS = Path(__file__).resolve().parents[2] / "docs" / "vetting.md"
RULE = load_thresholds().fleet_rule
FIGURES = 3


def bound(disks: int, rate: float, *, averaged: int = 1, scatter: Scatter = RULE.scatter) -> float:
    """The log-deviation for three repeats, as the fleet rule asks for it."""
    tests = disks * (1 if averaged > 1 else FIGURES)
    return deviation_bound(scatter, disks=disks, repeats=3, tests=tests, rate=rate, averaged=averaged)


def shown(log_bound: float, *, rate: bool = True) -> str:
    """As the documentation writes it."""
    return f"{100 * share_of(log_bound, higher_is_better=rate):.1f} %"


@pytest.mark.parametrize("disks", [3, 6, 9, 12, 24])
def test_the_documentation_states_the_bounds(disks: int) -> None:
    """For rates in a table, for latencies in the sentence below it."""
    reject, warn = bound(disks, RULE.false_rejections), bound(disks, RULE.false_warnings)
    together = bound(disks, RULE.false_warnings, averaged=FIGURES)
    text = DOCS.read_text()
    assert f"| {disks} | {shown(reject)} | {shown(warn)} | {shown(together)} |" in text
    latencies = re.search(r"the same rejection bounds mean ([0-9., and]+) % longer", text)
    assert latencies is not None
    assert shown(reject, rate=False).removesuffix(" %") in re.findall(r"[0-9.]+", latencies.group(1))


@pytest.mark.parametrize("disks", [3, 4, 6, 12])
def test_the_bound_is_crossed_as_rarely_as_it_says(disks: int) -> None:
    """By 200,000 fleets of one figure, drawn from normal logarithms: at most 1 % lose a disk, and no less than half of that."""
    random = np.random.default_rng(5)
    scatter = RULE.scatter
    between = random.normal(0, scatter.between, (200_000, disks, 1))
    figures = np.median(between + random.normal(0, scatter.within, (200_000, disks, 3)), axis=2)
    others = [np.median(np.delete(figures, number, axis=1), axis=1) for number in range(disks)]
    worse = np.stack(others, axis=1) - figures
    limit = deviation_bound(scatter, disks=disks, repeats=3, tests=disks, rate=0.01)
    lost = float((worse > limit).any(axis=1).mean())
    assert 0.005 < lost < 0.0115


def test_more_disks_figures_and_scatter_widen_it() -> None:
    """A correction for the number of tests, and none for free."""
    assert bound(24, 0.01) > bound(12, 0.01)
    assert bound(6, 0.01) > bound(6, 0.05)
    assert bound(6, 0.01, scatter=replace(RULE.scatter, between=0.1)) > 1.5 * bound(6, 0.01)
    assert bound(6, 0.01, scatter=replace(RULE.scatter, within=0.1)) > bound(6, 0.01)


def test_worse_is_one_side_for_rates_and_latencies() -> None:
    """A rate that is half and a latency that is double are equally bad, and said in their own terms."""
    rate = log_worse(50.0, 100.0, higher_is_better=True)
    latency = log_worse(200.0, 100.0, higher_is_better=False)
    assert rate == pytest.approx(latency)
    assert share_of(rate, higher_is_better=True) == pytest.approx(0.5)
    assert share_of(latency, higher_is_better=False) == pytest.approx(1.0)
