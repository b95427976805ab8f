"""Bounds on clock offsets between hosts: arithmetic on given readings, an exchange with a skewed clock, and real hosts."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from provisioning.errors import Completed, HostError
from provisioning.hosts.clocks import (
    ANSWER_COMMAND,
    EXCHANGES,
    ClockReading,
    bounds,
    chrony_source,
    clock_bounds,
    parse_chrony,
    read_clock,
)
from provisioning.hosts.host import RemoteProcess, ScriptedHost
from provisioning.hosts.inventory import HostRecord, SshAddress
from provisioning.hosts.ssh import SshHost

TRACKING = (
    "A9FEA97B,169.254.169.123,4,1700000000.1,-0.000012,0.000003,0.00002,-1.2,0.001,0.02,0.000300,0.000200,16.1,Normal"
)


def reading(
    boot_id: str = "a", offset_ns: int = 0, uncertainty_ns: int = 1000, anchor_ns: int = 0, chrony: int | None = None
) -> ClockReading:
    """A reading with an anchor known to 50 ns."""
    return ClockReading(boot_id, offset_ns, uncertainty_ns, anchor_ns, 50, chrony)


def test_exchange_adds_both_uncertainties_to_the_difference() -> None:
    """Two machines without a time service: what the operator's clock shows cancels out."""
    found = bounds({"x": reading("a", 5_000_000, 1000), "y": reading("b", 5_200_000, 3000)})
    assert (found["x"].bound_ns, found["x"].method) == (204_000, "exchange")
    assert found["y"].bound_ns == 204_000


def test_hosts_of_one_machine_are_bounded_by_their_anchors() -> None:
    """The same boot id is the same clock, however long the round trips were."""
    found = bounds({"x": reading("a", 9_000, 80_000_000, 100), "y": reading("a", 0, 80_000_000, 400)})
    assert (found["x"].bound_ns, found["x"].method) == (400, "same-clock")


def test_chrony_beats_a_far_operator() -> None:
    """Over a long line the hosts' own time services give the tighter bound."""
    found = bounds({"x": reading("a", 0, 40_000_000, chrony=362_000), "y": reading("b", 0, 40_000_000, chrony=300_000)})
    assert (found["x"].bound_ns, found["x"].method) == (662_000, "chrony")


def test_the_loosest_pair_counts() -> None:
    """A host close to one and far from another is bounded by the far one."""
    found = bounds({"x": reading("a"), "y": reading("a"), "z": reading("b", 7_000_000)})
    assert found["x"].bound_ns == found["z"].bound_ns == 7_002_000
    assert found["x"].method == "exchange"


def test_a_single_host_is_bounded_by_its_own_reading() -> None:
    """With nobody to differ from, only the reading time is left."""
    assert bounds({"x": reading()})["x"].bound_ns == 50


@pytest.mark.parametrize(
    ("tracking", "expected"),
    [
        (TRACKING, 362_000),
        (TRACKING.replace("Normal", "Not synchronised"), None),
        ("", None),
        ("506 Cannot talk to daemon\n", None),
    ],
)
def test_chrony_tracking(tracking: str, expected: int | None) -> None:
    """Offset, root dispersion and half the root delay add up; an unsynchronised clock has no bound."""
    assert parse_chrony(tracking) == expected


BY_PTP = "50484330,PHC0,1,1700000000.1,0.000000023,0.000003,0.00002,-1.2,0.001,0.02,0.000010000,0.000001897,1.0,Normal"


@pytest.mark.parametrize(
    ("errors", "expected"), [(("18000",), 24_920), (("18000", "21000"), 27_920), ((), None), (("unavailable",), None)]
)
def test_a_ptp_clocks_own_error_is_added(errors: tuple[str, ...], expected: int | None) -> None:
    """chrony takes a PTP hardware clock for true time: its driver says how far it may be off, and without that nothing is known."""
    assert parse_chrony(BY_PTP, errors) == expected
    assert parse_chrony(TRACKING, errors) == 362_000


def test_what_a_host_follows_is_kept() -> None:
    """By chrony's name for it; nobody's, where it isn't synchronised."""
    assert (chrony_source(BY_PTP), chrony_source(TRACKING)) == ("PHC0", "169.254.169.123")
    assert chrony_source(TRACKING.replace("Normal", "Not synchronised")) is None
    follows = ClockReading("a", 0, 1000, 0, 50, 25_000, "PHC0")
    assert bounds({"x": follows, "y": reading("b", chrony=300_000)})["x"].source == "PHC0"


@dataclass
class SkewedProcess:
    """A remote clock `skew_ns` ahead, whose answers take `delay_s`."""

    skew_ns: int
    delay_s: float
    first: str = json.dumps({"boot_id": "far", "chrony": ""})
    pending: list[str] = field(default_factory=list)
    closed: bool = False

    def send_line(self, line: str) -> None:
        del line
        time.sleep(self.delay_s)
        self.pending.append(json.dumps([time.time_ns() + self.skew_ns, time.monotonic_ns(), 70]))

    def lines(self) -> Iterator[str]:
        yield self.first
        while self.pending:
            time.sleep(self.delay_s)
            yield self.pending.pop(0)

    def wait(self, *, timeout_s: float) -> Completed:
        raise AssertionError(timeout_s)

    def close(self) -> None:
        self.closed = True


@dataclass
class ClockHost(ScriptedHost):
    """Spawns one given process for the clock's command."""

    process: SkewedProcess = field(default_factory=lambda: SkewedProcess(0, 0))

    def spawn(self, command: str) -> RemoteProcess:
        assert command == ANSWER_COMMAND
        return self.process


def clock_host(process: SkewedProcess) -> ClockHost:
    """A host with that clock."""
    record = HostRecord("far-1", "client", SshAddress("::1", 22, "u", "k"), "::1", "/srv/s", (), "i-1", "t", 1)
    return ClockHost(record, process=process)


def test_a_skewed_clock_is_found_within_its_uncertainty() -> None:
    """A clock three seconds ahead behind a 2 ms line: the true offset lies within the stated uncertainty."""
    process = SkewedProcess(3_000_000_000, 0.001)
    found = read_clock(clock_host(process))
    assert abs(found.offset_ns - 3_000_000_000) <= found.uncertainty_ns
    assert found.uncertainty_ns >= 1_000_000
    assert found.boot_id == "far"
    assert process.closed
    assert EXCHANGES >= 10


def test_a_host_that_answers_nonsense_is_named() -> None:
    """No python3 on the host is an error with its words, and the channel is closed."""
    process = SkewedProcess(0, 0, first="sh: python3: not found")
    with pytest.raises(HostError, match=r"far-1: its clock can't be read.*python3: not found"):
        read_clock(clock_host(process))
    assert process.closed


@pytest.mark.integration
def test_clocks_of_the_local_testbed(hosts: dict[str, SshHost]) -> None:
    """Over real sshd: one machine, one clock, so the bound is far below any SSH round trip."""
    found = clock_bounds(list(hosts.values()))
    assert set(found) == set(hosts)
    assert {bound.method for bound in found.values()} == {"same-clock"}
    assert all(0 < bound.bound_ns < 1_000_000 for bound in found.values())
