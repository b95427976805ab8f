"""rabbitmq.conf, read as settings and with settings replaced."""

from __future__ import annotations

from collections.abc import Mapping

from systems.rendering import override


def setting_of(line: str) -> tuple[str, str] | None:
    """The setting on one line, if it holds one."""
    stripped = line.strip()
    if not stripped or stripped.startswith("#") or "=" not in stripped:
        return None
    key, _, value = stripped.partition("=")
    return key.strip(), value.strip()


def settings(text: str) -> dict[str, str]:
    """The settings of a rendered file."""
    return dict(filter(None, map(setting_of, text.splitlines())))


def override_settings(text: str, overrides: Mapping[str, str]) -> str:
    """The file with some settings replaced in their place and unknown ones appended."""
    return override(text, overrides, setting_of, lambda key, value: f"{key} = {value}")
