"""What the page says about conditions, on results made by hand: no rows, no figures."""

from __future__ import annotations

import copy
import html
import re
from pathlib import Path
from typing import Any

import pytest

from analysis.answer import Answer
from analysis.campaign import Campaign, Trial
from analysis.checks import judge
from analysis.comparison import count_outcomes
from analysis.drawing import Drawings
from analysis.evidence import Counts, Evidence
from analysis.page import render_page
from analysis.report import Results, report_document
from tests.analysis.synthetic_results import CHECKS, Plan, Shape, manifest_document, trial_document

PLANS = [
    Plan("b01-1-pulsar-l2-bypass-steady", 1, 1, "pulsar", durability="2-bypass"),
    Plan("b01-2-kafka-l2-steady", 1, 2, "kafka", durability="2"),
    Plan("b01-1-kafka-lnone-steady", 1, 1, "kafka", durability="none"),
]


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    """The report of a campaign without rows."""
    trials = tuple(Trial(plan.name, trial_document(plan, Shape(), 0, {}, 0)) for plan in PLANS)
    counts = Counts(0, 0, 0, 0, 0, 0, 0, 0, {}, {}, {})
    evidence = [Evidence(trial, trials, counts, (), (), (), (), ()) for trial in trials]
    checks = judge(evidence, CHECKS)
    results = Results(
        campaign=Campaign(str(Path("results")), manifest_document(PLANS, Shape()), trials, {}, ()),
        trials=evidence,
        checks=checks,
        measured=[],
        outcomes=count_outcomes(evidence, checks),
        excluded=[],
        comparisons=[],
        cross_checks=[],
        answer=Answer((), "Nothing can be compared.", ()),
    )
    return report_document(results)


@pytest.fixture(scope="module")
def page(document: dict[str, Any]) -> str:
    """Its page."""
    return render_page(document, Drawings())


@pytest.fixture(scope="module")
def text(page: str) -> str:
    """The page without its tags, one blank between words."""
    return text_of(page)


def text_of(page: str) -> str:
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", page)))


def test_no_chapter_is_there_twice(page: str) -> None:
    """Every heading is its own."""
    headings = re.findall(r"<h[23][^>]*>(.*?)</h[23]>", page)
    assert len(headings) == len(set(headings))


def test_every_durability_says_its_promise(text: str) -> None:
    """By name: two of one level are two lines; where nobody answers, that is said."""
    assert "durability 2 acknowledged when a quorum of brokers has it, in memory or page cache " in text
    assert (
        "durability 2-bypass acknowledged when a quorum of brokers has it, in memory or page cache, the journal bypassed"
        in text
    )
    assert "durability none nothing is acknowledged" in text


def test_a_system_without_its_journal_is_called_so(text: str) -> None:
    """Outcomes are counted per contestant, and each trial names its experiment and durability."""
    assert "pulsar-bypass 1 0" in text
    assert "b01-1-pulsar-l2-bypass-steady demo 2-bypass" in text


def test_empty_cells_have_their_reasons(text: str) -> None:
    """A durability that a system hasn't, and a system that there isn't."""
    assert "demo kafka 2-bypass it has no journal to bypass" in text
    assert "demo redpanda all samebox doesn't have it" in text


def test_differences_and_whom_they_favour(text: str) -> None:
    """Side by side, aspect by aspect."""
    first = "who acknowledges kafka 1 the slowest of three its safety"
    assert f"{first} who acknowledges pulsar 1 the fastest two of three its latency" in text


def test_the_system_profile_and_what_is_missing_of_it(text: str) -> None:
    """Settings, what these hosts are too small for, and what can't be set."""
    assert "kafka broker num.replica.fetchers 8" in text
    assert "pulsar broker.heap=8g for broker hosts of 60 GiB or more each" in text
    assert "pulsar connectionsPerBroker=16 no such setting" in text
    assert "pulsar bookie journalMaxSizeMB 512 2048 small disks" in text
    assert "pulsar bookie useV2WireProtocol not set true it is off" in text


def test_checks_are_counted_by_verdict(text: str) -> None:
    """Each declared check with its bounds, how many trials passed, and the names of those that didn't."""
    names = ", ".join(sorted(plan.name for plan in PLANS))
    assert "settings validity valid 3" in text
    found = re.search(r"send-delay validity p99 ms 100 unknown 3: (\S+, \S+, \S+) ", text)
    assert found
    assert ", ".join(sorted(found[1].split(", "))) == names


def test_checks_say_why_they_only_warn_and_which_hosts_are_peculiar(document: dict[str, Any]) -> None:
    """Beside the bounds: the reason, and once for all hosts that it holds for, what their type is known for."""
    other = copy.deepcopy(document)
    (steal,) = (each for each in other["manifest"]["checks"] if each["check"] == "steal")
    known = {"judged": True, "why": "i3en.large has 25 Gbit/s"}
    left_out = {"judged": False, "why": "t3.medium is burstable"}
    hosts = {"broker-1": known, "broker-2": known, "metadata-1": left_out}
    steal |= {"why_warn": "No bound is known.", "hosts": hosts}
    said = text_of(render_page(other, Drawings()))
    assert "Only warns. No bound is known. broker-1, broker-2: i3en.large has 25 Gbit/s" in said
    assert "metadata-1 not judged: t3.medium is burstable" in said


def test_a_warm_up_until_steady_is_called_so(document: dict[str, Any], text: str) -> None:
    """With its bound; one of fixed length, and that of results which know no other, is as long as it says."""
    assert "2 s warm-up, 6 s measured" in text
    changed = copy.deepcopy(document)
    for trial in changed["trials"]:
        trial["workload"] |= {"warmup": "until-steady", "warmup_s": 60}
    assert "warm-up until steady, 60 s at most; 6 s measured" in text_of(render_page(changed, Drawings()))


def test_tables_sort_by_value(page: str) -> None:
    """What is shown is rounded and has units; the whole value is beside it, and the script that sorts is in the page."""
    assert re.search(r'<data value="25\d{9}">25\.\d GB</data>', page), "a host's memory"
    assert '<table class="sortable">' in page
    assert "function sortSortable" in page
    assert "http" not in re.sub(r"http://www.w3.org/|https://github.com/tofsjonas", "", page), (
        "the page must open offline"
    )


def test_disks_that_did_not_come_to_rest_are_said(page: str) -> None:
    """The reset waits for them within a bound, and a trial that began with them busy shows it."""
    assert re.search(r"20(\.0)?</data>? ?s.*and weren't|>20(\.0)? s</data> and weren't", html.unescape(page))


def searched(document: dict[str, Any], stored: int | None, **changes: object) -> str:
    """The page's text where the first trial was a search, which ended at 20,000 and not at 20,400."""
    attempt = {
        "kind": "step", "rate_per_s": 20_400, "seconds": 10, "acked_per_s": 19_000.0, "received_per_s": None,
        "lag_ms": 1.0, "in_flight": 900, "reason": "too slow", "sustained": False,
    }  # fmt: skip
    last = {**attempt, "kind": "confirmation", "rate_per_s": 20_000, "reason": "", "sustained": True}
    search = {
        "rate_per_s": 20_000, "failed_per_s": 20_400, "tolerance": 1.025, "closed": True, "bounded_by": "system",
        "attempts": [attempt, attempt, last],
    }  # fmt: skip
    other = copy.deepcopy(document)
    other["trials"][0] |= {"search": {**search, **changes}, "messages_stored_before": stored}
    return text_of(render_page(other, Drawings()))


def test_a_search_says_its_bracket_what_bounded_it_and_what_aged_the_brokers(document: dict[str, Any]) -> None:
    """Two of three runs were overdriven, and left messages there under the one that was kept."""
    assert document["trials"][0]["messages_stored_before"] is None
    text = searched(document, 1_500_000)
    size = document["trials"][0]["workload"]["message_bytes"]
    assert f"20,400 msg/s 1.020 the system 3 2 1,500,000 messages, {1.5e6 * size / 1e9:.2f} GB of payload" in text
    assert "bounded by the client's window." not in text
    assert "1.020 the system 3 2 unknown" in searched(document, None)


def test_a_search_that_the_clients_window_bounded_says_so(document: dict[str, Any]) -> None:
    """By name, with the window."""
    in_flight = document["trials"][0]["workload"]["in_flight"]
    assert (
        f"bounded by the client's window. At the latency of the confirmed rate the rate that failed would fill the {in_flight:,} "
        in searched(document, 0, bounded_by="client-window")
    )


def test_a_search_without_an_end_has_none(document: dict[str, Any]) -> None:
    """No rate failed, or none was sustained."""
    assert "/s – – the workload's bound 3 2" in searched(document, 0, failed_per_s=None, bounded_by="rate_per_s")
    assert "none 20,400 msg/s – – 3 2" in searched(document, 0, rate_per_s=None, bounded_by=None)
