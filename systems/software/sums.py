"""SHA-256 sums of files as they were when they were recorded, in sha256sum's format, and what differs from them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from provisioning.errors import InvalidInput


def read_sums(file: Path, line_of: re.Pattern[str], *, what: str, recording: str) -> dict[str, str]:
    """Name -> SHA-256. `line_of` matches a line, with the sum and the name as its groups; `what` they are sums of: "jar".

    Raises InvalidInput; `recording` is the command that writes the file.
    """
    if not file.is_file():
        raise InvalidInput(f"{file} doesn't exist, so the {what}s can't be verified.", next_step=recording)
    found = {}
    for number, line in enumerate(file.read_text().splitlines(), start=1):
        match = line_of.fullmatch(line)
        if match is None:
            raise InvalidInput(f"{file}, line {number}: not a sha256sum line for a {what}: {line[:100]!r}.")
        found[match[2]] = match[1]
    return found


def write_sums(file: Path, found: Mapping[str, str]) -> None:
    """Records sums by name."""
    file.write_text("".join(f"{found[name]}  {name}\n" for name in sorted(found)))


def differences(actual: Mapping[str, str], recorded: Mapping[str, str]) -> list[str]:
    """Every file that is missing, not recorded or different, in words."""
    return [
        *(f"missing: {name}" for name in sorted(recorded.keys() - actual.keys())),
        *(f"not recorded: {name}" for name in sorted(actual.keys() - recorded.keys())),
        *(
            f"differs: {name} is {actual[name]}, recorded {recorded[name]}"
            for name in sorted(recorded.keys() & actual.keys())
            if actual[name] != recorded[name]
        ),
    ]
