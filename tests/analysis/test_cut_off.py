"""Attempts that were cut off: found in the documents of finished trials and in what unfinished ones left, and shown."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from analysis.answer import answer
from analysis.campaign import Campaign, CutOff, read_campaign
from analysis.drawing import Drawings
from analysis.page import render_page
from analysis.report import Results, report_document
from analysis.storage import Storage
from tests.analysis.synthetic_results import Plan, Shape, manifest_document, write_results

S = 1_000_000_000
KILLED = {
    "began_ns": 1_700_000_000 * S, "step": "collect", "step_began_ns": 1_700_000_131 * S,
    "load_began_ns": 1_700_000_031 * S, "abort": {"rule": "host-lost"}, "reason": None,
}  # fmt: skip
INTERRUPTED = {
    "began_ns": 1_700_000_090 * S, "step": None, "step_began_ns": None, "load_began_ns": None, "abort": None, "reason": "told to end",
}  # fmt: skip
REPEATED, UNDISTURBED, NEVER = (
    Plan("b01-1-pulsar-l1-steady", 1, 1, "pulsar", nothing_recorded=True, changes={"cut_off_attempts": [KILLED, INTERRUPTED]}),
    Plan("b01-2-kafka-l1-steady", 1, 2, "kafka", nothing_recorded=True),
    Plan("b02-1-kafka-l1-steady", 2, 1, "kafka"),
)  # fmt: skip
FOUND = (
    CutOff(REPEATED.name, 1_700_000_000 * S, "collect", 131.0, True, "host-lost", None, repeated=True),
    CutOff(REPEATED.name, 1_700_000_090 * S, None, None, False, None, "told to end", repeated=True),
    CutOff(NEVER.name, 1_700_000_000 * S, "collect", 131.0, True, "host-lost", None, repeated=False),
)


def test_they_are_found_in_the_planned_order(tmp_path: Path, spark: SparkSession) -> None:
    """Of a finished trial in its trial.json, of one that never was in the note beside its place."""
    order = manifest_document([UNDISTURBED, REPEATED, NEVER], Shape())["order"]
    results = write_results(tmp_path / "results", [REPEATED, UNDISTURBED], order=order)
    note = {"schema": 1, "attempts": [KILLED]}
    (results / "trials" / f".attempts-{NEVER.name}.json").write_text(json.dumps(note))
    campaign = read_campaign(Storage(spark), str(results))
    assert [trial.name for trial in campaign.trials] == [UNDISTURBED.name, REPEATED.name]
    assert campaign.cut_off == FOUND
    assert campaign.not_recorded == (NEVER.name,)


def _text(campaign: Campaign) -> str:
    found = answer(campaign, [], [], [], (), [])
    page = render_page(report_document(Results(campaign, [], [], [], [], [], [], found, [])), Drawings())
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", page)))


@pytest.fixture
def campaign() -> Campaign:
    """A campaign with nothing recorded and attempts of every kind."""
    return Campaign("results", manifest_document([REPEATED, NEVER], Shape()), (), {}, (NEVER.name,), cut_off=FOUND)


def test_they_are_counted_and_listed(campaign: Campaign) -> None:
    """A warning and a count on the first screen, a row each further down."""
    text = _text(campaign)
    assert "Attempts at trials that were cut off and repeated: 2, of them after their load had begun: 1." in text
    assert "3 attempts cut off" in text
    killed = "collect 131 s yes The trial had ended early (host-lost). unknown: the program was killed, or its machine stopped"
    assert f"{REPEATED.name} 2023-11-14 22:13:20 UTC {killed} repeated" in text
    assert "nothing yet – no told to end repeated" in text
    assert f"{killed}, or it is still under way not repeated" in text


def test_a_campaign_that_ran_through_says_nothing_of_them(campaign: Campaign) -> None:
    """Neither warning nor count nor chapter."""
    text = _text(replace(campaign, cut_off=()))
    assert not re.search("attempts? .*cut off", text, re.IGNORECASE)
