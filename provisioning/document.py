"""Operator-written and tool-written files (TOML, JSON) into frozen dataclasses; the only place that validates them.

A wrong file is one InvalidInput that names the file, the key, what was expected and the valid choices.
"""

from __future__ import annotations

import difflib
import json
import re
import reprlib
import stat
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError

from provisioning.errors import InvalidInput

T = TypeVar("T")
MOST_BYTES = 256 * 2**20
MOST_PROBLEMS = 10
MOST_SHOWN = 100  # characters of a value, and of a key
_DIGITS = "integer string conversion"  # how Python refuses a number of more than 4,300 digits

_shown = reprlib.Repr()
_shown.maxstring = _shown.maxother = _shown.maxlong = MOST_SHOWN


def read_text(path: Path, *, most_bytes: int = MOST_BYTES) -> str:
    """The file's text. Raises InvalidInput if it is missing (naming what is there), empty, too large, not a file, or unreadable."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):  # asked first: reading a pipe would wait for a writer
            kind = "a folder" if stat.S_ISDIR(found.st_mode) else "a pipe, socket or device"
            raise InvalidInput(f"{path}: {kind}; a file is needed.", next_step=_files_there(path))
        if found.st_size > most_bytes:
            raise InvalidInput(f"{path}: it has {found.st_size:,} bytes; at most {most_bytes:,} are read.")
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        missing = "a dangling symbolic link" if path.is_symlink() else "no such file"
        raise InvalidInput(f"{path}: {missing}.", next_step=_files_there(path)) from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        wrong = f"not UTF-8: byte 0x{error.object[error.start]:02x} in line {line}"
        raise InvalidInput(f"{path}: can't be read: {wrong}.", next_step="Save it as UTF-8.") from None
    except OSError as error:
        raise InvalidInput(f"{path}: can't be read: {error.strerror or error}.") from None
    if not text.strip():
        raise InvalidInput(f"{path}: the file is empty.")
    return text


def _files_there(path: Path) -> str:
    near = sorted(p.name for p in path.parent.glob(f"*{path.suffix}") if p.is_file()) if path.parent.is_dir() else []
    return f"Files there: {', '.join(near)}." if near else f"The folder {path.parent} has no {path.suffix} file."


def read_document(path: Path) -> dict[str, Any]:
    """The file's content as plain data; TOML or JSON by its ending. Raises InvalidInput if missing or malformed."""
    document = read_json(path) if path.suffix == ".json" else _parsed(read_text(path), str(path), "TOML", tomllib.loads)
    if not isinstance(document, dict):
        raise InvalidInput(f"{path}: expected a table of keys at the top.")
    return document


def read_json(path: Path) -> Any:
    """What a JSON file holds. Raises InvalidInput if it is missing or malformed; a key given twice is."""
    return parse_json(read_text(path), str(path))


def parse_json(text: str, where: str) -> Any:
    """What JSON says; `where` starts every message. Raises InvalidInput as `read_json`."""
    return _parsed(text, where, "JSON", partial(json.loads, object_pairs_hook=partial(_distinct, where)))


def _parsed(text: str, where: str, kind: str, parse: Callable[[str], Any]) -> Any:
    try:
        return parse(text)
    except RecursionError:
        raise InvalidInput(f"{where}: nested too deeply.") from None
    except ValueError as error:
        wrong = "a number has too many digits." if _DIGITS in str(error) else f"not valid {kind}: {error}"
        raise InvalidInput(f"{where}: {wrong}") from None


def _distinct(where: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidInput(f"{where}: key {_shown.repr(twice)} is given twice.")
    return document


def parse_document(cls: type[T], path: Path, *, schema: int | None = None) -> T:
    """Reads `path` and builds `cls` (a frozen dataclass). With `schema`, refuses every other schema version."""
    document = read_document(path)
    if schema is not None:
        require_schema(document, path, schema)
    return build(cls, document, where=str(path), strict=True)


def require_schema(document: Mapping[str, Any], path: Path, schema: int) -> None:
    """Raises InvalidInput unless the document says this very number."""
    found = document.get("schema")
    if found != schema or isinstance(found, bool):
        raise InvalidInput(
            f"{path}: schema is {_shown.repr(found)}, this samebox reads schema = {schema}.",
            next_step="Write it with this version of samebox, or use the version that wrote it.",
        )


def build(
    cls: type[T],
    document: dict[str, Any],
    *,
    where: str,
    named: Mapping[str, str] | None = None,
    strict: bool = False,
    more_keys: bool = False,
) -> T:
    """Plain data into `cls`; `where` (a file name) starts every message. All problems are listed at once.

    `named`: what keys are called in the operator's file, where that is of another format (key of `cls` -> words). `strict`: a text
    or a truth value is no number. `more_keys`: keys that `cls` hasn't are left alone.
    """
    config = ConfigDict(extra="ignore" if more_keys else "forbid", allow_inf_nan=False)
    adapter = TypeAdapter(tuple[cls], config=config)  # type: ignore[valid-type]  # a dataclass itself takes no config; one inside does
    try:
        if not strict:
            return adapter.validate_python((document,))[0]
        # as JSON, where a list is what a tuple is written as; days of TOML are written as texts there
        return adapter.validate_json(json.dumps([_whole(document)], default=str), strict=True)[0]
    except ValidationError as error:
        found = error.errors(include_url=False)
        told: set[tuple[str, ...]] = set()
        lines = [
            _line(cls, {**problem, "loc": problem["loc"][1:]}, named or {}, told) for problem in found[:MOST_PROBLEMS]
        ]
        more = [f"and {len(found) - MOST_PROBLEMS:,} more."] if len(found) > MOST_PROBLEMS else []
        raise InvalidInput("\n".join(f"{where}: {line}" for line in [*lines, *more])) from None
    except RecursionError:
        raise InvalidInput(f"{where}: nested too deeply.") from None


def _whole(value: Any) -> Any:
    """Plain data in which whole numbers are whole: some that write JSON know one kind of number only, and make 22.0 of 22."""
    if isinstance(value, dict):
        return {key: _whole(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_whole(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def printable(text: str) -> str:
    """For pydantic: the text, if it can be shown as it is. Raises ValueError."""
    if not all(letter.isprintable() or letter == "\n" for letter in text):
        raise ValueError("control characters can't be shown")
    return text


def _line(cls: type[Any], problem: Any, named: Mapping[str, str], told: set[tuple[str, ...]]) -> str:
    """A problem in words. `told`: the tables of which the valid keys have been listed, which is done once."""
    location = [part for part in problem["loc"] if isinstance(part, int | str)]
    key = ".".join(str(part) for part in location)[:MOST_SHOWN] or "the file"
    if problem["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        valid, table = _keys_at(cls, location[:-1]), tuple(part for part in location[:-1] if isinstance(part, str))
        close = difflib.get_close_matches(str(location[-1])[:MOST_SHOWN], valid, n=1)
        guess = f" Did you mean {close[0]!r}?" if close else ""
        listed = "" if table in told else f" Valid keys: {', '.join(valid)}."
        told.add(table)
        return f"unknown key {key!r}.{guess}{listed}"
    if problem["type"] == "missing":
        return f"key {key!r} is missing."
    message = str(problem["msg"]).removeprefix("Value error, ").removeprefix("Assertion failed, ")
    for ours, theirs in named.items():
        message = re.sub(rf"\b{re.escape(ours)}(?= =)", theirs, message)  # a message may cite another key and its value
    return f"key {named.get(key, key)!r} = {_shown.repr(problem['input'])}: {message[:1].lower()}{message[1:].rstrip('.')}."


def _keys_at(cls: Any, location: list[int | str]) -> list[str]:
    """The keys a table at `location` may have, walked along the dataclass' own type hints."""
    for part in location:
        if is_dataclass(cls) and isinstance(part, str) and part in get_type_hints(cls):
            cls = get_type_hints(cls)[part]
        else:
            cls = next((arg for arg in reversed(get_args(cls)) if arg is not Ellipsis), cls)
        cls = next((arg for arg in get_args(cls) if is_dataclass(arg)), cls)
    return sorted(field.name for field in fields(cls)) if is_dataclass(cls) else []
