"""Who is compared in a campaign: a system as it is, or several versions, settings or clients of it under names of their own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from pydantic import StringConstraints

from contract.workload import Workload
from systems.deployment import CLIENT
from systems.registry import release_of
from systems.settings import Settings, merged

ContestantName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9.-]*$", max_length=64)]
_LONGEST_MADE_UP = 40  # so that names of trials stay readable
# keys of a workload that say nothing of the load, only how a client sends it: two contestants may differ in them
CLIENT_KEYS = ("batching", "batch_delay_ms", "batch_bytes", "compression", "in_flight")


@dataclass(frozen=True)
class Contestant:
    """What is compared with others in blocks. What isn't given is as the campaign has it.

    `version`: one of the pinned releases of the system (None = its default). `variant`: of its durability levels. `profile`: whose
    settings it gets, in the place of the campaign's `system_profile`. `settings`: component -> key -> value, over the campaign's own.
    `client`: keys of a workload that are its client's (CLIENT_KEYS), or of the client's own settings. `memory`: daemon -> its sizes.
    `same_as`: another contestant that it is to be identical with, so that equals are compared under two names.
    """

    name: ContestantName
    system: str
    version: str | None = None
    variant: str | None = None
    profile: str | None = None
    settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict, hash=False)
    client: Mapping[str, Any] = field(default_factory=dict, hash=False)
    memory: Mapping[str, Mapping[str, str]] = field(default_factory=dict, hash=False)
    same_as: ContestantName | None = None

    @property
    def is_plain(self) -> bool:
        """Whether it is its system as such, and has its name."""
        return self == plain(self.system)

    @property
    def content(self) -> Contestant:
        """What it is but for its name: equal for two that don't differ. Raises InvalidInput for an unknown version."""
        return replace(self, name="", same_as=None, version=release_of(self.system, self.version).version)

    def durability(self, level: str) -> str:
        """What it runs at one of an experiment's durabilities, by name: a level, in its own variant if it has one."""
        return f"{level}-{self.variant}" if self.variant else level

    def workload(self, workload: Workload) -> Workload:
        """A workload as its client sends it."""
        return replace(workload, **self.client_keys)

    @property
    def own_settings(self) -> Settings:
        """Its settings, those of its client among them: component -> key -> value."""
        return merged(self.settings, {CLIENT: self.client_settings}) if self.client_settings else self.settings

    @property
    def client_settings(self) -> dict[str, str]:
        """Those of its client that aren't a workload's."""
        return {key: _text(value) for key, value in self.client.items() if key not in CLIENT_KEYS}

    @property
    def client_keys(self) -> dict[str, Any]:
        """Keys of a workload that it has its own values of."""
        return {key: value for key, value in self.client.items() if key in CLIENT_KEYS}


def plain(system: str) -> Contestant:
    """A system as it is, named as it is called."""
    return Contestant(system, system)


def contestant_name(*words: str) -> str:
    """Words as a contestant may be called."""
    joined = re.sub(r"[^a-z0-9.]+", "-", "-".join(words).lower()).strip("-.")
    return joined[:_LONGEST_MADE_UP].strip("-.")


def _text(value: Any) -> str:
    """As settings are written: true, 16, lz4."""
    return str(value).lower() if isinstance(value, bool) else str(value)
