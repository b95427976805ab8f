"""Imported result files as evidence: which of them measure what a published figure says, by what a file says it ran.

Files that say which block they are of are repetitions; all others are one. Of several in one block that ran the same, a rate is the
highest (what a system can do at most is what its best run did), a latency the median.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from analysis.claims.claim import Cell, Document
from analysis.claims.conclude import Kind, conclude
from analysis.claims.figures import Figure
from analysis.claims.judge import weigh
from analysis.claims.own_campaign import promised_by, to_published
from analysis.claims.quantity import Range, exactly
from analysis.claims.verdict import Reason, Verdict
from analysis.documents import require_known_schema
from analysis.errors import AnalysisError

_CATCH_UP = "catch-up-reads"
_BESIDE_OTHERS = "mixed-workload"  # no result file says that others read beside what it measured
_PAUSED = "paused-consumers"
_END_TO_END = ("omb_end_to_end_latency", "end_to_end_latency")  # of files of the benchmark itself, of exports
_RATE_TOLERANCE = 0.01
_MESSAGE_BYTES = 1024  # where neither a file nor a figure says it
_AGAIN = "Import the files again: samebox import-omb FILE..."


@dataclass(frozen=True)
class ImportedFile:
    """A file: its trial, what it ran (name -> value), its faults, its values by metric."""

    file: str
    trial: str
    identity: Mapping[str, Any]
    faults: frozenset[str]
    values: Mapping[str, float]

    @property
    def block(self) -> int:
        return int(self.identity.get("block") or 1)

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
class ImportedEvidence:
    """Imported files as evidence for the claims of one document."""

    document: Document
    files: Sequence[ImportedFile]
    is_published: bool = False

    @property
    def blocks(self) -> Sequence[int]:
        """The blocks that the files are of."""
        return sorted({file.block for file in self.files})

    def value(self, figure: Figure, block: int) -> Range | Reason:
        """What the files of that block say."""
        ran = self._ran(figure, block)
        found = self.sources(figure, block)
        if not found:
            return Reason.NOT_MEASURED if ran else Reason.NOT_IN_CAMPAIGN
        values = [source.value for source in found]
        return exactly(max(values) if _is_throughput(figure) else median(values))

    def sources(self, figure: Figure, block: int) -> list[Source]:
        """The files of that block that have a value for the figure."""
        found = []
        for file in self._ran(figure, block):
            value = next((file.values[name] for name in _metrics(figure) if name in file.values), None)
            if value is not None:
                bytes_each = file.identity.get("message_bytes") or _MESSAGE_BYTES
                found.append(Source(file, value * to_published(figure, int(bytes_each))))
        return found

    def _ran(self, figure: Figure, block: int) -> list[ImportedFile]:
        cell = self.document.cell_of(figure)
        return [file for file in self.files if file.block == block and file.ran(figure, cell)]


@dataclass(frozen=True)
class ImportedResults:
    """The folder of an import."""

    folder: Path
    files: Sequence[ImportedFile]

    def evidence(self, document: Document) -> ImportedEvidence:
        """The files as evidence for a document. Blocks in which a system met itself compare nothing."""
        return ImportedEvidence(document, [file for file in self.files if file.identity.get("block_kind") != "A/A"])

    def verdicts(self, documents: Sequence[Document], figures: Sequence[Figure]) -> list[Verdict]:
        """Every claim by these files, whose blocks are repetitions."""
        found = []
        for document in documents:
            evidence, kind = self.evidence(document), Kind(sampled=True)
            found += [
                conclude(document, weighed, evidence, kind) for weighed in weigh(document.claims, figures, evidence)
            ]
        return found

    def described(self) -> dict[str, Any]:
        """The evidence in the document of verdicts."""
        return {
            "kind": "imported",
            "results": str(self.folder),
            "files": len(self.files),
            "blocks": len({file.block for file in self.files}),
        }


def read_imported(folder: Path) -> ImportedResults:
    """What import-omb wrote. Raises AnalysisError with file and key for what it didn't."""
    file = folder / "import.json"
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise AnalysisError(f"{file}: can't be read: {_said(error)}.", next_step=_AGAIN) from None
    if not isinstance(document, dict):
        raise AnalysisError(f"{file}: expected a JSON object.", next_step=_AGAIN)
    require_known_schema(document, str(file), next_step=_AGAIN)
    values = _values(folder / "summary.csv")
    try:
        files = [
            ImportedFile(
                file=str(entry["file"]),
                trial=str(entry["trial"]),
                identity={name: known["value"] for name, known in entry["identity"].items()},
                faults=frozenset(fault["fault"] for fault in entry["faults"]),
                values=values.get(str(entry["trial"]), {}),
            )
            for entry in document["files"]
        ]
        _require_numbers(files)
    except (KeyError, TypeError, AttributeError) as error:
        raise AnalysisError(f"{file}: no file of an import: {_said(error)}.", next_step=_AGAIN) from None
    if not files:
        raise AnalysisError(f"{file}: no file was imported, so there is nothing to judge by.", next_step=_AGAIN)
    return ImportedResults(folder, files)


def _require_numbers(files: Sequence[ImportedFile]) -> None:
    """Raises TypeError for an identity with something else where a number stands."""
    for file in files:
        for name in ("block", "topics", "partitions_per_topic", "subscriptions", "message_bytes", "rate_per_s"):
            value = file.identity.get(name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
                raise TypeError(f"{name} of {file.trial} is {value!r}")


def _values(file: Path) -> dict[str, dict[str, float]]:
    values: dict[str, dict[str, float]] = {}
    try:
        with file.open(newline="", encoding="utf-8") as opened:
            for row in csv.DictReader(opened):
                value = float(row["value"])
                if not math.isfinite(value):
                    raise ValueError(f"{row['metric']} of {row['trial']} is {row['value']}")
                values.setdefault(row["trial"], {})[row["metric"]] = value
    except (OSError, ValueError, KeyError, TypeError, csv.Error) as error:
        raise AnalysisError(f"{file}: can't be read: {_said(error)}.", next_step=_AGAIN) from None
    return values


def _said(error: Exception) -> str:
    if isinstance(error, OSError):
        return str(error.strerror)
    return f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)


def _whole(text: str, otherwise: int = 1) -> int:
    return int(text) if text else otherwise


def _is_rate(own: float | None, published: str) -> bool:
    """A figure that is of no rate is of any; one that is needs a file that says it."""
    if not published:
        return True
    return own is not None and abs(own - float(published)) <= _RATE_TOLERANCE * float(published)


def _is_throughput(figure: Figure) -> bool:
    return figure.columns["metric"] in _RATES


_RATES: Mapping[str, str] = {
    "publish_throughput": "throughput_achieved",
    "catch_up_throughput": "throughput_received_highest_window",
}


def _metrics(figure: Figure) -> tuple[str, ...]:
    """The names under which an import may have it, the first that is there counts."""
    metric, statistic = figure.columns["metric"], figure.columns["statistic"].removesuffix("-upper-bound")
    if metric in _RATES:
        return (_RATES[metric],)
    named: Callable[[str], str] = lambda family: f"{family}_{statistic}"  # noqa: E731
    return tuple(map(named, _END_TO_END)) if metric == "end_to_end_latency" else (named(metric),)
