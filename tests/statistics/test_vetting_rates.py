"""How many healthy fleets lose a host by the shipped rules of vetting, and which bad disks are caught: whole fleets, judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from provisioning.hosts.inventory import DataDir, HostRecord, SshAddress
from provisioning.vetting import load_thresholds
from provisioning.vetting.judge import judge
from provisioning.vetting.probes import Probes, Repeat, Series
from tests.statistics.rules import standard_error
from tests.statistics.tables import per_cent, show

SEED = 11
REPEATS = 3
FIGURES = 3  # dd write, dd read, fsync p50
THRESHOLDS = load_thresholds()
SCATTER = THRESHOLDS.fleet_rule.scatter
ASSUMED = (SCATTER.between, SCATTER.within)
NONE = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Size:
    """How much is simulated. `scatters`: between disks, within a disk."""

    fleets: int
    disks: tuple[int, ...]
    scatters: tuple[tuple[float, float], ...]


SHORT = Size(300, (3, 6), (ASSUMED,))
WHOLE = Size(1000, (3, 6, 12), ((0.02, 0.02), ASSUMED, (0.05, 0.05), (0.10, 0.03)))


@pytest.fixture(
    scope="module",
    params=[pytest.param(SHORT, id="short"), pytest.param(WHOLE, id="whole", marks=pytest.mark.statistics)],
)
def size(request: pytest.FixtureRequest) -> Size:
    """How large the simulation is."""
    assert isinstance(request.param, Size)
    return request.param


def _record(number: int) -> HostRecord:
    ssh, disk = SshAddress("127.0.0.1", 22, "samebox", ""), DataDir("/data/1", "/dev/nvme1n1", "/data", owned=True)
    return HostRecord(f"broker-{number}", "broker", ssh, "127.0.0.1", "/srv", (disk,), f"i-{number}", "x9.large", 1)


HOSTS = tuple(_record(number) for number in range(max(WHOLE.disks)))


def fleet(random: np.random.Generator, disks: int, scatter: tuple[float, float], worse: Sequence[float]) -> Probes:
    """Disks whose figures scatter as said; the first one's are worse by the shares of `worse`. Log-normal, all independent."""
    between, within = scatter
    logs = random.normal(0, between, (disks, 1, FIGURES)) + random.normal(0, within, (disks, REPEATS, FIGURES))
    logs[0] += np.log1p(-np.asarray(worse))
    p99 = np.exp(random.normal(0, 0.15, (disks, 1)) + random.normal(0, 0.15, (disks, REPEATS)))
    series = []
    for number, disk in enumerate(np.exp(logs)):
        repeats = tuple(
            Repeat(0, _results(write, read, 1 / flushes, p99[number, at]), {})
            for at, (write, read, flushes) in enumerate(disk)
        )
        host = HOSTS[number]
        series.append(Series("disk", "/data/1", {"disk": "nvme1n1"}, (host,), repeats))
    hosts = HOSTS[:disks]
    return Probes(hosts, {host.name: host.name for host in hosts}, tuple(series))


def _results(write: float, read: float, p50: float, p99: float) -> dict[str, dict[str, Any]]:
    samples_ns = [60e3 * p50] * 49 + [400e3 * p99]  # the 99th percentile of fifty is the last
    throughput = {"write": {"bytes_per_s": 1e9 * write}, "read": {"bytes_per_s": 2e9 * read}}
    return {"throughput": throughput, "fsync": {"samples_ns": samples_ns}}


def judged(size: Size, disks: int, scatter: tuple[float, float], worse: Sequence[float] = NONE) -> dict[str, float]:
    """Shares of fleets: with any disk rejected, with any warned about, with the first rejected, or at least warned about."""
    random = np.random.default_rng([SEED, disks, *(round(1000 * part) for part in (*scatter, *worse))])
    counts = dict.fromkeys(("rejected", "warned", "first rejected", "first noticed"), 0)
    for _ in range(size.fleets):
        verdicts = judge(fleet(random, disks, scatter, worse), THRESHOLDS).verdicts
        rejected = {verdict.host for verdict in verdicts if verdict.verdict == "reject"}
        warned = {verdict.host for verdict in verdicts if verdict.verdict == "warn"}
        counts["rejected"] += bool(rejected)
        counts["warned"] += bool(warned)
        counts["first rejected"] += HOSTS[0].name in rejected
        counts["first noticed"] += HOSTS[0].name in rejected | warned
    return {name: count / size.fleets for name, count in counts.items()}


def test_a_healthy_fleet_keeps_its_hosts(size: Size) -> None:
    """At the scatter that the thresholds assume, of every size of fleet no more lose a host than the thresholds say."""
    stated = THRESHOLDS.fleet_rule.false_rejections
    rows, wrong = [], []
    for scatter in size.scatters:
        for disks in size.disks:
            found = judged(size, disks, scatter)
            names = (f"{scatter[0]:.0%} between, {scatter[1]:.0%} within", str(disks))
            rows.append([*names, per_cent(found["rejected"]), per_cent(found["warned"])])
            if scatter == ASSUMED and found["rejected"] > stated + 3 * standard_error(stated, size.fleets):
                wrong.append((disks, found))
    show(f"Healthy fleets, {size.fleets} of each", ["scatter", "disks", "lose a host", "are warned"], rows)
    assert not wrong


BAD = {
    "dd write 15 % lower": (0.15, 0.0, 0.0),
    "dd write 20 % lower": (0.20, 0.0, 0.0),
    "dd write 25 % lower": (0.25, 0.0, 0.0),
    "dd write 30 % lower": (0.30, 0.0, 0.0),
    "all three 14 % worse": (0.14, 0.14, 0.14),
    "all three 20 % worse": (0.20, 0.20, 0.20),
}


def test_a_bad_disk_is_caught(size: Size) -> None:
    """A disk that writes 30 % less is rejected in nine of ten fleets; one a little worse in everything is at least noticed."""
    rows = []
    for name, worse in BAD.items():
        for disks in size.disks:
            found = judged(size, disks, ASSUMED, worse)
            rows.append([name, str(disks), per_cent(found["first rejected"]), per_cent(found["first noticed"])])
            if name == "dd write 30 % lower":
                assert found["first rejected"] > 0.9, found
            if name == "all three 14 % worse":
                assert found["first noticed"] > 0.9, found
    show(
        f"One bad disk, {size.fleets} fleets of each", ["it is", "disks", "rejected", "rejected or warned about"], rows
    )
