"""The only door to files: local disk, S3 or any other Hadoop file system, by the URI alone."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.errors import AnalysisError

if TYPE_CHECKING:  # tasks without Spark import this too
    from pyspark.sql import SparkSession

SUCCESS = "_SUCCESS"
OUTPUTS = frozenset({"index.html", "checks.json", "summary.csv", "summary.parquet", "report.json", "data", SUCCESS})


@dataclass(frozen=True)
class Entry:
    """One name inside a folder."""

    name: str
    is_folder: bool


class Storage:
    """Files by URI through Spark's own Hadoop client."""

    def __init__(self, spark: SparkSession) -> None:
        self._jvm: Any = spark.sparkContext._jvm
        self._hadoop: Any = spark.sparkContext._jsc.hadoopConfiguration()

    def exists(self, uri: str) -> bool:
        """Whether a file or folder is there."""
        return bool(self._system(uri).exists(self._path(uri)))

    def entries(self, uri: str) -> list[Entry]:
        """What a folder holds, by name; empty if it isn't there. Names that start with . or _ are work in progress."""
        if not self.exists(uri):
            return []
        found = [(status.getPath().getName(), status.isDirectory()) for status in self._statuses(uri)]
        return [Entry(name, bool(folder)) for name, folder in sorted(found) if name[0] not in "._"]

    def read_json(self, uri: str) -> dict[str, Any]:
        """A JSON object. Raises AnalysisError if it is missing or malformed."""
        if not self.exists(uri):
            raise AnalysisError(f"{uri}: no such file.", next_step="Is this the folder of a campaign's results?")
        stream = self._system(uri).open(self._path(uri))
        try:
            text = self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8")
        finally:
            stream.close()
        try:
            document = json.loads(text)
        except json.JSONDecodeError as error:
            raise AnalysisError(f"{uri}: not valid JSON: {error}") from None
        if not isinstance(document, dict):
            raise AnalysisError(f"{uri}: expected a JSON object.")
        return document

    def publish(self, folder: Path, out: str, *, kind: str = "report", replaces: Collection[str] = OUTPUTS) -> None:
        """Copies a finished local folder to `out`: aside first, then renamed over what was there, `_SUCCESS` last.

        Replaces only an earlier one of its kind: a folder that holds anything but `replaces` is refused.
        """
        system, target, aside = self._system(out), self._path(out), self._path(out.rstrip("/") + ".writing")
        self._refuse_foreign(out, kind, replaces)
        system.setWriteChecksum(False)  # no .crc files beside the report
        system.delete(aside, True)
        system.mkdirs(aside)
        for item in sorted(folder.iterdir()):
            system.copyFromLocalFile(False, True, self._path(item.as_uri()), self._jvm_child(aside, item.name))
        system.delete(target, True)
        system.mkdirs(target.getParent())
        if not system.rename(aside, target):
            raise AnalysisError(f"{out}: the finished {kind} couldn't be moved there; it is in {aside}.")
        system.create(self._jvm_child(target, SUCCESS), True).close()

    def _refuse_foreign(self, out: str, kind: str, replaces: Collection[str]) -> None:
        if not self.exists(out):
            return
        names = [status.getPath().getName() for status in self._statuses(out)]
        foreign = sorted(name for name in names if name not in replaces)
        if foreign:
            raise AnalysisError(
                f"{out}: contains files that aren't part of an earlier {kind} ({', '.join(foreign[:3])}), so it isn't replaced.",
                next_step="Give another folder with --out.",
            )

    def _statuses(self, uri: str) -> Any:
        return self._system(uri).listStatus(self._path(uri))

    def _path(self, uri: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(uri)

    def _jvm_child(self, parent: Any, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(parent, name)

    def _system(self, uri: str) -> Any:
        return self._path(uri).getFileSystem(self._hadoop)
