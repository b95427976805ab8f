"""One Spark session for all tests of analysis, and results folders to analyse."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # for tests.analysis.synthetic_results


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A small local session; ANSI mode as in Spark 4, which refuses what Spark 3 turned into nulls."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["MPLCONFIGDIR"] = str(tmp_path_factory.mktemp("matplotlib"))
    from analysis.session import start_session

    builder = SparkSession.builder.master("local[1]").config("spark.sql.shuffle.partitions", "1")
    builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
    builder.config("spark.ui.enabled", "false").config(
        "spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse"))
    )
    builder.config("spark.local.dir", str(tmp_path_factory.mktemp("spark"))).getOrCreate()
    session = start_session("samebox tests")
    yield session
    session.stop()


@pytest.fixture(params=["true", "false"], ids=["ansi", "not ansi"])
def either_ansi(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    """The session with ANSI mode on, then off."""
    before = spark.conf.get("spark.sql.ansi.enabled", "false")
    spark.conf.set("spark.sql.ansi.enabled", request.param)
    yield spark
    spark.conf.set("spark.sql.ansi.enabled", str(before))


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Where a test writes its results folder."""
    return tmp_path / "results" / "demo"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Warnings are errors here too, but for those that pyspark 3.5 itself causes with current Python packages."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(
                pytest.mark.filterwarnings("ignore:distutils Version classes are deprecated:DeprecationWarning")
            )
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"))
