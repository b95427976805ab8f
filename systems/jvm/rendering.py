"""Properties files and Java argument files, read as settings and with settings replaced."""

from __future__ import annotations

import re
from collections.abc import Mapping

from systems.rendering import override

_FLAG = re.compile(r"-XX:(?:(?P<sign>[+-])(?P<switch>\w+)|(?P<key>\w+)=(?P<value>\S*))")
_SIZE = re.compile(r"(\d+)([kKmMgGtT])")
_SIZE_UNIT = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


def property_of(line: str) -> tuple[str, str] | None:
    """The setting on one line of a properties file, if it holds one."""
    stripped = line.strip()
    if not stripped or stripped.startswith(("#", "!")):
        return None
    key, _, value = stripped.partition("=")
    return key.strip(), value.strip()


def size_bytes(size: str) -> int:
    """A JVM size ("512m", "1g", "1048576") in bytes. Raises ValueError for anything else."""
    found = _SIZE.fullmatch(size)
    return int(found[1]) * _SIZE_UNIT[found[2].lower()] if found else int(size)


def jvm_flag_of(line: str) -> tuple[str, str] | None:
    """The `-XX` flag on one line of a Java argument file, named and valued as the running JVM prints it (sizes in bytes)."""
    found = _FLAG.fullmatch(line.strip())
    if found is None:
        return None
    if found["switch"]:
        return found["switch"], "true" if found["sign"] == "+" else "false"
    value = found["value"]
    return found["key"], str(size_bytes(value)) if _SIZE.fullmatch(value) else value


def properties(text: str) -> dict[str, str]:
    """The settings of a rendered properties file."""
    return dict(filter(None, map(property_of, text.splitlines())))


def jvm_flags(text: str) -> dict[str, str]:
    """The flags of a rendered Java argument file; system properties (`-D`) are not flags."""
    return dict(filter(None, map(jvm_flag_of, text.splitlines())))


def override_properties(text: str, overrides: Mapping[str, str]) -> str:
    """The file with some settings replaced in their place and unknown ones appended."""
    return override(text, overrides, property_of, lambda key, value: f"{key}={value}")


def override_jvm_flags(text: str, overrides: Mapping[str, str]) -> str:
    """The argument file with some flags replaced in their place and unknown ones appended."""
    return override(text, overrides, jvm_flag_of, _jvm_flag_line)


def _jvm_flag_line(key: str, value: str) -> str:
    switch = {"true": "+", "false": "-"}.get(value.lower())
    return f"-XX:{switch}{key}" if switch else f"-XX:{key}={value}"
