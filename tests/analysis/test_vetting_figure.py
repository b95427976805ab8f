"""Disks beside their fleet: which are one disk, the worst verdict of each, and the data of the drawing."""

from __future__ import annotations

from typing import Any

from analysis.vetting_figure import Reading, readings, vetting_drawings


def verdict(metric: str, measured: float | None, outcome: str = "accept", device: str = "nvme1n1") -> dict[str, Any]:
    """One entry of a vetting document."""
    return {"device": device, "metric": metric, "measured": measured, "verdict": outcome}


SLOW = [verdict("dd write", 3e8, "reject"), verdict("dd write", 3e8, "not judged"), verdict("dd write variation", 0.2)]
FAST = [verdict("dd write", 6e8), verdict("fsync p99", 2e6, "warn"), verdict("dd read", None)]


def test_a_disk_has_the_worst_verdict_of_its_rules() -> None:
    """A metric that several rules judge is one mark; what isn't a disk's figure, or was not measured, is none."""
    assert readings({"broker-1": {"verdicts": SLOW}, "broker-2": {"verdicts": FAST}}) == [
        Reading("broker-1", "nvme1n1", "dd write", 3e8, "reject"),
        Reading("broker-2", "nvme1n1", "dd write", 6e8, "accept"),
        Reading("broker-2", "nvme1n1", "fsync p99", 2e6, "warn"),
    ]


def test_hosts_of_one_disk_are_one_row() -> None:
    """They were told the same readings."""
    found = readings({name: {"verdicts": FAST} for name in ("broker-1", "broker-2", "client-1")})
    assert [(each.hosts, each.metric) for each in found] == [
        ("broker-1 and 2 more", "dd write"),
        ("broker-1 and 2 more", "fsync p99"),
    ]


def test_the_drawing_has_a_panel_per_metric_and_its_data() -> None:
    """Nothing measured, no drawing."""
    assert vetting_drawings({"broker-1": {"verdicts": []}}) == []
    (drawing,) = vetting_drawings({"broker-1": {"verdicts": SLOW}, "broker-2": {"verdicts": FAST}})
    assert "dd write (MB/s)" in drawing.svg
    assert "fsync p99 (ms)" in drawing.svg
    assert "dd read (MB/s)" not in drawing.svg
    assert [row[3] for row in drawing.rows] == [3e8, 6e8, 2e6]
