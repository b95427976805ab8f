"""Operator-written and tool-written files (TOML, JSON) into frozen dataclasses; the only place that validates them.

A wrong file is one InvalidInput that names the file, the key, what was expected and the valid choices.
"""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints

from pydantic import TypeAdapter, ValidationError

from provisioning.errors import InvalidInput

T = TypeVar("T")


def read_text(path: Path) -> str:
    """The file's text. Raises InvalidInput if it is missing (naming what is there) or can't be read."""
    try:
        return path.read_text()
    except FileNotFoundError:
        near = sorted(p.name for p in path.parent.glob(f"*{path.suffix}")) if path.parent.is_dir() else []
        hint = f"Files there: {', '.join(near)}." if near else f"The folder {path.parent} has no {path.suffix} file."
        raise InvalidInput(f"{path}: no such file.", next_step=hint) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path}: can't be read: {error}") from None


def read_document(path: Path) -> dict[str, Any]:
    """The file's content as plain data; TOML or JSON by its ending. Raises InvalidInput if missing or malformed."""
    text = read_text(path)
    try:
        document = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (json.JSONDecodeError, tomllib.TOMLDecodeError) as error:
        kind = "JSON" if path.suffix == ".json" else "TOML"
        raise InvalidInput(f"{path}: not valid {kind}: {error}") from None
    if not isinstance(document, dict):
        raise InvalidInput(f"{path}: expected a table of keys at the top.")
    return document


def parse_document(cls: type[T], path: Path, *, schema: int | None = None) -> T:
    """Reads `path` and builds `cls` (a frozen dataclass). With `schema`, refuses every other schema version."""
    document = read_document(path)
    if schema is not None and document.get("schema") != schema:
        raise InvalidInput(
            f"{path}: schema is {document.get('schema')!r}, this samebox reads schema = {schema}.",
            next_step="Write it with this version of samebox, or use the version that wrote it.",
        )
    return build(cls, document, where=str(path))


def build(cls: type[T], document: dict[str, Any], *, where: str, named: Mapping[str, str] | None = None) -> T:
    """Plain data into `cls`; `where` (a file name) starts every message. All problems are listed at once.

    `named`: what keys are called in the operator's file, where that is of another format (key of `cls` -> words).
    """
    adapter = TypeAdapter(cls)
    try:
        return adapter.validate_python(document, extra="forbid")
    except ValidationError as error:
        lines = [_line(cls, problem, named or {}) for problem in error.errors(include_url=False)]
        raise InvalidInput("\n".join(f"{where}: {line}" for line in lines)) from None


def _line(cls: type[Any], problem: Any, named: Mapping[str, str]) -> str:
    location = [part for part in problem["loc"] if isinstance(part, int | str)]
    key = ".".join(str(part) for part in location) or "the file"
    if problem["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        valid = _keys_at(cls, location[:-1])
        close = difflib.get_close_matches(str(location[-1]), valid, n=1)
        guess = f" Did you mean {close[0]!r}?" if close else ""
        return f"unknown key {key!r}.{guess} Valid keys: {', '.join(valid)}."
    if problem["type"] == "missing":
        return f"key {key!r} is missing."
    message = str(problem["msg"]).removeprefix("Value error, ").removeprefix("Assertion failed, ")
    for ours, theirs in named.items():
        message = re.sub(rf"\b{re.escape(ours)}(?= =)", theirs, message)  # a message may cite another key and its value
    return f"key {named.get(key, key)!r} = {problem['input']!r}: {message[:1].lower()}{message[1:].rstrip('.')}."


def _keys_at(cls: Any, location: list[int | str]) -> list[str]:
    """The keys a table at `location` may have, walked along the dataclass' own type hints."""
    for part in location:
        if is_dataclass(cls) and isinstance(part, str) and part in get_type_hints(cls):
            cls = get_type_hints(cls)[part]
        else:
            cls = next((arg for arg in reversed(get_args(cls)) if arg is not Ellipsis), cls)
        cls = next((arg for arg in get_args(cls) if is_dataclass(arg)), cls)
    return sorted(field.name for field in fields(cls)) if is_dataclass(cls) else []
