"""How what goes wrong in a trial becomes the reason that it ended."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest

from bench.campaign.campaign_file import load_campaign
from bench.campaign.order import order_of
from bench.progress import PlainReporter
from bench.run.attempt import TrialLog, failures_end, quietly
from provisioning.errors import DeploymentError, HostsFailed, HostUnreachable, ResetError, SameboxError

CAMPAIGN = Path(__file__).resolve().parents[2] / "campaigns" / "smoke.toml"


@pytest.fixture
def log() -> TrialLog:
    """The log of a trial that has just begun."""
    lines: list[str] = []
    return TrialLog(
        order_of(load_campaign(CAMPAIGN))[0], PlainReporter(lines.append), on_step=lambda _name: nullcontext()
    )


def wrapped() -> DeploymentError:
    """A tool's failure behind which a host was lost."""
    error = DeploymentError("the tool failed")
    error.__cause__ = HostUnreachable("broker-2", "cut off")
    return error


@pytest.mark.parametrize(
    ("error", "rule", "host"),
    [
        (HostsFailed("starting", {"broker-1": HostUnreachable("broker-1", "cut off")}), "host-lost", "broker-1"),
        (wrapped(), "host-lost", "broker-2"),
        (DeploymentError("it died", next_step="Look at its log."), "deployment-failed", None),
        (ResetError("still running"), "kit-failed", None),
    ],
)
def test_failures_become_reasons(log: TrialLog, error: SameboxError, rule: str, host: str | None) -> None:
    """The rule tells what failed, a lost host goes before what it made fail, and the advice is kept."""
    with failures_end(log):
        raise error
    assert log.abort is not None
    assert (log.abort["rule"], log.abort["axis"], log.abort["host"]) == (rule, "validity", host)
    assert error.next_step in log.abort["reason"]


def test_the_first_reason_stands(log: TrialLog) -> None:
    """What cleaning up meets afterwards doesn't replace it."""

    def fail() -> None:
        raise DeploymentError("afterwards")

    log.end("nothing-acknowledged", "outcome", "silent for 30 s")
    quietly(log, fail)
    assert log.abort is not None
    assert log.abort["rule"] == "nothing-acknowledged"


@pytest.mark.parametrize(
    ("error", "rule", "host"),
    [
        (
            HostsFailed("ending telemetry", {"broker-1": HostUnreachable("broker-1", "cut off")}),
            "host-lost",
            "broker-1",
        ),
        (DeploymentError("no log there"), "kit-failed", None),
    ],
)
def test_cleaning_up_may_find_a_lost_host(log: TrialLog, error: SameboxError, rule: str, host: str | None) -> None:
    """A connection that was cut while nobody looked shows when the samplers are ended: the host is named."""

    def fail() -> None:
        raise error

    quietly(log, fail)
    assert log.abort is not None
    assert (log.abort["rule"], log.abort["axis"], log.abort["host"]) == (rule, "validity", host)


def test_an_interrupt_is_not_a_reason(log: TrialLog) -> None:
    """Ctrl-C goes through: an interrupted trial is no result."""
    with pytest.raises(KeyboardInterrupt), failures_end(log):
        raise KeyboardInterrupt
    assert log.abort is None
