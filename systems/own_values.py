"""Where a system's rendered values aren't its vendor's, and why, for the report.

The vendor's value is that of the files it ships, or where these have none, of its code; for a JVM, of its start script. A test
compares every rendered file with the vendor's, so that none is missing here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from systems.settings import Settings


@dataclass(frozen=True)
class OwnValue:
    """The vendor's value, in words where it is a rule, and why ours differs."""

    vendor: str
    why: str


OwnValues = Mapping[str, Mapping[str, OwnValue]]  # kind of component ("bookie", "jvm/bookie") -> key -> value


@dataclass(frozen=True)
class Departure:
    """One value that a campaign runs with and the vendor doesn't. `value` None = not set here; `vendor` None = not recorded."""

    component: str
    key: str
    value: str | None
    vendor: str | None
    why: str


def departures(own: OwnValues, intended: Settings) -> list[Departure]:
    """Where the settings of a plan depart from the vendor's; a profile or a campaign may have set some back to the vendor's value.

    Components of a kind are alike: only the first is compared. Kinds that the plan doesn't have are skipped.
    """
    first: dict[str, Mapping[str, str]] = {}
    for component, settings in intended.items():
        first.setdefault(kind_of(component), settings)
    return [
        Departure(kind, key, value, each.vendor, each.why)
        for kind, values in own.items()
        if kind in first
        for key, each in values.items()
        if (value := first[kind].get(key)) != each.vendor
    ]


def kind_of(component: str) -> str:
    """A component without its host: "jvm/bookie/broker-1" -> "jvm/bookie"."""
    return component.rpartition("/")[0] or component
