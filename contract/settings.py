"""Settings as trials record them (component -> key -> value), by kind of component, and where two sets of them differ."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

# the folder of a version on a host, with the digest of its content
_SOFTWARE = re.compile(r"software/[^/\s:]+-[0-9a-f]{16}")
_DIGEST = "digest"  # of a whole configuration file
# where callbacks lie in the memory of each process: results of samebox 0.1 have them among the settings of clients
_POINTERS = re.compile(r"0x[0-9a-f]{6,}(,0x[0-9a-f]{6,})*")
Places = Iterable[tuple[str, str]]  # what stands in values for a host, and its role instead
Key = tuple[str, str]  # kind of component, key


@dataclass(frozen=True)
class Differing:
    """One key that isn't the same in two sets of settings. None: the one doesn't have it."""

    component: str
    key: str
    first: str | None
    second: str | None

    @property
    def values(self) -> str:
        """Both, as a sentence has them."""
        return f"({', '.join('not set' if each is None else each for each in (self.first, self.second))})"


def by_kind(settings: Mapping[str, Mapping[str, Any]], places: Places = ()) -> dict[Key, str]:
    """Kind of component ("broker" for "broker/broker-1") and key -> its value; all of them where components of a kind differ."""
    found: dict[Key, set[str]] = {}
    for kind, key, value in values_of(settings, places):
        found.setdefault((kind, key), set()).add(value)
    return {each: " | ".join(sorted(values)) for each, values in found.items()}


def values_of(settings: Mapping[str, Mapping[str, Any]], places: Places = ()) -> Iterator[tuple[str, str, str]]:
    """Kind of component, key and value, with roles in the place of addresses and folders of hosts. Pointers aren't settings."""
    for component, own in settings.items():
        kind = "/".join(part for part in component.split("/") if not part.rpartition("-")[2].isdigit())
        for key, value in own.items():
            text = str(value)
            if _POINTERS.fullmatch(text):
                continue
            for place, name in places:
                text = text.replace(place, name)
            yield kind, key, _SOFTWARE.sub("<software>", text)


def places_of(hosts: Iterable[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """What stands in settings for one of an inventory's hosts, and its role instead; the longest first."""
    found = {}
    for host in hosts:
        for key in ("address", "root"):
            if host.get(key):
                found[str(host[key])] = f"<{key} of a {host['role']}>"
        for number, each in enumerate(host.get("data_dirs") or [], start=1):
            found[str(each["path"])] = f"<data {number} of a {host['role']}>"
    return sorted(found.items(), key=lambda each: -len(each[0]))


def differing(first: Mapping[Key, str], second: Mapping[Key, str]) -> tuple[Differing, ...]:
    """Every key whose value isn't the same, in the order of the first; but for digests, which differ wherever anything does."""
    return tuple(
        Differing(*key, first.get(key), second.get(key))
        for key in dict.fromkeys([*first, *second])
        if first.get(key) != second.get(key) and not key[1].endswith(_DIGEST)
    )
