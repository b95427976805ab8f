"""Rows of all trials as three DataFrames with a `trial` column. Refuses unknown layouts; never drops or repairs a row."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from analysis.campaign import Campaign
from analysis.errors import AnalysisError
from analysis.schema import MEASURE, RECORDS, SCHEMA_VERSION, TRIAL_TIMES
from analysis.storage import Footer, Storage


@dataclass(frozen=True)
class Records:
    """The rows of a campaign, all trials together, each row with its trial's name and times."""

    produced: DataFrame
    consumed: DataFrame
    hosts: DataFrame


def load_records(spark: SparkSession, storage: Storage, campaign: Campaign) -> Records:
    """The records of every trial. A kind of record that a trial doesn't have (it was aborted early) has no rows."""
    times = trial_times(spark, campaign)
    frames = {kind: with_trial_times(_load(spark, storage, campaign, kind), times) for kind in RECORDS}
    return Records(produced=frames["produced"], consumed=frames["consumed"], hosts=frames["hosts"])


def trial_times(spark: SparkSession, campaign: Campaign) -> DataFrame:
    """One row per trial: start of its load and bounds of its measure phase."""
    rows = []
    for trial in campaign.trials:
        begin, end = trial.phase_ns(MEASURE) or (None, None)
        rows.append((trial.name, trial.start_ns, begin, end))
    return spark.createDataFrame(rows, TRIAL_TIMES)


def with_trial_times(records: DataFrame, times: DataFrame) -> DataFrame:
    """Adds start_ns, measure_start_ns, measure_end_ns of each row's trial."""
    return records.join(F.broadcast(times), on="trial", how="inner")


def refuse_unknown(footer: Footer, kind: str) -> None:
    """Raises AnalysisError unless the file's own version and columns are the ones this version reads."""
    if footer.version != str(SCHEMA_VERSION):
        found = "none" if footer.version is None else repr(footer.version)
        raise AnalysisError(
            f"{footer.path}: its samebox.schema is {found}, this version reads {SCHEMA_VERSION}.",
            next_step="Analyse it with the samebox version that wrote it.",
        )
    # Spark would fill a missing column with nulls and say nothing
    missing = [name for name in RECORDS[kind].fieldNames() if name not in footer.columns]
    if missing:
        raise AnalysisError(
            f"{footer.path}: has no column {', '.join(missing)} though it says schema {SCHEMA_VERSION}."
        )


def _load(spark: SparkSession, storage: Storage, campaign: Campaign, kind: str) -> DataFrame:
    folders = [f"{campaign.results}/trials/{trial.name}/{kind}" for trial in campaign.trials]
    files = {folder: _parquet_files(storage, folder) for folder in folders}
    for footer in storage.footers([uri for uris in files.values() for uri in uris]):
        refuse_unknown(footer, kind)
    present = [folder for folder, uris in files.items() if uris]
    if not present:
        return spark.createDataFrame([], RECORDS[kind]).withColumns(
            {"trial": F.lit(""), "file": F.lit(""), "file_offset": F.lit(0)}
        )
    rows = spark.read.schema(RECORDS[kind]).option("pathGlobFilter", "*.parquet").parquet(*present)
    file = F.col("_metadata.file_path")
    offset = F.col("_metadata.file_block_start").alias("file_offset")
    return rows.select("*", F.regexp_extract(file, "/trials/([^/]+)/", 1).alias("trial"), file.alias("file"), offset)


def _parquet_files(storage: Storage, folder: str) -> list[str]:
    return [f"{folder}/{entry.name}" for entry in storage.entries(folder) if entry.name.endswith(".parquet")]
