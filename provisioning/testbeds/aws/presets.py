"""How a stack's own config file differs from the preset that it was made from. It changes neither."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from provisioning.testbeds.aws.shape import PRESETS, preset_files, read_stack_config

# what a copy has of its own by its nature
OWN = ("campaign",)


def differences(directory: Path, file: Path) -> tuple[str, ...]:
    """A phrase for every key of the preset that `file` says otherwise; none where it names no preset, or is one.

    A preset whose pins were renewed after the copy shows here, and so does what the operator has changed. Raises InvalidInput.
    """
    own = read_stack_config(file)
    preset = next((path for path in preset_files(directory) if path.stem == own.get("preset")), None)
    if preset is None or preset.samefile(file):
        return ()
    template = read_stack_config(preset)
    return tuple(
        f"{key} {_shown(own.get(key))} ({PRESETS / preset.name}: {_shown(value)})"
        for key, value in template.items()
        if key not in OWN and _shown(own.get(key)) != _shown(value)
    )


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{key}={each}" for key, each in sorted(value.items()))
    return "isn't set" if value is None else str(value)
