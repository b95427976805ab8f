"""Whole configuration files from templates, never a vendor's file patched.

What is intended is parsed from the rendered text itself, so that file and intention cannot differ.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

_ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    undefined=StrictUndefined,
    keep_trailing_newline=True,
    trim_blocks=True,
    autoescape=False,
)


def render(template: str, **variables: object) -> str:
    """A whole file from a template, named by its path in this folder ("kafka/templates/server.properties.j2").

    Raises jinja2.UndefinedError for a variable that the template uses and that is missing.
    """
    return _ENVIRONMENT.get_template(template).render(**variables)


def without(text: str, keys: Collection[str], setting_of: Callable[[str], tuple[str, str] | None]) -> str:
    """The file without some settings: those that a version doesn't know (`systems.release.Facts`)."""

    def kept(line: str) -> bool:
        setting = setting_of(line)
        return setting is None or setting[0] not in keys

    return "".join(line for line in text.splitlines(keepends=True) if kept(line))


def override(
    text: str,
    overrides: Mapping[str, str],
    setting_of: Callable[[str], tuple[str, str] | None],
    write: Callable[[str, str], str],
) -> str:
    """The file with some settings replaced in their place and unknown ones appended.

    `setting_of` reads the setting on a line, if it holds one; `write` makes a line of one.
    """
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
