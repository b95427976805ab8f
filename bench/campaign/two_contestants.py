"""The campaign that compares two versions, settings or clients of one system, from what `samebox ab` is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.campaign.campaign import slug_of
from bench.campaign.campaign_file import CAMPAIGN_SCHEMA
from bench.campaign.contestant import contestant_name
from contract.workload import Workload, table_of
from provisioning.errors import InvalidInput

# what one machine can do many times over in a quarter of an hour, and every system at every level can sustain
STEADY = Workload(
    name="steady",
    rate_per_s=1_000,
    message_bytes=1_024,
    partitions=6,
    producers=2,
    consumers=2,
    warmup_s=8,
    measure_s=10,
)


@dataclass(frozen=True)
class Asked:
    """What is compared: `versions` (none, one for both, or two), and what the second contestant has of its own.

    `settings` and `memory`: component (daemon) -> key -> value; `client`: as a contestant's.
    """

    system: str
    versions: tuple[str, ...] = ()
    settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    client: Mapping[str, Any] = field(default_factory=dict)
    memory: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    profile: str | None = None

    @property
    def own(self) -> dict[str, Any]:
        """What the second contestant has and the first hasn't, but for its version."""
        given = {"profile": self.profile, "settings": self.settings, "client": self.client, "memory": self.memory}
        return {key: value for key, value in given.items() if value}


def contestants(asked: Asked) -> tuple[dict[str, Any], dict[str, Any]]:
    """The one that is asked about, then the one that it is compared with.

    Raises InvalidInput where they wouldn't differ, or in two ways at once.
    """
    own, versions = asked.own, asked.versions
    if len(versions) > 2:
        raise InvalidInput(
            f"two versions can be compared, not {len(versions)}: {', '.join(versions)}.",
            next_step="More than two contestants go into a campaign file (docs/campaigns.md).",
        )
    if len(versions) == 2 and own:
        raise InvalidInput(
            "two versions, and settings of one of them: which of both made a difference couldn't be told.",
            next_step="Leave one out; or write a campaign with all the contestants (docs/campaigns.md).",
        )
    if len(set(versions)) < 2 and not own:
        what = f"{asked.system} {versions[0]} with itself" if versions else f"{asked.system} with itself"
        raise InvalidInput(
            f"that would compare {what}.",
            next_step=f"Name two versions (samebox software list), or what differs: samebox ab {asked.system} "
            "--set COMPONENT.KEY=VALUE, --client KEY=VALUE, --memory DAEMON.SIZE=VALUE or --profile NAME",
        )
    base: dict[str, Any] = {"name": contestant_name(asked.system, *versions[:1]), "system": asked.system}
    other: dict[str, Any] = {"name": contestant_name(asked.system, *versions[1:], *_words(own)), "system": asked.system}
    if versions:
        base["version"], other["version"] = versions[0], versions[-1]
    return {**other, **own}, base


def campaign_of(
    asked: Asked, workload: Workload, *, durability: str, blocks: int, aa_blocks: int, seed: int
) -> dict[str, Any]:
    """The document of its campaign file. Raises InvalidInput."""
    one, other = contestants(asked)
    return {
        "schema": CAMPAIGN_SCHEMA,
        "name": slug_of(f"ab-{one['name']}-or-{other['name']}"),
        "question": f"{one['name']} or {other['name']}?",
        "seed": seed,
        "durability": [durability],
        "blocks": blocks,
        "aa_blocks": aa_blocks,
        "contestants": [one, other],
        "workloads": [table_of(workload)],
    }


def _words(own: Mapping[str, Any]) -> Sequence[str]:
    """What to call a contestant that has this of its own: by the one thing, if it is one."""
    single = [f"{key}-{value}" for table in ("client",) for key, value in own.get(table, {}).items()]
    single += [
        f"{key}-{value}"
        for table in ("settings", "memory")
        for keys in own.get(table, {}).values()
        for key, value in keys.items()
    ]
    single += [own["profile"]] if "profile" in own else []
    return single if len(single) == 1 else ("changed",) if single else ()
