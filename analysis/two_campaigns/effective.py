"""What the running processes of a campaign said their settings were, without what only says which hosts they ran on."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from contract import results_folder as layout

UNKNOWN = "not recorded"
CLIENT = "client"

# system.level.workload -> component.key -> value
Effective = Mapping[str, Mapping[str, str]]


def effective_settings(folder: Path, manifest: Mapping[str, Any], trials: Iterable[Mapping[str, Any]]) -> Effective:
    """Of the sound ones of report.json's `trials`, as their trial.json has them; of a client, what it was given.

    What several hosts or trials say is one value if it is the same, else all of them. Addresses and folders are the hosts' names.
    """
    places = _places(manifest)
    found: dict[str, dict[str, set[str]]] = {}
    for trial in trials:
        if trial["validity"] in ("invalid", "unknown"):
            continue
        cell = f"{trial['system']}.{trial['durability']['name']}.{trial['workload']['name']}"
        values = found.setdefault(cell, defaultdict(set))
        for component, key, value in _read(folder / layout.trial_folder(str(trial["trial"])) / layout.TRIAL):
            for place, name in places:
                value = value.replace(place, name)
            values[f"{component}.{key}"].add(value)
    return {cell: {key: " | ".join(sorted(seen)) for key, seen in values.items()} for cell, values in found.items()}


def _read(file: Path) -> Iterable[tuple[str, str, str]]:
    """Component without its host, key, value."""
    try:
        settings = json.loads(file.read_text(encoding="utf-8"))["settings"]
        components = {**settings["effective"], CLIENT: settings.get("client") or {}}
    except (OSError, ValueError, KeyError):
        yield "settings", "effective", UNKNOWN
        return
    for component, own in components.items():
        kind = "/".join(part for part in component.split("/") if not part.rpartition("-")[2].isdigit())
        for key, value in own.items():
            yield kind, key, str(value)


def _places(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What stands in settings for a host, and its role instead; the longest first."""
    found = {}
    for host in manifest["testbed"]["hosts"]:
        for key in ("address", "root"):
            if host.get(key):
                found[str(host[key])] = f"<{key} of a {host['role']}>"
        for number, each in enumerate(host.get("data_dirs") or [], start=1):
            found[str(each["path"])] = f"<data {number} of a {host['role']}>"
    return sorted(found.items(), key=lambda each: -len(each[0]))
