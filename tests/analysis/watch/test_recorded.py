"""What a watch takes from a campaign's documents."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from analysis.errors import AnalysisError
from analysis.watch.__main__ import main
from analysis.watch.recorded import round_in
from contract.watch_history import Known, Suspicion, WatchedBlock, round_of

CONTESTANTS = ({"name": "toy-1.0", "version": "1.0"}, {"name": "toy-1.1", "version": "1.1"})
MANIFEST = {
    "schema": 1,
    "campaign": "watch-toy-1",
    "created_ns": 17,
    "testbed": {"testbed": {"kind": "local"}},
    "definition": {"contestants": CONTESTANTS},
}


def written(folder: Path, *, pacing: str = "open-loop", validity: Mapping[str, str] | None = None) -> Path:
    """A results folder with two blocks of two contestants, and what its report has of them."""
    names = [(block, each["name"]) for block in (1, 2) for each in CONTESTANTS]
    trials = [
        {
            "trial": f"b{block}-{name}",
            "validity": (validity or {}).get(f"b{block}-{name}", "valid"),
            "workload": {"pacing": pacing},
        }
        for block, name in names
    ]
    summary = [
        {"trial": f"b{block}-{name}", "contestant": name, "block": block, "metric": metric, **_known(value + block)}
        for block, name in names
        for metric, value in (("response_latency_p99", 10.0), ("throughput_achieved", 90.0), ("send_delay_p99", 1.0))
    ]
    outcomes = [
        {"contestant": "toy-1.0", "not_met": {}},
        {"contestant": "toy-1.1", "not_met": {"no-loss": 2}},
    ]
    report = {"schema": 1, "trials": trials, "summary": summary, "outcomes": outcomes}
    (folder / "report").mkdir(parents=True)
    (folder / "manifest.json").write_text(json.dumps(MANIFEST))
    (folder / "report" / "report.json").write_text(json.dumps(report))
    return folder


def _known(value: float) -> dict[str, Any]:
    return {"value": value, "low": value, "high": None if value > 100 else value}


def test_an_offered_rate_is_watched_by_its_response_latency(tmp_path: Path) -> None:
    """Block by block, by the contestants' versions; the anchor, which is the first of them, isn't one of the versions."""
    found = round_in(written(tmp_path / "results"))
    assert (found.campaign, found.created_ns, found.testbed, found.versions) == ("watch-toy-1", 17, "local", ("1.1",))
    assert found.metrics == {
        "response_latency_p99": tuple(
            WatchedBlock(block, dict.fromkeys(("1.0", "1.1"), Known(10.0 + block, 10.0 + block, 10.0 + block)))
            for block in (1, 2)
        )
    }
    assert (found.not_met, found.excluded) == ({"1.1": {"no-loss": 2}}, 0)


@pytest.mark.parametrize("pacing", ["search", "closed-loop"])
def test_a_rate_of_its_own_is_watched_itself(tmp_path: Path, pacing: str) -> None:
    """Latencies under unlike loads say nothing."""
    assert set(round_in(written(tmp_path / "results", pacing=pacing)).metrics) == {"throughput_achieved"}


def test_what_is_not_sound_has_no_value(tmp_path: Path) -> None:
    """Its block has the other one's only, and it is counted."""
    found = round_in(written(tmp_path / "results", validity={"b1-toy-1.1": "invalid"}))
    assert [set(each.values) for each in found.metrics["response_latency_p99"]] == [{"1.0"}, {"1.0", "1.1"}]
    assert found.excluded == 1


def test_a_round_survives_being_printed_and_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With what it was run to confirm."""
    results = written(tmp_path / "results")
    suspicion = {"before": "1.0", "version": "1.1", "metrics": ["response_latency_p99"]}
    assert main(["round", str(results), json.dumps([suspicion])]) == 0
    assert round_of(json.loads(capsys.readouterr().out)) == round_in(
        results, [Suspicion("1.0", "1.1", ("response_latency_p99",))]
    )


def test_a_report_of_another_version_is_refused(tmp_path: Path) -> None:
    """With what to do about it."""
    results = written(tmp_path / "results")
    (results / "report" / "report.json").write_text('{"schema": 1, "trials": []}')
    with pytest.raises(AnalysisError, match="its documents lack 'summary'") as raised:
        round_in(results)
    assert "samebox report" in raised.value.next_step
