"""Whole configuration files from templates, and the same files read back as settings. It never patches a vendor's file.

What is intended is parsed from the rendered text itself, so that file and intention cannot differ.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

TEMPLATES = Path(__file__).with_name("templates")
_ENVIRONMENT = Environment(
    loader=FileSystemLoader(TEMPLATES),
    undefined=StrictUndefined,
    keep_trailing_newline=True,
    trim_blocks=True,
    autoescape=False,
)
_FLAG = re.compile(r"-XX:(?:(?P<sign>[+-])(?P<switch>\w+)|(?P<key>\w+)=(?P<value>\S+))")
_SIZE = re.compile(r"(\d+)([kKmMgGtT])")
_SIZE_UNIT = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


def render(template: str, **variables: object) -> str:
    """A whole file. Raises jinja2.UndefinedError for a variable that the template uses and nobody gave."""
    return _ENVIRONMENT.get_template(template).render(**variables)


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
    return _override(text, overrides, property_of, lambda key, value: f"{key}={value}")


def override_jvm_flags(text: str, overrides: Mapping[str, str]) -> str:
    """The argument file with some flags replaced in their place and unknown ones appended."""
    return _override(text, overrides, jvm_flag_of, _jvm_flag_line)


def _jvm_flag_line(key: str, value: str) -> str:
    switch = {"true": "+", "false": "-"}.get(value.lower())
    return f"-XX:{switch}{key}" if switch else f"-XX:{key}={value}"


def _override(
    text: str,
    overrides: Mapping[str, str],
    setting_of: Callable[[str], tuple[str, str] | None],
    write: Callable[[str, str], str],
) -> str:
    lines = []
    left = dict(overrides)
    for line in text.splitlines():
        setting = setting_of(line)
        overridden = setting is not None and setting[0] in overrides
        lines.append(write(setting[0], overrides[setting[0]]) if setting is not None and overridden else line)
        if setting is not None:
            left.pop(setting[0], None)
    if left:
        lines += ["# Asked for by the campaign."] + [write(key, value) for key, value in left.items()]
    return "\n".join(lines) + "\n"
