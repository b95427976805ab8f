"""Two campaigns side by side: refused while they are unlike, compared when they are alike or the difference is meant."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from analysis.errors import AnalysisError
from analysis.two_campaigns.__main__ import compare

MANIFEST: dict[str, Any] = {
    "schema": 1,
    "campaign": "steady",
    "created_ns": 1,
    "git": {"commit": "abc", "dirty": False},
    "samebox_version": "0.1.0",
    "testbed": {
        "testbed": {"kind": "aws", "name": "t"},
        "hosts": [
            {
                "name": "broker-1",
                "role": "broker",
                "instance_type": "i3en.2xlarge",
                "address": "10.0.0.7",
                "root": "/mnt/7",
                "data_dirs": [{"path": "/mnt/7/data"}],
            },
            {"name": "client-1", "role": "client", "instance_type": "m5n.2xlarge"},
        ],
    },
    "facts": {"broker-1": {"cpu_model": "A", "cpus": 8}, "client-1": {"cpu_model": "B", "cpus": 8}},
    "scale": None,
    "durability_table": {"kafka": {"2": {"topic": {"min.insync.replicas": "2"}}}},
    "system_profile": {"name": "sn2020"},
    "definition": {"settings": {}},
    "checks": [{"check": "steal", "bounds": {"share": 0.01}}],
    "software": {"kafka": {"version": "4.3.1", "sha256": "1"}},
}


def trial(name: str, p99_ms: float, validity: str = "valid") -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A trial of report.json and its rows of the summary."""
    rows = [
        {"metric": "response_latency_p99", "unit": "ms", "value": p99_ms},
        {"metric": "cpu_busy_share", "unit": "share", "value": 0.5},
    ]
    own = {"trial": name, "system": "kafka", "durability": "2", "workload": "steady"}
    workload = {"name": "steady", "rate_per_s": 2000, "pacing": "open-loop"}
    shown = {"trial": name, "validity": validity, "system": "kafka", "durability": {"name": "2"}, "workload": workload}
    return shown, [{**own, **row} for row in rows]


def campaign(folder: Path, *trials: tuple[dict[str, Any], list[dict[str, Any]]], **changes: Any) -> Path:
    """A results folder with a report."""
    report = {
        "schema": 1,
        "trials": [each for each, _ in trials],
        "summary": [row for _, rows in trials for row in rows],
    }
    (folder / "report").mkdir(parents=True)
    (folder / "manifest.json").write_text(json.dumps({**copy.deepcopy(MANIFEST), **changes}))
    (folder / "report" / "report.json").write_text(json.dumps(report))
    for each, _ in trials:
        read_back(folder, each["trial"])
    return folder


def read_back(folder: Path, name: str, *, address: str = "10.0.0.7", root: str = "/mnt/7", **changes: str) -> None:
    """A trial's file with what its one broker says of itself, and what its clients were given."""
    broker = {"listeners": f"{address}:9092", "log.dirs": f"{root}/data/logs", "flush": "1", **changes}
    file = folder / "trials" / name / "trial.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"settings": {"effective": {"broker/broker-1": broker}, "client": {"acks": "all"}}}))


def test_alike_campaigns_are_put_side_by_side(tmp_path: Path) -> None:
    """Medians over sound trials, the second over the first; a metric that is no headline is left out."""
    first = campaign(tmp_path / "a", trial("b01", 4.0), trial("b02", 6.0), trial("b03", 90.0, "invalid"))
    second = campaign(tmp_path / "b", trial("b01", 10.0), trial("b02", 15.0), created_ns=2)
    document = compare(first, second)
    assert document["differences"] == []
    (figure,) = document["figures"]
    assert (figure["metric"], figure["system"], figure["durability"]) == ("response_latency_p99", "kafka", "2")
    assert [figure[name]["value"] for name in ("first_median", "second_median", "ratio")] == [5.0, 12.5, 2.5]
    assert figure["first"] == {"value": None, "low": 4.0, "high": 6.0}
    assert not figure["overlap"]


@pytest.mark.parametrize(
    ("changes", "group", "named"),
    [
        ({"software": {"kafka": {"version": "4.2.0", "sha256": "1"}}}, "software", "kafka.version: 4.3.1 / 4.2.0"),
        ({"system_profile": {"name": "sn2022"}}, "settings", "profile: sn2020 / sn2022"),
        ({"checks": [{"check": "steal", "bounds": {"share": 0.5}}]}, "checks", "steal.share: 0.01 / 0.5"),
        ({"scale": {"name": "local", "rules": []}}, "scale", "scale: none / -"),
        ({"samebox_version": "0.2.0"}, "samebox", "version: 0.1.0 / 0.2.0"),
        ({"git": {"commit": "def", "dirty": False}}, "samebox", "commit: abc / def"),
        ({"git": {"commit": None, "dirty": None}}, "samebox", "commit: abc / not recorded"),
        ({"git": {"commit": "abc", "dirty": True}}, "samebox", "changes to it: none / not recorded"),
        ({"git": {"commit": "abc", "dirty": True, "changes_sha256": "12"}}, "samebox", "changes to it: none / 12"),
        ({"facts": {"broker-1": {"cpu_model": "C", "cpus": 8}}}, "machines", "broker.cpu_model: A / C"),
    ],
)
def test_unlike_campaigns_are_refused(tmp_path: Path, changes: dict[str, Any], group: str, named: str) -> None:
    """The difference is named with both values, and what to type if it is the one that is to be seen."""
    first, second = campaign(tmp_path / "a", trial("b01", 4.0)), campaign(tmp_path / "b", trial("b01", 4.0), **changes)
    with pytest.raises(AnalysisError, match="are not alike") as refused:
        compare(first, second)
    assert f"{group}: {named}" in str(refused.value)
    assert f"--despite {group}" in refused.value.next_step
    found = compare(first, second, despite=[group])
    assert {each["group"] for each in found["differences"]} == {group}


def test_what_was_read_back_must_be_alike(tmp_path: Path) -> None:
    """A setting that a running process had otherwise is named, whatever was intended; one that only says which host it is isn't."""
    first, second = campaign(tmp_path / "a", trial("b01", 4.0)), campaign(tmp_path / "b", trial("b01", 4.0))
    manifest = json.loads((second / "manifest.json").read_text())
    manifest["testbed"]["hosts"][0] |= {"address": "10.9.9.9", "root": "/srv", "data_dirs": [{"path": "/srv/data"}]}
    (second / "manifest.json").write_text(json.dumps(manifest))
    read_back(second, "b01", address="10.9.9.9", root="/srv")
    assert compare(first, second)["differences"] == []
    read_back(second, "b01", address="10.9.9.9", root="/srv", flush="1000")
    with pytest.raises(AnalysisError, match=r"effective: kafka\.2\.steady:broker\.flush: 1 / 1000$"):
        compare(first, second)
    assert len(compare(first, second, despite=["effective"])["differences"]) == 1
    (second / "trials" / "b01" / "trial.json").unlink()
    with pytest.raises(AnalysisError, match=r"settings\.effective: - / not recorded"):
        compare(first, second)


def test_where_callbacks_lie_in_memory_is_no_difference(tmp_path: Path) -> None:
    """Clients of samebox 0.1 recorded it among their settings, of two workers as one value. A short hexadecimal number is a setting."""
    first, second = campaign(tmp_path / "a", trial("b01", 4.0)), campaign(tmp_path / "b", trial("b01", 4.0))
    read_back(first, "b01", error_cb="0x7f3f6a7b5069,0x7f6e521d8069", opaque="0x556ff56aba20", mask="0x1f")
    read_back(second, "b01", error_cb="0x7f0c11223344,0x7f6e521d8069", opaque="0x55f218e98b30", mask="0x1f")
    assert compare(first, second)["differences"] == []
    read_back(second, "b01", error_cb="0x7f0c11223344", opaque="0x55f218e98b30", mask="0x2f")
    with pytest.raises(AnalysisError, match=r"effective: kafka\.2\.steady:broker\.mask: 0x1f / 0x2f$"):
        compare(first, second)


def test_two_checkouts_with_changes_are_the_same_by_their_changes(tmp_path: Path) -> None:
    """By a digest of them; where none was recorded nobody can say so."""
    for changes, alike in (({"changes_sha256": "12"}, True), ({}, False), ({"changes_sha256": None}, True)):
        git = {"commit": "abc", "dirty": True, **changes}
        folder = tmp_path / f"{changes}"
        first = campaign(folder / "a", trial("b01", 4.0), git=git)
        second = campaign(folder / "b", trial("b01", 4.0), git=git)
        assert bool(compare(first, second, despite=["samebox"])["differences"]) is not alike


def test_only_workloads_of_both_must_be_alike(tmp_path: Path) -> None:
    """One that only one campaign has isn't compared, so it may be what it likes."""
    shared, (other, rows) = trial("b01", 4.0), trial("b02", 8.0)
    other["workload"] = {"name": "bursts", "rate_per_s": 9, "pacing": "open-loop"}
    first = campaign(tmp_path / "a", shared, (other, [{**row, "workload": "bursts"} for row in rows]))
    assert len(compare(first, campaign(tmp_path / "b", shared))["figures"]) == 1
    changed, own = trial("b01", 4.0)
    changed["workload"]["rate_per_s"] = 3000
    with pytest.raises(AnalysisError, match=r"workloads: steady.rate_per_s: 2000 / 3000"):
        compare(first, campaign(tmp_path / "c", (changed, own)))


def test_a_system_against_itself_is_left_out(tmp_path: Path) -> None:
    """Trials of A/A blocks are in no median, as in no other comparison."""
    itself, rows = trial("aa02", 90.0)
    first = campaign(tmp_path / "a", trial("b01", 4.0), ({**itself, "block_kind": "A/A"}, rows))
    (figure,) = compare(first, campaign(tmp_path / "b", trial("b01", 4.0)))["figures"]
    assert (figure["first"]["low"], figure["first"]["high"]) == (4.0, 4.0)


def test_what_was_never_answered_has_no_upper_bound(tmp_path: Path) -> None:
    """A percentile among unanswered messages makes a ratio that is only bounded, and ranges that are apart."""
    silent, rows = trial("b01", 4.0)
    rows[0] |= {"value": None, "low": 800.0, "high": None}
    (figure,) = compare(campaign(tmp_path / "a", trial("b01", 4.0)), campaign(tmp_path / "b", (silent, rows)))[
        "figures"
    ]
    assert figure["ratio"] == {"value": None, "low": 200.0, "high": None}
    assert not figure["overlap"]


def test_latencies_at_rates_of_their_own_are_left_out(tmp_path: Path) -> None:
    """Of searches only the rates are put side by side."""
    searched, rows = trial("b01", 4.0)
    searched["workload"]["pacing"] = "search"
    rows += [{**rows[0], "metric": "throughput_achieved", "unit": "msg/s", "value": 5000.0}]
    document = compare(campaign(tmp_path / "a", (searched, rows)), campaign(tmp_path / "b", (searched, rows)))
    assert [figure["metric"] for figure in document["figures"]] == ["throughput_achieved"]


def test_caches_dropped_in_another_way_are_a_difference(tmp_path: Path) -> None:
    """Without root only the kit's own files are evicted: that is another start."""
    (root, rows), (user, _) = trial("b01", 4.0), trial("b01", 4.0)
    root["reset"], user["reset"] = {"method": "drop_caches"}, {"method": "fadvise"}
    first, second = campaign(tmp_path / "a", (root, rows)), campaign(tmp_path / "b", (user, rows))
    with pytest.raises(AnalysisError, match=r'testbed: caches: \["drop_caches"\] / \["fadvise"\]'):
        compare(first, second)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    """One that was cut off is no crash."""
    first, second = campaign(tmp_path / "a", trial("b01", 4.0)), campaign(tmp_path / "b", trial("b01", 4.0))
    (second / "manifest.json").write_text('{"schema": 1,')
    with pytest.raises(AnalysisError, match=r"b/manifest\.json: not valid JSON"):
        compare(first, second)


def test_nothing_in_common_is_refused(tmp_path: Path) -> None:
    """Also where all that is common was not sound."""
    first = campaign(tmp_path / "a", trial("b01", 4.0))
    with pytest.raises(AnalysisError, match="no sound trials of the same system"):
        compare(first, campaign(tmp_path / "b", trial("b01", 4.0, "unknown")))
    with pytest.raises(AnalysisError, match="the same folder"):
        compare(first, tmp_path / "b" / ".." / "a")


def test_the_command_says_what_to_do(tmp_path: Path) -> None:
    """Exit 0 with a table, 1 with the refusal; a folder without a report is told how to get one."""
    samebox = Path(sys.executable).with_name("samebox")
    first, second = campaign(tmp_path / "a", trial("b01", 4.0)), campaign(tmp_path / "b", trial("b01", 8.0))

    def say(*arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run([samebox, "compare", *map(str, arguments)], capture_output=True, text=True)

    shown = say(first, second)
    assert shown.returncode == 0
    assert "response latency p99" in shown.stdout
    assert "2.00" in shown.stdout
    (second / "report" / "report.json").unlink()
    refused = say(first, second)
    assert refused.returncode == 1
    assert f"samebox report {second}" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert say(first, second, "--despite", "moon").returncode == 1
