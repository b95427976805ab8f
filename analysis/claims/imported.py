"""Imported result files as evidence: which of them measure what a published figure says, by what a file says it ran.

Files that say which block they are of are repetitions; all others are one. Of several in one block that ran the same, a rate is the
highest (what a system can do at most is what its best run did), a latency the median.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from analysis.claims.claim import Cell
from analysis.claims.figures import Figure
from analysis.claims.own_campaign import promised_by, to_published
from analysis.claims.quantity import Range, exactly
from analysis.claims.verdict import Reason
from analysis.documents import read_document, require_shape
from analysis.errors import AnalysisError
from analysis.words import AA

_CATCH_UP = "catch-up-reads"
_BESIDE_OTHERS = "mixed-workload"  # no result file says that others read beside what it measured
_PAUSED = "paused-consumers"
_END_TO_END = ("omb_end_to_end_latency", "end_to_end_latency")  # of files of the benchmark itself, of exports
_RATE_TOLERANCE = 0.01
_MESSAGE_BYTES = 1024  # where neither a file nor a figure says it
_RATES: Mapping[str, str] = {
    "publish_throughput": "throughput_achieved",
    "catch_up_throughput": "throughput_received_highest_window",
}
_NUMBERS = ("block", "topics", "partitions_per_topic", "subscriptions", "message_bytes", "rate_per_s")
_FILE = {"file": str, "trial": str, "identity": {}, "faults": [{"fault": str}]}
_AGAIN = "Import the files again: samebox import-omb FILE..."


@dataclass(frozen=True)
class ImportedFile:
    """A file: what it ran (name -> value), its faults, its values by metric."""

    file: str
    identity: Mapping[str, Any]
    faults: frozenset[str]
    values: Mapping[str, float]

    @property
    def block(self) -> int:
        return int(self.identity.get("block") or 1)

    @property
    def is_aa(self) -> bool:
        return bool(self.identity.get("block_kind") == AA)

    def ran(self, figure: Figure, cell: Cell | None) -> bool:
        """Whether this is a run of what the figure is of. What a file doesn't say is taken for one (topics, subscriptions)."""
        columns, own = figure.columns, self.identity
        if columns["workload"] == _BESIDE_OTHERS or (columns["workload"] == _CATCH_UP) != (_PAUSED in self.faults):
            return False
        promised = promised_by(figure, cell)
        return (
            promised is not None
            and (own.get("system"), own.get("durability")) == (columns["system"], promised)
            and (own.get("topics") or 1) * (own.get("partitions_per_topic") or 1) == _whole(columns["partitions"])
            and (own.get("subscriptions") or 1) == _whole(columns["subscriptions"])
            and (own.get("message_bytes") or _MESSAGE_BYTES) == _whole(columns["message_bytes"], _MESSAGE_BYTES)
            and _is_rate(own.get("rate_per_s"), columns["rate_msgs_per_s"])
        )


@dataclass(frozen=True)
class Source:
    """A value for a figure, in its unit, and the file that it is from."""

    file: ImportedFile
    value: float


@dataclass(frozen=True)
class ImportedResults:
    """The files of an import, as evidence. Blocks in which a system met itself compare nothing."""

    folder: Path
    files: Sequence[ImportedFile]
    is_published: bool = False
    relations_only: bool = False

    @property
    def blocks(self) -> Sequence[int]:
        """The blocks of two systems that the files are of."""
        return sorted({file.block for file in self.files if not file.is_aa}) or (1,)

    def value(self, figure: Figure, cell: Cell | None, block: int) -> Range | Reason:
        """What the files of that block say."""
        found = self.sources(figure, cell, block)
        if not found:
            return Reason.NOT_MEASURED if self._ran(figure, cell, block) else Reason.NOT_IN_CAMPAIGN
        values = [source.value for source in found]
        return exactly(max(values) if figure.columns["metric"] in _RATES else median(values))

    def sources(self, figure: Figure, cell: Cell | None, block: int) -> list[Source]:
        """The files of that block that have a value for the figure."""
        found = []
        for file in self._ran(figure, cell, block):
            value = next((file.values[name] for name in _metrics(figure) if name in file.values), None)
            if value is not None:
                bytes_each = file.identity.get("message_bytes") or _MESSAGE_BYTES
                found.append(Source(file, value * to_published(figure, int(bytes_each))))
        return found

    def _ran(self, figure: Figure, cell: Cell | None, block: int) -> list[ImportedFile]:
        return [file for file in self.files if not file.is_aa and file.block == block and file.ran(figure, cell)]

    def described(self) -> dict[str, Any]:
        """The evidence in the document of verdicts."""
        return {
            "kind": "imported",
            "results": str(self.folder),
            "files": len(self.files),
            "blocks": len({file.block for file in self.files}),
        }


def read_imported(folder: Path) -> ImportedResults:
    """What import-omb wrote. Raises AnalysisError with file and key for anything else."""
    file = folder / "import.json"
    document, values = read_document(file, next_step=_AGAIN), _values(folder / "summary.csv")
    try:
        require_shape(document, {"files": [_FILE]})
        files = [_imported(entry, values.get(entry["trial"], {})) for entry in document["files"]]
    except ValueError as error:
        raise AnalysisError(f"{file}: {error}.", next_step=_AGAIN) from None
    if not files:
        raise AnalysisError(f"{file}: no file was imported, so there is nothing to judge by.", next_step=_AGAIN)
    return ImportedResults(folder, files)


def _imported(entry: Mapping[str, Any], values: Mapping[str, float]) -> ImportedFile:
    for name, known in entry["identity"].items():
        require_shape(known, {"value": object}, name)
        if name in _NUMBERS and known["value"] is not None:
            require_shape(known, {"value": float}, name)
    return ImportedFile(
        file=entry["file"],
        identity={name: known["value"] for name, known in entry["identity"].items()},
        faults=frozenset(fault["fault"] for fault in entry["faults"]),
        values=values,
    )


def _values(file: Path) -> dict[str, dict[str, float]]:
    values: dict[str, dict[str, float]] = {}
    try:
        with file.open(newline="", encoding="utf-8") as opened:
            for row in csv.DictReader(opened):
                value = float(row["value"])
                if not math.isfinite(value):
                    raise ValueError(f"{row['metric']} of {row['trial']} is {row['value']}")
                values.setdefault(row["trial"], {})[row["metric"]] = value
    except OSError as error:
        raise AnalysisError(f"{file}: can't be read: {error.strerror}.", next_step=_AGAIN) from None
    except KeyError as error:
        raise AnalysisError(f"{file}: column {error} is missing.", next_step=_AGAIN) from None
    except (ValueError, TypeError, csv.Error) as error:
        raise AnalysisError(f"{file}: can't be read: {error}.", next_step=_AGAIN) from None
    return values


def _whole(text: str, otherwise: int = 1) -> int:
    return int(text) if text else otherwise


def _is_rate(own: float | None, published: str) -> bool:
    """A figure that is of no rate is of any; one that is needs a file that says it."""
    if not published:
        return True
    return own is not None and abs(own - float(published)) <= _RATE_TOLERANCE * float(published)


def _metrics(figure: Figure) -> tuple[str, ...]:
    """The names under which an import may have it, the first that is there counts."""
    metric, statistic = figure.columns["metric"], figure.columns["statistic"].removesuffix("-upper-bound")
    if metric in _RATES:
        return (_RATES[metric],)
    families = _END_TO_END if metric == "end_to_end_latency" else (metric,)
    return tuple(f"{family}_{statistic}" for family in families)
