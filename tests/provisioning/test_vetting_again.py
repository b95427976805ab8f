"""Disks probed again in the middle of a campaign: what counts as a change since the first probe."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from provisioning.hosts.inventory import Inventory
from provisioning.vetting import load_thresholds
from provisioning.vetting.again import ProbedAgain, probe_again, short_profile
from tests.provisioning.probed_hosts import GOOD, Cloud, ProbedHost

KIT = load_thresholds()


def hosts(write: int = GOOD, flush_ns: Sequence[int] = (50_000,) * 1000) -> list[ProbedHost]:
    """Two brokers; the second one's disk writes and flushes as said."""
    made = Cloud({"broker-1": [GOOD], "broker-2": [write]}).connect(_inventory())
    made[1].flush_ns = list(flush_ns)
    return made


def _inventory() -> Inventory:
    return Cloud({"broker-1": [GOOD], "broker-2": [GOOD]}).inventory()


def probed(some: Sequence[ProbedHost], first: ProbedAgain | None = None) -> ProbedAgain:
    """A probe without pauses; what it is compared with has been to disk and back."""
    document = json.loads(json.dumps(first.document)) if first else None
    return probe_again(some, KIT, document, progress=lambda *_: None, sleep=lambda _: None)


def warnings(found: ProbedAgain) -> list[tuple[str, str, str]]:
    """Host, metric and rule of what is warned about."""
    return [(v.host, v.metric, v.rule) for v in found.verdicts if v.verdict == "warn"]


def test_the_first_probe_is_compared_with_nothing() -> None:
    """It says how long flushes take, and rejects nobody."""
    first = probed(hosts())
    assert {v.rule for v in first.verdicts} == {"fsync", "stalls"}
    assert warnings(first) == []
    assert [each["figures"]["write_bytes_per_s"] for each in first.document["series"]] == [GOOD, GOOD]


@pytest.mark.parametrize(("write", "changed"), [(870_000_000, False), (840_000_000, True), (1_300_000_000, False)])
def test_a_disk_that_has_become_worse_is_warned_about(write: int, changed: bool) -> None:
    """By more than 15 % of what it gave at the first probe, whatever its neighbour gives; better is no warning."""
    found = probed(hosts(write), probed(hosts()))
    assert warnings(found) == [("broker-2", metric, "change") for metric in ("dd write", "dd read") if changed]
    sentence = next(v.sentence for v in found.verdicts if (v.host, v.metric) == ("broker-2", "dd write"))
    assert "than at the first probe, 1000 MB/s (bound 15%)" in sentence


STALLING = [200_000_000] * 2 + [50_000] * 998


def test_stalls_that_were_not_there_are_warned_about() -> None:
    """What the median can't show: the same p50, and now flushes that stand still."""
    found = probed(hosts(flush_ns=STALLING), probed(hosts()))
    assert warnings(found) == [("broker-2", "fsync stalls", "change")]


def test_stalls_that_were_there_from_the_beginning_are_no_change() -> None:
    """The vetting has accepted them; nothing has become worse."""
    first = probed(hosts(flush_ns=STALLING))
    assert warnings(first) == [("broker-2", "fsync stalls", "stalls")]
    assert warnings(probed(hosts(flush_ns=STALLING), first)) == []


def test_the_probe_is_short_on_every_type() -> None:
    """64 GiB at the vetting, 1 GiB in the middle; a type that is probed with less keeps to that."""
    assert short_profile("i3en.6xlarge", KIT) == KIT.profiles["short"]
    assert short_profile("local", KIT) == KIT.profiles["small"]


def test_what_is_kept_is_json_with_every_sample() -> None:
    """A later reader can judge anew."""
    document: dict[str, Any] = json.loads(json.dumps(probed(hosts()).document))
    assert len(document["series"][0]["repeats"]) == 3
    assert len(document["series"][0]["repeats"][0]["results"]["fsync"]["samples_ns"]) == 1000
