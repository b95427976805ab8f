"""The report.json of a campaign, as far as claims need it. It takes a document with all that is needed, or refuses it by key."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from analysis.documents import require_known_schema
from analysis.errors import AnalysisError

_MOST_BYTES = 1 << 30
_KINDS: Mapping[type, str] = {
    str: "a text",
    int: "a whole number",
    float: "a number, 0 or more",
    dict: "an object",
    list: "a list",
}
_OF_A_TRIAL: Mapping[str, type] = {
    "trial": str,
    "experiment": str,
    "system": str,
    "durability": dict,
    "workload": dict,
    "block": int,
    "validity": str,
}


def read_report(results: Path) -> dict[str, Any]:
    """The document. Raises AnalysisError with file and key, and what to type."""
    file = results / "report" / "report.json"
    next_step = f"Make the report anew: samebox report {results}"
    document = _json(file, next_step)
    require_known_schema(document, str(file), next_step=next_step)
    try:
        _require(document, "manifest", dict)
        _require(document["manifest"], "campaign", str, "manifest.")
        _require_all(document)
    except ValueError as error:
        raise AnalysisError(f"{file}: {error}.", next_step=next_step) from None
    return document


def _json(file: Path, next_step: str) -> dict[str, Any]:
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise AnalysisError(f"{file}: can't be read: {error.strerror}.", next_step=next_step) from None
    except RecursionError:
        raise AnalysisError(f"{file}: nested too deeply for a report.", next_step=next_step) from None
    except ValueError as error:
        raise AnalysisError(f"{file}: not valid JSON: {error}.", next_step=next_step) from None
    if not isinstance(document, dict):
        raise AnalysisError(f"{file}: expected a JSON object.", next_step=next_step)
    return document


def _require_all(document: Mapping[str, Any]) -> None:
    trials, summary = _require(document, "trials", list), _require(document, "summary", list)
    if not trials:
        raise ValueError("trials is empty: there is nothing to judge by")
    for index, trial in enumerate(trials):
        where = f"trials[{index}]"
        _require_object(trial, where)
        for key, kind in _OF_A_TRIAL.items():
            _require(trial, key, kind, f"{where}.")
        _require(trial["durability"], "name", str, f"{where}.durability.")
        _require(trial["workload"], "name", str, f"{where}.workload.")
        if _require(trial["workload"], "message_bytes", int, f"{where}.workload.") < 1:
            raise ValueError(f"{where}.workload.message_bytes: expected 1 or more")
    for index, row in enumerate(summary):
        where = f"summary[{index}]"
        _require_object(row, where)
        for key in ("trial", "metric"):
            _require(row, key, str, f"{where}.")
        _require_value(row, f"{where} ({row['trial']}, {row['metric']}).")


def _require_value(row: Mapping[str, Any], where: str) -> None:
    """A value, or of one that isn't known the bounds it lies in; no upper bound is none."""
    if row.get("value", "") is not None or row.get("low") is None:
        _require(row, "value", float, where)
    for key in ("low", "high"):
        if row.get(key) is not None:
            _require(row, key, float, where)


def _require_object(value: Any, where: str) -> None:
    if not isinstance(value, dict):
        raise ValueError(f"{where}: expected an object, found {_shown(value)}")


def _require(table: Mapping[str, Any], key: str, kind: type, where: str = "") -> Any:
    """The value of a key, of that kind. Raises ValueError."""
    if key not in table:
        raise ValueError(f"{where}{key} is missing")
    value = table[key]
    right = isinstance(value, int | float) if kind is float else isinstance(value, kind)
    if isinstance(value, bool) or not right or (kind is float and not (math.isfinite(value) and value >= 0)):
        raise ValueError(f"{where}{key}: expected {_KINDS[kind]}, found {_shown(value)}")
    return value


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
