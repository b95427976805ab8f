"""The layouts analysis can read (docs/records.md), as Spark types and version numbers; it reads nothing itself."""

from __future__ import annotations

from pyspark.sql import types as T

from analysis.document_schema import SCHEMA_VERSION as SCHEMA_VERSION
from analysis.document_schema import require_known_schema as require_known_schema

PARQUET_SCHEMA_KEY = "samebox.schema"
WARMUP = "warmup"
MEASURE = "measure"
# the phases of a trial with a backlog, beside the warm-up
BUILD, DRAIN, TAIL = "build", "drain", "tail"


PRODUCED = T.StructType(
    [
        T.StructField("producer", T.IntegerType(), False),
        T.StructField("partition", T.IntegerType(), True),
        T.StructField("sequence", T.LongType(), False),
        T.StructField("intended_ns", T.LongType(), False),
        T.StructField("sent_ns", T.LongType(), True),
        T.StructField("acked_ns", T.LongType(), True),
        T.StructField("error", T.StringType(), True),
        T.StructField("phase", T.StringType(), False),
        T.StructField("held_until_ns", T.LongType(), True),
    ]
)
CONSUMED = T.StructType(
    [
        T.StructField("consumer", T.IntegerType(), False),
        T.StructField("subscription", T.StringType(), False),
        T.StructField("producer", T.IntegerType(), False),
        T.StructField("sequence", T.LongType(), False),
        T.StructField("partition", T.IntegerType(), False),
        T.StructField("intended_ns", T.LongType(), False),
        T.StructField("received_ns", T.LongType(), False),
        T.StructField("phase", T.StringType(), False),
    ]
)
HOSTS = T.StructType(
    [
        T.StructField("time_ns", T.LongType(), False),
        T.StructField("host", T.StringType(), False),
        T.StructField("source", T.StringType(), False),
        T.StructField("metric", T.StringType(), False),
        T.StructField("kind", T.StringType(), False),
        T.StructField("value", T.DoubleType(), False),
    ]
)
# columns that files of earlier versions don't have; they are read as null
ADDED = frozenset({"held_until_ns"})
# record kind (= the folder's name inside a trial) -> layout
RECORDS = {"produced": PRODUCED, "consumed": CONSUMED, "hosts": HOSTS}

# what the reader adds to each row: its trial, when that one's load started, which stretch of time counts (null where a trial
# never got so far)
TRIAL_COLUMNS = T.StructType(
    [
        T.StructField("trial", T.StringType(), False),
        T.StructField("start_ns", T.LongType(), True),
        T.StructField("measure_start_ns", T.LongType(), True),
        T.StructField("measure_end_ns", T.LongType(), True),
    ]
)
# and, where it is asked for, where the row was read
PLACE_COLUMNS = T.StructType(
    [
        T.StructField("file", T.StringType(), False),
        T.StructField("file_offset", T.LongType(), False),
    ]
)
