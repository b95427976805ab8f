"""What a detached campaign is told to do, as a file beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bench.campaign.choice import Choice
from bench.run.manifest import Origin

TASK_SCHEMA = 1


@dataclass(frozen=True)
class Task:
    """Paths are of the orchestrator's host. `tarballs`: system -> official tarball that is used instead of pinned artifacts."""

    schema: int
    campaign_file: str
    tarballs: Mapping[str, str]
    repeat: tuple[str, ...]
    origin: Origin
    choice: Choice
