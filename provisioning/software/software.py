"""A piece of software as hosts are to have it: pinned, verified, the same everywhere. How it is obtained depends on its kind."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from provisioning.cache import Notice


class Software(Protocol):
    """One version of something. `digest`: SHA-256 that tells its whole content, known before any of it is fetched."""

    @property
    def name(self) -> str:
        """What deployments call it."""

    @property
    def version(self) -> str:
        """Its makers' version."""

    @property
    def digest(self) -> str:
        """What is to come, in hex."""

    def fetch(self, cache_dir: Path, *, notice: Notice) -> Path:
        """The verified folder on this machine that hosts get as it is, fetched first if need be.

        Raises MissingRequirement where a tool or a registry is out of reach, SameboxError where what came isn't what was pinned.
        """


def key_of(software: Software) -> str:
    """The content address, e.g. name-1.2.3-0123456789abcdef: versions and builds lie side by side."""
    return f"{software.name}-{software.version}-{software.digest[:16]}"


def entry_of(software: Software, cache_dir: Path) -> Path:
    """Where its folder is in the user's cache."""
    return cache_dir / "software" / key_of(software)
