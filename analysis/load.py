"""Rows of all trials as DataFrames, one per trial and kind. Refuses unknown layouts; never drops or repairs a row."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from analysis.campaign import Campaign, Trial
from analysis.errors import AnalysisError
from analysis.schema import ADDED, PLACE_COLUMNS, RECORDS, SCHEMA_VERSION, TRIAL_COLUMNS
from analysis.storage import Footer, Storage


@dataclass(frozen=True)
class Rows:
    """Rows of one kind, each with its trial's name and times. What is constant in a trial costs nothing in its own frame."""

    of_trial: Mapping[str, DataFrame]  # trials that have any, by name
    no_rows: DataFrame  # of the same columns

    def together(self) -> DataFrame:
        """The rows of all trials."""
        return reduce(DataFrame.unionByName, self.of_trial.values()) if self.of_trial else self.no_rows

    def placed(self) -> DataFrame:
        """The rows of all trials, each with where it was read, which Spark works out row by row."""
        if not self.of_trial:
            return self.no_rows.withColumns({one.name: F.lit(None).cast(one.dataType) for one in PLACE_COLUMNS})
        return reduce(DataFrame.unionByName, (rows.select("*", *_place()) for rows in self.of_trial.values()))

    def of(self, trials: Collection[str]) -> Rows:
        """The rows of the trials named alone."""
        return Rows({name: rows for name, rows in self.of_trial.items() if name in trials}, self.no_rows)


@dataclass(frozen=True)
class Records:
    """The rows of a campaign."""

    produced: Rows
    consumed: Rows
    hosts: Rows

    def of(self, trials: Collection[str]) -> Records:
        """The records of the trials named alone."""
        return Records(*(rows.of(trials) for rows in (self.produced, self.consumed, self.hosts)))


def load_records(spark: SparkSession, storage: Storage, campaign: Campaign) -> Records:
    """The records of every trial. A kind of record that a trial doesn't have (it was aborted early) has no rows."""
    rows = {kind: _load(spark, storage, campaign, kind) for kind in RECORDS}
    return Records(produced=rows["produced"], consumed=rows["consumed"], hosts=rows["hosts"])


def refuse_unknown(footer: Footer, kind: str) -> None:
    """Raises AnalysisError unless the file's own version and columns are the ones this version reads."""
    if footer.version != str(SCHEMA_VERSION):
        found = "none" if footer.version is None else repr(footer.version)
        raise AnalysisError(
            f"{footer.path}: its samebox.schema is {found}, this version reads {SCHEMA_VERSION}.",
            next_step="Analyse it with the samebox version that wrote it.",
        )
    # Spark would fill a missing column with nulls and say nothing
    missing = [name for name in RECORDS[kind].fieldNames() if name not in footer.columns and name not in ADDED]
    if missing:
        raise AnalysisError(
            f"{footer.path}: has no column {', '.join(missing)}, although it says schema {SCHEMA_VERSION}."
        )


def _load(spark: SparkSession, storage: Storage, campaign: Campaign, kind: str) -> Rows:
    folders = {trial.name: f"{campaign.results}/trials/{trial.name}/{kind}" for trial in campaign.trials}
    files = {name: _parquet_files(storage, folder) for name, folder in folders.items()}
    for footer in storage.footers([uri for uris in files.values() for uri in uris]):
        refuse_unknown(footer, kind)
    readable = spark.read.schema(RECORDS[kind]).option("pathGlobFilter", "*.parquet")
    return Rows(
        {
            trial.name: readable.parquet(folders[trial.name]).select("*", *_of(trial))
            for trial in campaign.trials
            if files[trial.name]
        },
        _no_rows(spark, kind),
    )


def _of(trial: Trial) -> list[Column]:
    """TRIAL_COLUMNS; they are literals, which Spark folds away."""
    begin_ns, end_ns = trial.measured_ns() or (None, None)
    return [
        F.lit(trial.name).alias("trial"),
        F.lit(trial.start_ns).cast("long").alias("start_ns"),
        F.lit(begin_ns).cast("long").alias("measure_start_ns"),
        F.lit(end_ns).cast("long").alias("measure_end_ns"),
    ]


def _place() -> list[Column]:
    """PLACE_COLUMNS."""
    return [F.col("_metadata.file_path").alias("file"), F.col("_metadata.file_block_start").alias("file_offset")]


def _no_rows(spark: SparkSession, kind: str) -> DataFrame:
    return spark.createDataFrame([], T.StructType([*RECORDS[kind], *TRIAL_COLUMNS])).where(F.lit(False))


def _parquet_files(storage: Storage, folder: str) -> list[str]:
    return [f"{folder}/{entry.name}" for entry in storage.entries(folder) if entry.name.endswith(".parquet")]
