"""A server's configuration file as text: its settings by path, overrides in their place, and the digest that the server makes of it.

The format is NATS' own: `key: value` lines, in blocks. What samebox renders has one setting a line, and its values are numbers, true
and false, quoted strings, or a list of these on one line.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

_BLOCK = re.compile(r"\s*(?P<name>\w+)\s*\{\s*")
_END = re.compile(r"\s*\}\s*")
_SETTING = re.compile(r"(?P<indent>\s*)(?P<key>\w+): (?P<value>.+?)\s*")
_BARE = re.compile(r"-?\d+|true|false|\[.*\]")
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ns|us|ms|s|m|h))+")
_PART = re.compile(r"(\d+(?:\.\d+)?)(ns|us|ms|s|m|h)")
_UNITS_NS = {"h": 3_600_000_000_000, "m": 60_000_000_000, "s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}


@dataclass(frozen=True)
class Line:
    """A line of a file: the setting on it, if there is one, by its path ("jetstream.sync_interval").

    `block`: the path of the block that the line is in; `closes`: it is the end of that block.
    """

    text: str
    block: str
    closes: bool = False
    path: str | None = None
    value: str = ""


def lines_of(text: str) -> Iterator[Line]:
    """Raises ValueError for a line that is none of the above."""
    blocks: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        block = ".".join(blocks)
        if not line.strip() or line.lstrip().startswith("#"):
            yield Line(line, block)
        elif opened := _BLOCK.fullmatch(line):
            blocks.append(opened["name"])
            yield Line(line, block)
        elif _END.fullmatch(line) and blocks:
            blocks.pop()
            yield Line(line, block, closes=True)
        elif setting := _SETTING.fullmatch(line):
            yield Line(line, block, path=".".join([*blocks, setting["key"]]), value=setting["value"])
        else:
            raise ValueError(f"line {number} of a server's configuration: neither a setting nor a block: {line!r}")
    if blocks:
        raise ValueError(f"a server's configuration: block {'.'.join(blocks)!r} isn't closed")


def settings_of(text: str) -> dict[str, str]:
    """Path -> value, as running servers are read back: without quotes, lists joined by commas, durations in their shortest form."""
    return {line.path: printed(json_value(line.value)) for line in lines_of(text) if line.path is not None}


def printed(value: object) -> str:
    """A value of a file or of a server's own account as settings have it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ",".join(printed(each) for each in value)
    text = str(value)
    return duration(_nanoseconds(text)) if _DURATION.fullmatch(text) else text


def json_value(written: str) -> object:
    """A written value as the server's parser has it: in this form, what samebox writes is JSON."""
    return json.loads(written)


def duration(nanoseconds: int) -> str:
    """In the largest unit that needs no fraction: 120000000000 -> 2m."""
    unit = next(unit for unit, size_ns in _UNITS_NS.items() if nanoseconds % size_ns == 0)
    return f"{nanoseconds // _UNITS_NS[unit]}{unit if nanoseconds else 's'}"


def _nanoseconds(text: str) -> int:
    return round(sum(float(number) * _UNITS_NS[unit] for number, unit in _PART.findall(text)))


def without(text: str, paths: Collection[str]) -> str:
    """The file without some settings."""
    return "".join(f"{line.text}\n" for line in lines_of(text) if line.path not in paths)


def override(text: str, overrides: Mapping[str, str]) -> str:
    """The file with some settings replaced in their place and unknown ones added, at the end of their block if there is one."""
    left = dict(overrides)
    written: list[str] = []
    for line in lines_of(text):
        if line.path in left:
            written += _added({line.path.rpartition(".")[2]: left.pop(line.path)}, depth=line.path.count("."))
            continue
        if line.closes:
            begin = f"{line.block}."
            inside = {path.removeprefix(begin): left.pop(path) for path in list(left) if path.startswith(begin)}
            written += _added(inside, depth=begin.count("."))
        written.append(line.text)
    return "\n".join(written + _added(left, depth=0)) + "\n"


def _added(settings: Mapping[str, str], depth: int) -> list[str]:
    """Lines that set these paths inside a block so deep."""
    indent, lines, blocks = "  " * depth, [], dict[str, dict[str, str]]()
    for path, value in settings.items():
        first, _, rest = path.partition(".")
        if rest:
            blocks.setdefault(first, {})[rest] = value
        else:
            lines.append(f"{indent}{first}: {value if _BARE.fullmatch(value) else json.dumps(value)}")
    for name, inside in blocks.items():
        lines += [f"{indent}{name} {{", *_added(inside, depth + 1), f"{indent}}}"]
    return lines


def digest(text: str) -> str:
    """What a server that has read this file says in /varz: the sum of its settings as JSON, sorted by name (conf/parse.go, 2.11 on)."""
    document: dict[str, object] = {}
    for line in lines_of(text):
        if line.path is not None:
            *blocks, key = line.path.split(".")
            inside = document
            for name in blocks:
                inside = inside.setdefault(name, {})  # type: ignore[assignment]
            inside[key] = json_value(line.value)
    encoded = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    for character in "<>&":  # Go writes JSON that may stand in HTML
        encoded = encoded.replace(character, f"\\u{ord(character):04x}")
    return "sha256:" + hashlib.sha256(f"{encoded}\n".encode()).hexdigest()
