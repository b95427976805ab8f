"""Trials by the systems' own tools: beside ours, and in nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from analysis.application import make_report
from analysis.bounded import exactly
from analysis.campaign import Trial
from analysis.checks import Check
from analysis.cross_check import Figure, cross_checks
from analysis.evidence import Counts, Evidence
from analysis.metrics import Measurement
from tests.analysis.synthetic_results import Plan, Shape, trial_document, write_results

OURS, NATIVE = "b01-1-kafka-l1-steady", "b01-1-kafka-l1-steady-native"
PRODUCED = {
    "messages": 2400, "rate_per_s": 399.0, "publish_mean_ms": 5.0, "publish_p50_ms": 4.0, "publish_p95_ms": 9.0,
    "publish_p99_ms": 24.0, "publish_p999_ms": 40.0, "publish_max_ms": 41.0, "resolution_ms": 1.0,
}  # fmt: skip
PROCESSES = [
    {
        "tool": "a-consumer", "role": "consumer", "subscription": "subscription-0", "host": "client-1",
        "command": "java Consumer", "output": "logs/client-1/native-subscription-0.log",
        "figures": {"messages": 3200, "rate_per_s": 150.0, "end_to_end_p50_ms": None, "end_to_end_p99_ms": None},
    },
    {
        "tool": "a-producer", "role": "producer", "subscription": None, "host": "client-1",
        "command": "java Producer --throughput 400", "output": "logs/client-1/native-producer.log", "figures": PRODUCED,
    },
]  # fmt: skip
CROSS_CHECK = {
    "tools": {
        "kafka": {
            "producer": "a-producer", "consumer": "a-consumer", "bundles": {"kafka": "4.3.1"},
            "measures": ["In whole milliseconds."], "cannot_set": ["One producer sends it all."],
        }
    },
    "left_out": [{"system": "kafka", "workload": "keyed", "reason": "it sends no keys"}],
}  # fmt: skip


def plan(**changes: Any) -> Plan:
    """A native trial; `changes` are laid over its document."""
    return Plan(
        NATIVE, 1, 1, "kafka", only_telemetry=True,
        changes={"generator": "native", **changes},
        observations={"native": PROCESSES, "workers": [], "messages_stored": 3200},
    )  # fmt: skip


def evidence(planned: Plan) -> Evidence:
    """A trial without anything that Spark would have added."""
    trial = Trial(planned.name, trial_document(planned, Shape(), 0, {}, 0))
    return Evidence(trial, (trial,), Counts(0, 0, 0, 0, 0, 0, 0, 0, {}, {}, {}), (), (), (), (), ())


def checks(**verdicts: str) -> list[Check]:
    """One check of each trial; all are fine unless said otherwise."""
    named = {"ours": OURS, "native": NATIVE}
    return [
        Check(name, "settings", "validity", verdicts.get(key, "valid"), "A sentence.") for key, name in named.items()
    ]


MEASURED = [
    Measurement(OURS, "throughput_achieved", "msg/s", exactly(400.0), 2400),
    Measurement(OURS, "publish_latency_p50", "ms", exactly(4.3), 2400),
    Measurement(OURS, "publish_latency_p99", "ms", exactly(12.0), 2400),
    Measurement("b01-2-pulsar-l1-steady", "publish_latency_p99", "ms", exactly(99.0), 2400),
]


def test_a_difference_is_the_tools_against_ours() -> None:
    """Twice our p99 is +100 %; a p50 closer than a millisecond can't be told apart by a tool that counts them whole."""
    (found,) = cross_checks([evidence(Plan(OURS, 1, 1, "kafka"))], [evidence(plan())], checks(), MEASURED)
    figures = {figure.metric: figure for figure in found.figures}
    assert figures["publish_latency_p99"] == Figure("publish_latency_p99", "ms", 12.0, 24.0, 1.0, False)
    assert figures["publish_latency_p50"].within_resolution
    assert figures["throughput_achieved"].difference == pytest.approx(-0.0025)
    assert not figures["throughput_achieved"].within_resolution
    assert figures["publish_latency_p99.9"].difference is None  # ours has too few messages for it
    assert (found.read, found.stored) == ({"subscription-0": 3200}, 3200)


@pytest.mark.parametrize("verdicts", [{"ours": "invalid"}, {"native": "unknown"}])
def test_no_difference_where_either_is_not_sound(verdicts: dict[str, str]) -> None:
    """Both figures stay, nothing is concluded from them."""
    (found,) = cross_checks([evidence(Plan(OURS, 1, 1, "kafka"))], [evidence(plan())], checks(**verdicts), MEASURED)
    p99 = next(figure for figure in found.figures if figure.metric == "publish_latency_p99")
    assert (p99.ours, p99.tools, p99.difference) == (12.0, 24.0, None)


def test_a_tool_that_failed_is_shown_with_its_reason() -> None:
    """Without figures of the tool ours stand alone."""
    abort = {"rule": "native-tool", "axis": "validity", "reason": "a-producer had not ended", "host": "client-1"}
    failed = plan(ended="aborted", abort=abort, observations={"native": []})
    (found,) = cross_checks(
        [evidence(Plan(OURS, 1, 1, "kafka"))], [evidence(failed)], checks(native="invalid"), MEASURED
    )
    assert found.abort == "a-producer had not ended"
    assert {figure.tools for figure in found.figures} == {None}
    assert (found.read, found.stored, found.commands) == ({}, None, ())


@pytest.fixture(scope="module")
def report(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report on two systems, of which one was cross-checked."""
    work = tmp_path_factory.mktemp("cross")
    plans = [Plan(OURS, 1, 1, "kafka"), plan(), Plan("b01-2-pulsar-l1-steady", 1, 2, "pulsar")]
    order = [
        {"trial": each.name, "block": 1, "position": each.position, "system": each.system, "durability": 1,
         "workload": "steady", "generator": "native" if each.name == NATIVE else "samebox"}
        for each in plans
    ]  # fmt: skip
    results = write_results(work / "results", plans, cross_check=CROSS_CHECK, order=order)
    (work / "scratch").mkdir()
    make_report(spark, str(results), out=str(results / "report"), scratch=work / "scratch", progress=lambda _: None)
    return Path(results) / "report"


def test_a_native_trial_counts_nowhere_else(report: Path) -> None:
    """It is no outcome, no partner in a comparison, no row of the summary, no second run of its system."""
    document = json.loads((report / "report.json").read_text())
    assert [trial["trial"] for trial in document["trials"]] == [OURS, "b01-2-pulsar-l1-steady"]
    assert {outcome["contestant"]: outcome["trials"] for outcome in document["outcomes"]} == {"kafka": 1, "pulsar": 1}
    assert {len(comparison["blocks"]) for comparison in document["comparisons"]} == {1}
    assert NATIVE not in (report / "summary.csv").read_text()
    assert "No block ran one system twice" in document["answer"]["certainty"]
    assert "2 recorded of 2 planned" in (report / "index.html").read_text()


def test_a_native_trial_is_not_invalid_for_lack_of_rows(report: Path) -> None:
    """Only what can be known without rows is checked, and that is sound."""
    found = {c["check"]: c["verdict"] for c in json.loads((report / "checks.json").read_text()) if c["trial"] == NATIVE}
    assert found == {
        "settings": "valid", "cold-caches": "valid", "steal": "valid", "hosts-kept": "valid", "same-boot": "valid",
        "brokers-kept": "met", "replicas": "met",
    }  # fmt: skip


def test_the_page_has_a_chapter_on_it(report: Path) -> None:
    """Both figures, the tool's own terms, its command line, and what was left out with the reason."""
    page = (report / "index.html").read_text()
    chapter = page[page.index('id="cross-check"') : page.index('id="checks"')]
    chapter = re.sub(r"</?data[^>]*>", "", chapter)
    for words in (
        "/ 24.0 ms",
        "In whole milliseconds.",
        "One producer sends it all.",
        "--throughput 400",
        "it sends no keys",
    ):
        assert words in chapter, words
