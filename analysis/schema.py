"""The layouts analysis can read (docs/records.md), as Arrow types and version numbers."""

from __future__ import annotations

import pyarrow as pa

from analysis.documents import SCHEMA_VERSION as SCHEMA_VERSION
from analysis.records.arrow import schema

PARQUET_SCHEMA_KEY = "samebox.schema"
WARMUP = "warmup"
MEASURE = "measure"
# the phases of a trial with a backlog, beside the warm-up
BUILD, DRAIN, TAIL = "build", "drain", "tail"


PRODUCED = schema(
    producer=pa.int32(),
    partition=pa.int32(),
    sequence=pa.int64(),
    intended_ns=pa.int64(),
    sent_ns=pa.int64(),
    acked_ns=pa.int64(),
    error=pa.string(),
    phase=pa.string(),
    held_until_ns=pa.int64(),
)
CONSUMED = schema(
    consumer=pa.int32(),
    subscription=pa.string(),
    producer=pa.int32(),
    sequence=pa.int64(),
    partition=pa.int32(),
    intended_ns=pa.int64(),
    received_ns=pa.int64(),
    phase=pa.string(),
)
HOSTS = schema(
    time_ns=pa.int64(),
    host=pa.string(),
    source=pa.string(),
    metric=pa.string(),
    kind=pa.string(),
    value=pa.float64(),
)
# columns that files of earlier versions don't have; they are read as null
ADDED = frozenset({"held_until_ns"})
# record kind (= the folder's name inside a trial) -> layout
RECORDS = {"produced": PRODUCED, "consumed": CONSUMED, "hosts": HOSTS}
