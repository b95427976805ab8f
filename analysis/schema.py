"""The layouts analysis can read (docs/records.md), as Spark types and version numbers."""

from __future__ import annotations

from pyspark.sql import types as T

from analysis.documents import SCHEMA_VERSION as SCHEMA_VERSION

PARQUET_SCHEMA_KEY = "samebox.schema"
WARMUP = "warmup"
MEASURE = "measure"
# the phases of a trial with a backlog, beside the warm-up
BUILD, DRAIN, TAIL = "build", "drain", "tail"

_TYPES = {"int": T.IntegerType, "long": T.LongType, "double": T.DoubleType, "string": T.StringType}


def layout(**columns: str) -> T.StructType:
    """Columns by name, with the name of their type; a question mark after it: may be null."""
    fields = [(name, _TYPES[of.removesuffix("?")], of.endswith("?")) for name, of in columns.items()]
    return T.StructType([T.StructField(name, of(), nullable) for name, of, nullable in fields])


PRODUCED = layout(
    producer="int",
    partition="int?",
    sequence="long",
    intended_ns="long",
    sent_ns="long?",
    acked_ns="long?",
    error="string?",
    phase="string",
    held_until_ns="long?",
)
CONSUMED = layout(
    consumer="int",
    subscription="string",
    producer="int",
    sequence="long",
    partition="int",
    intended_ns="long",
    received_ns="long",
    phase="string",
)
HOSTS = layout(time_ns="long", host="string", source="string", metric="string", kind="string", value="double")
# columns that files of earlier versions don't have; they are read as null
ADDED = frozenset({"held_until_ns"})
# record kind (= the folder's name inside a trial) -> layout
RECORDS = {"produced": PRODUCED, "consumed": CONSUMED, "hosts": HOSTS}

# what the reader adds to each row: its trial, when that one's load started, which stretch of time counts (null where a trial
# never got so far)
TRIAL_COLUMNS = layout(trial="string", start_ns="long?", measure_start_ns="long?", measure_end_ns="long?")
# and, where it is asked for, where the row was read
PLACE_COLUMNS = layout(file="string", file_offset="long")
