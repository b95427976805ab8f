"""Which settings a release knows, each with its default, as its own code tells them.

They are recorded in the release's folder, so that a setting is judged, and two releases are compared, before anything is started:

    python -m systems.recording SYSTEM [VERSION ...]
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from provisioning.document import parse_document

KNOWN_SCHEMA = 1
FILE = "defaults.json"
ANY = "*"


@dataclass(frozen=True)
class Known:
    """Kind of component ("broker") -> key -> its default; None = the code has none, doesn't tell it, or takes it from the host.

    A key that ends in `*` stands for all that begin as it does. `alike`: a kind that has another's settings -> that kind.
    """

    schema: int
    settings: Mapping[str, Mapping[str, str | None]]
    alike: Mapping[str, str] = field(default_factory=dict)

    def of(self, kind: str) -> Mapping[str, str | None] | None:
        """The settings of a kind of component; None = they aren't recorded, so that none can be called unknown."""
        return self.settings.get(self.alike.get(kind, kind))

    def knows(self, kind: str, key: str) -> bool:
        """Whether a process of this kind has such a setting; True where nothing is recorded of the kind."""
        keys = self.of(kind)
        if keys is None or key in keys:
            return True
        return any(each.endswith(ANY) and key.startswith(each.removesuffix(ANY)) for each in keys)

    def close_to(self, kind: str, key: str) -> str | None:
        """The known key that this one may be meant to be."""
        [*found] = difflib.get_close_matches(key, self.of(kind) or (), n=1, cutoff=0.8)
        return found[0] if found else None


@dataclass(frozen=True)
class ChangedDefault:
    """A setting whose default isn't the same in two releases. None = that release doesn't know the setting."""

    component: str
    key: str
    before: str | None
    after: str | None


def read_known(folder: Path) -> Known | None:
    """What is recorded in a release's folder; None = nothing. Raises InvalidInput."""
    file = folder / FILE
    return parse_document(Known, file, schema=KNOWN_SCHEMA) if file.is_file() else None


def write_known(known: Known, folder: Path) -> None:
    """Records it: a line a key, in the keys' order."""
    (folder / FILE).write_text(json.dumps(asdict(known), indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def changed(before: Known, after: Known) -> list[ChangedDefault]:
    """Settings that only one of two releases knows, and those whose defaults differ, by component and key.

    A default that one of them doesn't tell can't be compared. Kinds that aren't recorded of both are left out.
    """
    found = []
    for kind in sorted(before.settings.keys() & after.settings.keys()):
        old, new = before.settings[kind], after.settings[kind]
        for key in sorted(old.keys() | new.keys()):
            if key in old and key in new and (old[key] is None or new[key] is None or old[key] == new[key]):
                continue
            found.append(ChangedDefault(kind, key, _told(old, key), _told(new, key)))
    return found


def _told(settings: Mapping[str, str | None], key: str) -> str | None:
    """A default in words; None is left for a key that isn't there."""
    return (settings[key] or "") if key in settings else None
