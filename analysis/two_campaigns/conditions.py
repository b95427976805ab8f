"""What must be alike for two campaigns' figures to be put side by side, and what differs. It looks at no figure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

GROUPS = ("testbed", "machines", "scale", "workloads", "durability", "settings", "checks", "software", "samebox")
Conditions = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Difference:
    """One condition that isn't the same. None: the campaign doesn't have it."""

    group: str
    condition: str
    first: str | None
    second: str | None


def conditions(manifest: Mapping[str, Any], report: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Group -> condition -> value, of a campaign's manifest.json and report.json."""
    hosts = manifest["testbed"]["hosts"]
    roles = Counter(host["role"] for host in hosts)
    types = {role: sorted({host["instance_type"] for host in hosts if host["role"] == role}) for role in roles}
    workloads = {trial["workload"]["name"]: trial["workload"] for trial in report["trials"]}
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
        "checks": _flat({check["check"]: check.get("bounds") or {} for check in manifest["checks"]}),
        "software": _flat(manifest["software"]),
        "samebox": {"version": str(manifest["samebox_version"])},
    }


def differences(first: Conditions, second: Conditions) -> list[Difference]:
    """Every condition that isn't the same, group by group. Of workloads only those that both have are looked at."""
    found = []
    common = _workloads(first) & _workloads(second)
    for group in GROUPS:
        one, other = first[group], second[group]
        for key in dict.fromkeys([*one, *other]):
            if group == "workloads" and key.split(".")[0] not in common:
                continue
            if one.get(key) != other.get(key):
                found.append(Difference(group, key, one.get(key), other.get(key)))
    return found


def _workloads(of: Conditions) -> set[str]:
    return {key.split(".")[0] for key in of["workloads"]}


def _machines(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Per role, what its hosts are; hosts that are alike are named once."""
    roles = {host["name"]: host["role"] for host in manifest["testbed"]["hosts"]}
    for key in ("cpu_model", "cpus", "memory_bytes", "kernel", "java"):
        for role in dict.fromkeys(roles.values()):
            seen = {str(facts.get(key)) for name, facts in manifest["facts"].items() if roles.get(name) == role}
            yield f"{role}.{key}", ", ".join(sorted(seen))


def _flat(value: Any, prefix: str = "") -> dict[str, str]:
    """Nested objects as dotted keys; everything else as its JSON."""
    if not isinstance(value, Mapping):
        return {prefix: value if isinstance(value, str) else json.dumps(value, sort_keys=True)}
    found: dict[str, str] = {}
    for key, inner in value.items():
        found |= _flat(inner, f"{prefix}.{key}" if prefix else str(key))
    return found
