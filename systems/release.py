"""One pinned version of a system: its software, and as data what it can't do that samebox otherwise takes for granted.

A version has a folder: `systems/<system>/software/<version>/` where samebox pins it, `software/<system>/<version>/` in the checkout
(or in SAMEBOX_HOME) where the user does (`samebox software add SYSTEM VERSION`). Beside what pins the software (`systems/software/`)
lie a `release.toml` (`Facts`; none = nothing differs) and a `defaults.json` (`systems.known`; none = its settings aren't recorded).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from provisioning.document import parse_document
from provisioning.errors import InvalidInput
from provisioning.hosts.requirement import Requirement
from provisioning.software.software import Software
from systems.known import ChangedDefault, Known, changed
from systems.own_values import kind_of
from systems.settings import LAYOUT, Settings
from systems.software.pinning import Pinning, order

FACTS_SCHEMA = 1
FACTS_FILE = "release.toml"
_SYSTEMS = Path(__file__).parent


@dataclass(frozen=True)
class Facts:
    """What a version can't do, or does otherwise. Everything is a reason, in words for the report and for errors.

    `cannot`: durability -> why it can't be given. `without`: kind of component -> a key of samebox's own files that is left out of
    them -> why. `unknown`: the same for keys that a campaign may ask for: since when it isn't known, or why. `load_tool`: why the
    system's own load tool can't be run with it. `requires`: what its hosts need in place of what the system's do, by the requirement's
    name. `taken_from`: the version from which the rest was taken over.
    """

    schema: int
    cannot: Mapping[str, str] = field(default_factory=dict)
    without: Settings = field(default_factory=dict)
    unknown: Settings = field(default_factory=dict)
    load_tool: str = ""
    requires: tuple[str, ...] | None = None
    taken_from: str = ""


NO_FACTS = Facts(FACTS_SCHEMA)


@dataclass(frozen=True)
class Releases:
    """How a system's versions are pinned in folders.

    `list_settings`: asks the software in a folder of the cache which settings it knows; None = it can't be asked without running.
    `requirements`: what a version's `requires` may name, beside what the system requires.
    """

    pinning: Pinning
    list_settings: Callable[[Software, Path], Known] | None = None
    requirements: tuple[Requirement, ...] = ()


@dataclass(frozen=True)
class Release:
    """One pinned version of a system.

    `software`: the system itself, then what belongs to it; empty = the operator gives its archive. `requirements`: what its hosts need.
    `known`: which settings it knows; None = they aren't recorded. `known_to`: the same of the system's other versions. `by_project`:
    pinned by the user, in `folder`. `is_default`: the one that is meant where no version is named.
    """

    system: str
    software: tuple[Software, ...]
    requirements: tuple[Requirement, ...] = ()
    facts: Facts = NO_FACTS
    known: Known | None = None
    known_to: Mapping[str, Known] = field(default_factory=dict)
    folder: Path | None = None
    by_project: bool = False
    is_default: bool = False

    @property
    def version(self) -> str:
        """The version of the system; empty where the operator gives its archive."""
        return self.software[0].version if self.software else ""

    @property
    def title(self) -> str:
        """What people call it."""
        return f"{self.system} {self.version}".rstrip()

    def why_not(self, durability_name: str) -> str | None:
        """Why this version can't give a durability; None = it can, as far as its system can."""
        return self.facts.cannot.get(durability_name)

    @property
    def why_no_load_tool(self) -> str | None:
        """Why the system's own load tool can't be run with this version; None = it can, as far as there is one."""
        return self.facts.load_tool or None

    def unknown(self, settings: Settings) -> list[str]:
        """A sentence for each setting that this version doesn't know. Kinds of components that aren't recorded aren't judged."""
        return [
            self._unknown(component, key)
            for component, keys in settings.items()
            if component != LAYOUT
            for key in keys
            if key in self.facts.unknown.get(kind_of(component), {})
            or (self.known is not None and not self.known.knows(kind_of(component), key))
        ]

    def _unknown(self, component: str, key: str) -> str:
        kind = kind_of(component)
        said = f"setting {key!r} of component {component!r} isn't known to {self.title}"
        if reason := self.facts.unknown.get(kind, {}).get(key):
            return f"{said}: {reason}."
        having = [
            version for version, known in self.known_to.items() if known.of(kind) is not None and known.knows(kind, key)
        ]
        if having:
            return f"{said}; of the pinned versions {', '.join(having)} {'know' if len(having) > 1 else 'knows'} it."
        close = self.known.close_to(kind, key) if self.known is not None else None
        if close:
            return f"{said}. Did you mean {close!r}?"
        return f"{said}, nor to any other pinned version." if self.known_to else f"{said}."


def changed_defaults(a: Release, b: Release) -> list[ChangedDefault]:
    """Settings whose defaults differ from `a` to `b`, or that only one of them knows; empty where either isn't recorded."""
    return changed(a.known, b.known) if a.known is not None and b.known is not None else []


def project_folder() -> Path:
    """Where the user's own pinned versions are, to be committed with the user's campaigns."""
    return Path(os.environ.get("SAMEBOX_HOME") or _SYSTEMS.parent).resolve() / "software"


def project_files() -> list[tuple[str, Path]]:
    """Everything that pins the user's own versions, and nothing of one that is just being pinned: each file by its name relative to
    where `software/` lies. A machine that has them there knows the same versions.
    """
    base = project_folder()
    files = sorted(path for path in base.rglob("*") if path.is_file())
    return [
        (str(path.relative_to(base.parent)), path)
        for path in files
        if not any(part.startswith(".") for part in path.relative_to(base).parts)
    ]


def folders_of(system: str) -> dict[str, Path]:
    """Version -> its folder, the oldest first; where both pin a version, samebox's own counts."""
    found = {
        folder.name: folder
        for base in (project_folder() / system, _SYSTEMS / system / "software")
        if base.is_dir()
        for folder in base.iterdir()
        if folder.is_dir() and not folder.name.startswith(".")
    }
    return dict(sorted(found.items(), key=lambda item: order(item[0])))


def like(folders: Mapping[str, Path], version: str) -> Path | None:
    """The folder of the newest version that isn't newer than this one, or else of the oldest; None = there is none."""
    older = [folder for each, folder in folders.items() if order(each) <= order(version)]
    found = older[-1:] or list(folders.values())[:1]
    return found[0] if found else None


def read_facts(folder: Path | None) -> Facts:
    """Raises InvalidInput."""
    file = folder / FACTS_FILE if folder is not None else None
    return parse_document(Facts, file, schema=FACTS_SCHEMA) if file is not None and file.is_file() else NO_FACTS


def facts_of(system: str, version: str) -> Facts:
    """The facts of a version, or if it isn't pinned (the operator gave its archive), of the pinned one that it is most like."""
    return read_facts(like(folders_of(system), version))


def required(
    facts: Facts, own: Sequence[Requirement], others: Sequence[Requirement], where: str
) -> tuple[Requirement, ...]:
    """What the hosts of a version need. Raises InvalidInput for a name that no requirement has."""
    if facts.requires is None:
        return tuple(own)
    by_name = {each.name: each for each in (*own, *others)}
    if lacking := [name for name in facts.requires if name not in by_name]:
        raise InvalidInput(
            f"{where}: requires names {', '.join(map(repr, lacking))}. Valid names: {', '.join(by_name) or 'none'}."
        )
    return tuple(by_name[name] for name in facts.requires)
