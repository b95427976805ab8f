"""How near disks were to their vetted limit: the nearest machine, rates over the measured phase, bars with the limit."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.campaign import Trial
from analysis.disk_figure import disk_drawings, disk_use, vetted_write_per_s
from analysis.drawing import Palette
from analysis.evidence import Counts, Evidence, MachineUse

S = 1_000_000_000


def vetted(**by_device: float | None) -> dict[str, Any]:
    """A host's vetting with dd's rate of each device, judged by two rules."""
    verdicts = [
        {"device": device, "metric": metric, "measured": measured, "rule": rule}
        for device, measured in by_device.items()
        for metric in ("dd write", "dd read")
        for rule in ("preset", "fleet")
    ]
    return {"verdicts": verdicts}


def evidence(*machines: MachineUse, name: str = "b01-1-kafka", phases: bool = True) -> Evidence:
    """A trial of ten measured seconds in which 5,000 messages of 1,000 bytes were acknowledged."""
    document = {
        "system": "kafka", "durability": {"name": "2", "level": 2, "bypass": False}, "block": 1, "position": 1,
        "workload": {"name": "steady", "message_bytes": 1000, "backlog": None},
        "phases": [{"name": "measure", "start_ns": 5 * S, "end_ns": 15 * S}] if phases else [],
    }  # fmt: skip
    counts = Counts(0, 0, 0, 0, 0, 0, 0, 5000, {}, {}, {})
    return Evidence(Trial(name, document), (), counts, (), (), (), machines, ())


def test_the_machine_nearest_to_its_limit_is_shown() -> None:
    """Not the one that wrote most: its disks are faster."""
    fast, slow = MachineUse("broker-1", {}, 3e9, None), MachineUse("broker-2", {}, 2e9, None)
    limits = {"broker-1": vetted(nvme1n1=1e9, nvme2n1=1e9), "broker-2": vetted(nvme1n1=4e8)}
    found = disk_use(evidence(fast, slow), limits)
    assert found is not None
    assert (found.host, found.written_per_s, found.vetted_per_s) == ("broker-2", 2e8, 4e8)
    assert found.share == pytest.approx(0.5)
    assert found.payload_per_s == 500_000


def test_what_was_not_measured_is_not_drawn() -> None:
    """No phase, no disk counter: no bar. No vetting: a bar without a limit."""
    assert disk_use(evidence(MachineUse("broker-1", {}, None, None)), {}) is None
    assert disk_use(evidence(MachineUse("broker-1", {}, 1.0, None), phases=False), {}) is None
    found = disk_use(evidence(MachineUse("broker-1", {}, 1e9, None)), {})
    assert found is not None
    assert found.vetted_per_s is None
    assert found.share is None
    assert vetted_write_per_s(vetted(vda=None)) is None


def test_a_drawing_has_its_data() -> None:
    """One drawing per cell, a row per trial, the share written beside the bar."""
    trials = [evidence(MachineUse("broker-1", {}, 1e9, None), name=name) for name in ("b01-1-kafka", "b02-1-kafka")]
    (drawing,) = disk_drawings(trials, {"broker-1": vetted(vda=4e8)}, Palette({"kafka": "#D55E00"}, {"b02-1-kafka"}))
    assert [row[0] for row in drawing.rows] == ["b01-1-kafka", "b02-1-kafka"]
    assert drawing.rows[0][drawing.columns.index("vetted_bytes_per_s")] == 4e8
    assert "25.0% of vetted" in drawing.svg
