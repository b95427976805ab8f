"""Settings as intended and as read back from running processes, and what differs between them.

A component is one process or resource ("broker/broker-1", "jvm/broker/broker-1", "topic", "namespace"): component -> key -> value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

Settings = Mapping[str, Mapping[str, str]]
NOTHING: Settings = {}
LAYOUT = "topic/layout"  # the component of how many partitions and copies there are: not settings of anything


@dataclass(frozen=True)
class Drift:
    """One intended setting that the running process doesn't have. `effective` None = the process knows no such key."""

    component: str
    key: str
    intended: str
    effective: str | None


def merged(*layers: Settings) -> dict[str, dict[str, str]]:
    """Settings laid over each other, later ones over earlier ones, key by key."""
    found: dict[str, dict[str, str]] = {}
    for layer in layers:
        for component, settings in layer.items():
            found[component] = {**found.get(component, {}), **settings}
    return found


def joined(alike: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """The settings of things that should be alike; where values differ, all are listed, and that drifts from any intended one."""
    values: dict[str, set[str]] = {}
    things = list(alike)
    for settings in things:
        for key, value in settings.items():
            values.setdefault(key, set()).add(value)
    return {key: ",".join(sorted(found)) for key, found in values.items() if all(key in each for each in things)}


def drift(intended: Settings, effective: Settings) -> tuple[Drift, ...]:
    """Every intended key whose effective value differs or is absent, in the order intended.

    Values are compared as the processes print them, but for case of booleans and surrounding blanks.
    """
    found = []
    for component, wanted in intended.items():
        running = effective.get(component, {})
        for key, value in wanted.items():
            if key not in running or not _same(value, running[key]):
                found.append(Drift(component, key, value, running.get(key)))
    return tuple(found)


def _same(intended: str, effective: str) -> bool:
    left, right = intended.strip(), effective.strip()
    if left.lower() in ("true", "false"):
        return left.lower() == right.lower()
    return left == right
