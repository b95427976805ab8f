"""Which settings a system on Java knows: a program of ours is run with the released jars, and asks their classes."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Collection, Mapping
from pathlib import Path

from provisioning.errors import MissingRequirement
from systems.jvm.processes import LIBS
from systems.known import KNOWN_SCHEMA, Known

TIMEOUT_S = 300.0
_TAIL_CHARS = 1500
_LINE = re.compile(r"(?P<kind>[a-z]+) (?P<key>[^=\s]+)(?P<told>=(?P<value>.*))?")


def ask_the_jars(
    program: Path, folder: Path, *, alike: Mapping[str, str], of_the_host: Collection[str] = ()
) -> Known:  # fmt: skip
    """What `program`, a single file of Java, prints with the jars of the software in `folder`.

    `of_the_host`: keys whose defaults follow from the machine that is asked, and are left out. Raises MissingRequirement.
    """
    flags = ("-XX:-UsePerfData", "-XX:+UseSerialGC", "-Xmx256m")
    command = ["java", *flags, "-cp", f"{folder / LIBS}/*", str(program)]
    try:
        completed = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except FileNotFoundError:
        raise MissingRequirement("`java` is not on the PATH.", next_step="Install a JDK, 17 or newer.") from None
    if completed.returncode != 0:
        tail = completed.stderr.strip()[-_TAIL_CHARS:]
        raise MissingRequirement(
            f"{folder.name}: its jars can't be asked for their settings by {program.name}:\n{tail}"
        )
    return Known(KNOWN_SCHEMA, settings_in(completed.stdout, of_the_host), alike)


def settings_in(printed: str, of_the_host: Collection[str] = ()) -> dict[str, dict[str, str | None]]:
    """Lines of "kind key=default", or "kind key" where no default is told: kind -> key -> default."""
    found: dict[str, dict[str, str | None]] = {}
    for line in printed.splitlines():
        setting = _LINE.fullmatch(line)
        if setting is None:
            raise ValueError(f"no setting: {line!r}")
        told = setting["told"] and setting["key"] not in of_the_host
        found.setdefault(setting["kind"], {})[setting["key"]] = setting["value"] if told else None
    return found
