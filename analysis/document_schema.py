"""The version of the JSON documents that analysis reads and writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analysis.errors import AnalysisError

SCHEMA_VERSION = 1


def require_known_schema(document: Mapping[str, Any], where: str, *, next_step: str) -> None:
    """Raises AnalysisError unless a JSON document's own version is the one this version reads."""
    if document.get("schema") != SCHEMA_VERSION:
        raise AnalysisError(
            f"{where}: schema is {document.get('schema')!r}, this version reads schema {SCHEMA_VERSION}.",
            next_step=next_step,
        )
