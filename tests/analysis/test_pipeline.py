"""Aggregates of many trials: they are made of some at a time, and come to the same as made of all at once."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from analysis import pipeline
from analysis.campaign import read_campaign
from analysis.load import load_records
from analysis.storage import Storage
from tests.analysis.synthetic_results import Plan, Shape, write_results

LOSING, NEVER = "b01-2-kafka-l1-steady", "b02-1-kafka-l1-steady"
PLANS = [
    Plan("b01-1-pulsar-l1-steady", 1, 1, "pulsar", 6.0),
    Plan(LOSING, 1, 2, "kafka", 3.0, lost=((0, 120),), repeated=((0, 105),), swapped=((0, 130),)),
    Plan(NEVER, 2, 1, "kafka", nothing_recorded=True, changes={"settings": {}, "observations": {}}),
]


def test_trials_in_parts_come_to_the_same(spark: SparkSession, results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the only trial of a part recorded nothing."""
    storage = Storage(spark)
    campaign = read_campaign(storage, str(write_results(results, PLANS, Shape(subscriptions=2))))
    records = load_records(spark, storage, campaign)
    said: list[str] = []
    together = pipeline.aggregate(spark, campaign, records, said.append)
    assert "order: trials 1 to 3 of 3" in said
    monkeypatch.setattr(pipeline, "TRIALS_AT_ONCE", 2)
    apart = pipeline.aggregate(spark, campaign, records, said.append)
    assert [line for line in said if line.startswith("order: ")][1:] == [
        "order: trials 1 to 2 of 3",
        "order: trials 3 to 3 of 3",
    ]
    for field in fields(pipeline.Aggregates):
        one, other = (sorted(map(repr, getattr(found, field.name))) for found in (together, apart))
        assert one == other, field.name
        assert one, field.name
    assert {(found.trial, found.lost) for found in apart.deliveries if found.lost} == {(LOSING, 1)}
