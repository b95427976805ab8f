"""Redpanda's configuration files as text: their settings by path, as running brokers are read back, and overrides in their place.

Both files are YAML. What samebox renders has one property a line, whose value is JSON, which YAML includes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from systems import rendering

_PROPERTY = re.compile(r"(?P<indent> *)(?P<key>[a-z][a-z0-9_]*): (?P<value>\S.*)")


def properties_of(text: str) -> dict[str, object]:
    """Property -> value. Raises ValueError for a line that is neither a property, a comment, nor the name of a section."""
    found: dict[str, object] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if match := _PROPERTY.fullmatch(line):
            found[match["key"]] = json.loads(match["value"])
        elif line.strip() and not line.lstrip().startswith("#") and not re.fullmatch(r"\w+:", line):
            raise ValueError(f"line {number} of a broker's configuration: {line!r}")
    return found


def settings_of(text: str) -> dict[str, str]:
    """Path ("kafka_api.0.port") -> value as a broker shows it."""
    return flat(properties_of(text))


def flat(properties: Mapping[str, object]) -> dict[str, str]:
    """Values below each other under one path each, as text: true and false in lower case, null as "null"."""
    return {path: value for key, each in properties.items() for path, value in _flat(key, each)}


def _flat(path: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _flat(f"{path}.{key}", each)
    elif isinstance(value, list):
        for at, each in enumerate(value):
            yield from _flat(f"{path}.{at}", each)
    else:
        yield path, value if isinstance(value, str) else json.dumps(value)


def override(text: str, overrides: Mapping[str, str]) -> str:
    """The file with some properties replaced and unknown ones appended. A value that isn't JSON is a string."""
    indent = "  " if re.search(r"(?m)^\w+:$", text) else ""

    def setting_of(line: str) -> tuple[str, str] | None:
        match = _PROPERTY.fullmatch(line)
        return (match["key"], match["value"]) if match else None

    return rendering.override(
        text, overrides, setting_of, lambda key, value: f"{indent}{key}: {json.dumps(_value(value))}"
    )


def _value(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text
