"""A planned probe is taken on clean hosts, kept in the results folder, and compared with the first one that is there."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench.progress import PlainReporter
from bench.results.folder import Results
from bench.run.revetting import PlannedProbe, take_probe
from provisioning.errors import HostsFailed
from provisioning.vetting import load_thresholds
from provisioning.vetting.again import probe_again
from tests.provisioning.probed_hosts import GOOD, Cloud, ProbedHost

FIRST = PlannedProbe("00", (), ("b01-1-kafka",))
SECOND = PlannedProbe("01", ("b01-1-kafka",), ())
BAD = 600_000_000


@pytest.fixture
def happened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What happened to the hosts, in order; resets do nothing, and nobody waits between repeats."""
    done: list[str] = []

    def reset(hosts: Sequence[ProbedHost], stop: Any, **_options: Any) -> SimpleNamespace:
        del stop
        assert all(host.probed == [] for host in hosts), "probed before the reset"
        done.append("reset")
        return SimpleNamespace(as_observation=lambda: {"method": "drop_caches"})

    monkeypatch.setattr("bench.run.revetting.reset", reset)
    monkeypatch.setattr("bench.run.revetting.probe_again", partial(probe_again, sleep=lambda _: None))
    return done


def take(planned: PlannedProbe, folder: Path, write: int = GOOD) -> tuple[list[ProbedHost], list[str]]:
    """The hosts, of which the first one's disk writes as said, and the lines that the user sees."""
    cloud = Cloud({"broker-1": [write], "broker-2": [GOOD]})
    hosts, lines = cloud.connect(cloud.inventory()), list[str]()
    reporter = PlainReporter(lines.append)
    reporter.plan([planned.step])
    equipped: Any = SimpleNamespace(hosts=tuple(hosts), drop_caches=None)
    take_probe(planned, equipped, load_thresholds(), Results(folder), reporter)
    return hosts, lines


def kept(folder: Path, name: str) -> dict[str, Any]:
    """The document of a probe."""
    document: dict[str, Any] = json.loads((folder / "vetting" / "again" / f"{name}.json").read_text())
    return document


def test_a_probe_is_kept_with_what_it_covers(tmp_path: Path, happened: list[str]) -> None:
    """The hosts are reset first, so that every probe finds the same empty disks; the network is left alone."""
    hosts, _ = take(FIRST, tmp_path)
    document = kept(tmp_path, "00")
    assert happened == ["reset"]
    assert set(hosts[0].probed) == {"device", "idle", "throughput", "fsync"}
    assert (document["before"], document["after"], document["compared_with"]) == (["b01-1-kafka"], [], None)
    assert document["reset"] == {"method": "drop_caches"}
    assert Results(tmp_path).probed() == ("00",)


def test_a_change_is_said_at_once_and_kept(tmp_path: Path, happened: list[str]) -> None:
    """A disk that writes 40 % less than at the first probe is a line on the screen and a verdict in the document."""
    take(FIRST, tmp_path)
    _, lines = take(SECOND, tmp_path, BAD)
    document = kept(tmp_path, "01")
    assert document["compared_with"] == "00"
    warned = [v for v in document["verdicts"] if v["verdict"] == "warn"]
    assert {(v["host"], v["metric"]) for v in warned} == {("broker-1", "dd write"), ("broker-1", "dd read")}
    assert any("warning: dd write 600 MB/s is 40.0% worse than at the first probe" in line for line in lines)
    assert happened == ["reset", "reset"]


def test_a_probe_that_is_cut_off_leaves_nothing(
    tmp_path: Path, happened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host that fails ends the run, and the resumed one takes the probe anew."""
    del happened

    def failing(*_args: Any, **_options: Any) -> None:
        raise HostsFailed("probing", {"broker-1": RuntimeError("gone")})

    monkeypatch.setattr("bench.run.revetting.probe_again", failing)
    with pytest.raises(HostsFailed):
        take(FIRST, tmp_path)
    assert Results(tmp_path).probed() == ()
