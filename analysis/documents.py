"""JSON documents: the version of those that analysis reads and writes, reading and writing their files, and checking their shape."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from analysis.errors import AnalysisError

SCHEMA_VERSION = 1
_KINDS: Mapping[type, str] = {str: "a text", int: "a whole number", float: "a number, 0 or more"}


def read_document(file: Path, *, next_step: str) -> dict[str, Any]:
    """A JSON object of the version that this samebox reads. Raises AnalysisError, naming the file."""
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise AnalysisError(f"{file}: can't be read: {error.strerror}.", next_step=next_step) from None
    except RecursionError:
        raise AnalysisError(f"{file}: nested too deeply.", next_step=next_step) from None
    except ValueError as error:  # not UTF-8, or not JSON
        raise AnalysisError(f"{file}: not valid JSON: {error}.", next_step=next_step) from None
    if not isinstance(document, dict):
        raise AnalysisError(f"{file}: expected a JSON object.", next_step=next_step)
    require_known_schema(document, str(file), next_step=next_step)
    return document


def require_known_schema(document: Mapping[str, Any], where: str, *, next_step: str) -> None:
    """Raises AnalysisError unless a JSON document's own version is the one this version reads."""
    if document.get("schema") != SCHEMA_VERSION:
        raise AnalysisError(
            f"{where}: schema is {document.get('schema')!r}, this version reads schema {SCHEMA_VERSION}.",
            next_step=next_step,
        )


def write_json(file: Path, document: Any) -> None:
    """A document, indented; refuses what JSON doesn't have (infinity, not a number)."""
    file.write_text(json.dumps(document, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def require_shape(value: Any, shape: Any, where: str = "") -> None:
    """Raises ValueError, naming the key, for a JSON value without this shape.

    A shape is a dict of the keys that an object must have with their shapes, a list of the one shape that all elements have, str, int,
    float (which is a number of 0 or more), or object (which is anything).
    """
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            raise ValueError(f"{where}: expected an object, found {shown(value)}")
        for key, inner in shape.items():
            at = f"{where}.{key}" if where else key
            if key not in value:
                raise ValueError(f"{at} is missing")
            require_shape(value[key], inner, at)
    elif isinstance(shape, list):
        if not isinstance(value, list):
            raise ValueError(f"{where}: expected a list, found {shown(value)}")
        for index, each in enumerate(value):
            require_shape(each, shape[0], f"{where}[{index}]")
    elif shape is not object:
        is_kind = isinstance(value, int | float if shape is float else shape) and not isinstance(value, bool)
        if not is_kind or (shape is float and not (math.isfinite(value) and value >= 0)):
            raise ValueError(f"{where}: expected {_KINDS[shape]}, found {shown(value)}")


def shown(value: Any) -> str:
    """A JSON value, short enough for a sentence."""
    if isinstance(value, list | dict):
        what = "list" if isinstance(value, list) else "object"
        return f"a {what} of {len(value)}" if value else f"an empty {what}"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**15:
        return f"an integer of about {value.bit_length() * 3 // 10 + 1} digits"
    text = json.dumps(value[:40] if isinstance(value, str) else value)
    return text if len(text) <= 40 else f"{text[:37]}..."
