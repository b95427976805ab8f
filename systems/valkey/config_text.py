"""A server's configuration file, read as settings and with settings replaced."""

from __future__ import annotations

import re
from collections.abc import Mapping

from systems.rendering import override

_EMPTY = '""'
_SIZE = re.compile(r"(\d+)([kmg]b?|b)", re.I)
_UNITS = {"b": 1, "k": 1000, "kb": 2**10, "m": 1000**2, "mb": 2**20, "g": 1000**3, "gb": 2**30}


def setting_of(line: str) -> tuple[str, str] | None:
    """The setting on one line, if it holds one, valued as the running server prints it: sizes in bytes, nothing for ""."""
    stripped = line.strip()
    if not stripped or stripped.startswith("#"):
        return None
    key, _, value = stripped.partition(" ")
    value = value.strip()
    return key, "" if value == _EMPTY else " ".join(map(in_bytes, value.split()))


def in_bytes(word: str) -> str:
    """A size ("3gb") as a number of bytes; anything else as it is."""
    size = _SIZE.fullmatch(word)
    return str(int(size[1]) * _UNITS[size[2].lower()]) if size else word


def settings(text: str) -> dict[str, str]:
    """The settings of a rendered file."""
    return dict(filter(None, map(setting_of, text.splitlines())))


def override_settings(text: str, overrides: Mapping[str, str]) -> str:
    """The file with some settings replaced in their place and unknown ones appended."""
    return override(text, overrides, setting_of, lambda key, value: f"{key} {value or _EMPTY}")
