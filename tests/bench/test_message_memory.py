"""A system that keeps its messages in memory is asked for no more than it can hold."""

from __future__ import annotations

import pytest

from bench.campaign.contestant import plain
from bench.campaign.message_memory import check_message_memory
from bench.campaign.order import TrialSpec
from contract.workload import Workload
from provisioning.errors import MissingRequirement
from systems.deployment import Plan, Topic
from systems.registry import DURABILITY

FITS = 1_700_000  # messages of 1 KiB in the 2 GiB of a small host


def checked(system: str, rate_per_s: int, **overrides: str) -> None:
    """One trial of ten seconds."""
    trial = TrialSpec(
        "b01-1-x", 1, 1, plain(system), "1", Workload("steady", rate_per_s, 1024, measure_s=10, warmup_s=0), "one"
    )
    check_message_memory([trial], {trial.trial: Plan(DURABILITY["1"], (Topic("t", 1),), {}, {"server": overrides})})


def test_what_fits_is_run() -> None:
    """Also beyond the usual limit, where the campaign sets a higher one."""
    checked("valkey", FITS // 10)
    checked("valkey", FITS, maxmemory="32gb")


def test_what_does_not_fit_is_refused_with_the_figures_and_the_ways_out() -> None:
    """The server would refuse messages in the middle of the trial, and the rate would be its memory's."""
    with pytest.raises(MissingRequirement) as raised:
        checked("valkey", FITS)
    assert "b01-1-x sends about 17,000,000 messages of 1,024 bytes" in str(raised.value)
    assert "refuses more than about 1,800,000" in str(raised.value)
    assert "settings.valkey.server.maxmemory" in raised.value.next_step


@pytest.mark.parametrize("system", ["kafka", "nats", "pulsar"])
def test_messages_on_disk_are_not_counted(system: str) -> None:
    """The disk has a check of its own."""
    checked(system, 100 * FITS)
