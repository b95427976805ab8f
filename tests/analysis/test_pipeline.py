"""Aggregates of many trials are the same however their files are shared out among tasks, and read together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from analysis.campaign import Campaign, read_campaign
from analysis.errors import AnalysisError
from analysis.pipeline import Aggregates, ByTrial, Seconds, aggregate, count, seconds_of
from analysis.records import scan
from analysis.records.buckets import PRODUCED
from analysis.records.files import Records, records_of
from analysis.records.order import ORDER
from analysis.storage import Storage
from tests.analysis.synthetic_results import Plan, Shape, write_results

LOSING, NEVER = "b01-2-kafka-l1-steady", "b02-1-kafka-l1-steady"
PLANS = [
    Plan("b01-1-pulsar-l1-steady", 1, 1, "pulsar", 6.0),
    Plan(LOSING, 1, 2, "kafka", 3.0, lost=((0, 120),), repeated=((0, 105),), swapped=((0, 130),)),
    Plan(NEVER, 2, 1, "kafka", nothing_recorded=True, changes={"settings": {}, "observations": {}}),
]
COUNTINGS = {LOSING: (PRODUCED, ORDER)}


@pytest.fixture
def campaign(spark: SparkSession, results: Path) -> Campaign:
    """Three trials, of which one recorded nothing."""
    return read_campaign(
        Storage(spark), str(write_results(results, PLANS, Shape(rate_per_s=100, rows_per_file=250, subscriptions=2)))
    )


@pytest.fixture
def records(spark: SparkSession, campaign: Campaign) -> Records:
    """Their records."""
    return records_of(Storage(spark), campaign)


def everything_of(spark: SparkSession, campaign: Campaign, records: Records) -> Aggregates:
    """All looks at the records."""
    counted = count(spark, campaign, records, lambda _: None)
    return aggregate(spark, campaign, records, counted, seconds_of(counted), lambda _: None)


def rows_of(found: Any) -> list[str]:
    """What a field of the aggregates holds, in an order of its own."""
    if isinstance(found, Seconds):
        return [row for field in fields(found) for row in rows_of(getattr(found, field.name))]
    return sorted(map(repr, found.rows if isinstance(found, ByTrial) else found))


def test_files_in_other_tasks_come_to_the_same(spark: SparkSession, campaign: Campaign, records: Records) -> None:
    """One task for all of them, or one for each."""
    found = []
    for task_bytes in ("128m", "1"):
        spark.conf.set("spark.sql.files.maxPartitionBytes", task_bytes)
        found.append(everything_of(spark, campaign, records))
    spark.conf.unset("spark.sql.files.maxPartitionBytes")
    for field in fields(Aggregates):
        one, other = (rows_of(getattr(each, field.name)) for each in found)
        assert one == other, field.name
        assert one, field.name
    assert {(each.trial, each.lost) for each in found[0].deliveries if each.lost} == {(LOSING, 1)}
    assert [each.steps_back for each in found[0].orderings if each.trial == LOSING] != [0]


def batches_of(records: Records) -> list[pa.RecordBatch]:
    """Path and content of every file of one trial, one at a time."""
    found = [
        path
        for (trial, kind), folder in records.folders.items()
        if trial == LOSING and kind != "hosts"
        for path in sorted(Path(folder).glob("*.parquet"))
    ]
    return [pa.RecordBatch.from_pydict({"path": [str(path)], "content": [path.read_bytes()]}) for path in found]


def test_files_that_are_read_apart_come_to_the_same(records: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task counts as many files at a time as have so many rows, and adds up what it counted in them."""
    found: list[list[Any]] = []
    for rows in (10**6, 1):
        monkeypatch.setattr(scan, "ROWS_AT_ONCE", rows)
        counts = list(scan.count_files(batches_of(records), times=records.times, countings=COUNTINGS))
        merged = scan.merge_counts(counts, countings=COUNTINGS)
        found.append([batch.drop_columns("counts").to_pylist() for batch in counts])
        found[-1] += [
            sorted(map(repr, pa.ipc.open_stream(each["counts"][0].as_py()).read_all().to_pylist())) for each in merged
        ]
    assert found[0] == found[1]
    assert len(found[0]) == 6  # buckets and the order of two producers, counted and merged


def damaged(records: Records) -> Iterator[tuple[Path, str]]:
    """Files made unreadable in four ways, and what is said of each."""
    path = next(Path(records.folders[LOSING, "consumed"]).glob("*.parquet"))
    whole, table = path.read_bytes(), pq.read_table(path)
    pq.write_table(table.drop_columns("sequence"), path)
    yield path, "has no column sequence though it says schema 1"
    pq.write_table(table.replace_schema_metadata({"samebox.schema": "7"}), path)
    yield path, "its samebox.schema is '7', this version reads 1"
    pq.write_table(table.replace_schema_metadata({}), path)
    yield path, "its samebox.schema is none"
    path.write_bytes(whole[:-7])
    yield path, "not a readable Parquet file"


def test_a_file_that_cannot_be_read_is_named(spark: SparkSession, campaign: Campaign, records: Records) -> None:
    """In a sentence, wherever the task ran that met it: never a smaller sample."""
    for path, says in damaged(records):
        with pytest.raises(AnalysisError, match=says) as raised:
            everything_of(spark, campaign, records)
        assert str(path) in str(raised.value)
