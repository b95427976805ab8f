"""What must be alike for two campaigns' figures to be put side by side, and what differs."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.words import EXCLUDED
from contract import results_folder as layout
from contract.settings import places_of, values_of

UNKNOWN = "not recorded"

GROUPS = (
    "testbed",
    "machines",
    "scale",
    "workloads",
    "durability",
    "settings",
    "effective",
    "checks",
    "software",
    "samebox",
)
Conditions = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Difference:
    """One condition that isn't the same. None: the campaign doesn't have it."""

    group: str
    condition: str
    first: str | None
    second: str | None


def conditions(folder: Path, manifest: Mapping[str, Any], report: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Group -> condition -> value, of a campaign's manifest.json and report.json, and of what was read back in its trials."""
    effective = _effective(folder, manifest, report["trials"])
    hosts = manifest["testbed"]["hosts"]
    roles = Counter(host["role"] for host in hosts)
    types = {role: sorted({host["instance_type"] for host in hosts if host["role"] == role}) for role in roles}
    workloads = {trial["workload"]["name"]: _given(trial["workload"]) for trial in report["trials"]}
    caches = sorted({str(trial["reset"]["method"]) for trial in report["trials"] if trial.get("reset")})
    return {
        "testbed": {
            "kind": manifest["testbed"]["testbed"]["kind"],
            **_flat({"hosts": dict(roles), "types": types, "caches": caches}),
        },
        "machines": dict(_machines(manifest)),
        "scale": _flat({"scale": manifest.get("scale") or "none"}),
        "workloads": _flat(workloads),
        "durability": _flat(manifest["durability_table"]),
        "settings": _flat(
            {"profile": manifest["system_profile"]["name"], "campaign": manifest["definition"].get("settings") or {}}
        ),
        "effective": {f"{cell}:{key}": value for cell, own in effective.items() for key, value in own.items()},
        "checks": _flat({check["check"]: check.get("bounds") or {} for check in manifest["checks"]}),
        "software": _flat(manifest["software"]),
        "samebox": {"version": str(manifest["samebox_version"]), **_code(manifest["git"])},
    }


def differences(first: Conditions, second: Conditions) -> list[Difference]:
    """Every condition that differs, group by group; what wasn't recorded is the same as nothing.

    Of workloads, and of settings read back under them, only those that both have are looked at; a setting that differs in the
    same way under several is named once.
    """
    found: dict[tuple[str, str, str | None, str | None], Difference] = {}
    for group in GROUPS:
        separator = _PARTS.get(group)
        one, other = first[group], second[group]
        common = {_part(key, separator) for key in one} & {_part(key, separator) for key in other}
        for key in dict.fromkeys([*one, *other]):
            if separator and _part(key, separator) not in common:
                continue
            values = one.get(key), other.get(key)
            if values[0] != values[1] or UNKNOWN in values:
                named = key.partition(":")[2] or key
                found.setdefault((group, named, *values), Difference(group, key, *values))
    return list(found.values())


# groups of which only the parts that both campaigns have are compared, and what ends a part's name
_PARTS = {"workloads": ".", "effective": ":"}


def _part(key: str, separator: str | None) -> str:
    return key.split(separator)[0] if separator else ""


def _given(workload: Mapping[str, Any]) -> dict[str, Any]:
    """A workload without what it hasn't: versions that don't know a key wrote none."""
    return {key: value for key, value in workload.items() if value not in (None, [])}


def _code(git: Mapping[str, Any]) -> dict[str, str]:
    """The commit, and what was changed in its code: not of two changed checkouts it can be said that they are the same."""
    changes = "none" if git.get("dirty") is False else git.get("changes_sha256", UNKNOWN) or "none"
    return {"commit": str(git.get("commit") or UNKNOWN), "changes to it": str(changes)}


def _machines(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Per role, what its hosts are; hosts that are alike are named once."""
    roles = {host["name"]: host["role"] for host in manifest["testbed"]["hosts"]}
    hosts = {name: {**facts, **facts.get("programs", {})} for name, facts in manifest["facts"].items()}
    programs = dict.fromkeys(key for facts in manifest["facts"].values() for key in facts.get("programs", {}))
    for key in ("cpu_model", "cpus", "memory_bytes", "kernel", *programs):
        for role in dict.fromkeys(roles.values()):
            seen = {str(facts.get(key)) for name, facts in hosts.items() if roles.get(name) == role}
            yield f"{role}.{key}", ", ".join(sorted(seen))


def _flat(value: Any, prefix: str = "") -> dict[str, str]:
    """Nested objects as dotted keys; everything else as its JSON."""
    if not isinstance(value, Mapping):
        return {prefix: value if isinstance(value, str) else json.dumps(value, sort_keys=True)}
    found: dict[str, str] = {}
    for key, inner in value.items():
        found |= _flat(inner, f"{prefix}.{key}" if prefix else str(key))
    return found


def _effective(
    folder: Path, manifest: Mapping[str, Any], trials: Iterable[Mapping[str, Any]]
) -> Mapping[str, Mapping[str, str]]:
    """What the running processes of the sound trials said their settings were, and of a client, what it was given:
    system.level.workload -> component.key -> value.

    What several hosts or trials say is one value if it is the same, else all of them. Addresses and folders of hosts are replaced by
    their roles.
    """
    places = places_of(manifest["testbed"]["hosts"])
    found: dict[str, dict[str, set[str]]] = {}
    for trial in trials:
        if trial["validity"] in EXCLUDED:
            continue
        cell = f"{called_in(trial)}.{trial['durability']['name']}.{trial['workload']['name']}"
        values = found.setdefault(cell, defaultdict(set))
        recorded = _read(folder / layout.trial_folder(str(trial["trial"])) / layout.TRIAL)
        for component, key, value in values_of(recorded, places):
            values[f"{component}.{key}"].add(value)
    return {cell: {key: " | ".join(sorted(seen)) for key, seen in values.items()} for cell, values in found.items()}


def called_in(trial: Mapping[str, Any]) -> str:
    """The contestant of one of a report's trials. Reports of earlier versions have only its system."""
    return str(trial.get("contestant") or trial["system"])


def _read(file: Path) -> Mapping[str, Mapping[str, Any]]:
    """A trial.json's settings as they were read back, and what its client was given."""
    try:
        settings = json.loads(file.read_text(encoding="utf-8"))["settings"]
        return {**settings["effective"], "client": settings.get("client") or {}}
    except (OSError, ValueError, KeyError):
        return {"settings": {"effective": UNKNOWN}}
