"""What must be on a host before anything is run there: looked for as a program, never as a package."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from provisioning.errors import MissingRequirement
from provisioning.hosts.host import Host, on_all

EVERY_ROLE = ("broker", "client", "metadata")


@dataclass(frozen=True)
class Requirement:
    """A program that hosts of `roles` need. `test` exits 0 where it is; `packages`: kind of distribution -> what brings it.

    `shows`: a shell command that prints what is there, for messages and for the record; empty where that tells nothing.
    """

    name: str
    test: str
    packages: Mapping[str, tuple[str, ...]]
    why: str
    roles: tuple[str, ...] = EVERY_ROLE
    shows: str = ""


def distinct(requirements: Iterable[Requirement]) -> tuple[Requirement, ...]:
    """Each once, for the same roles."""
    return tuple({(one.name, one.roles): one for one in requirements}.values())


def missing_on(host: Host, needed: Sequence[Requirement]) -> list[Requirement]:
    """What of it isn't there."""
    if not needed:
        return []
    tests = "; ".join(f"if ( {one.test} ) >/dev/null 2>&1; then echo yes; else echo no; fi" for one in needed)
    answers = host.run(tests).stdout.split()
    return [one for one, answer in zip(needed, answers, strict=True) if answer != "yes"]


def require(hosts: Sequence[Host], needed: Sequence[Requirement]) -> None:
    """Raises MissingRequirement naming every host that lacks something, and what is there instead."""
    found = on_all("looking for what is needed", hosts, lambda host: missing_on(host, needed))
    for one in needed:
        lacking = [host for host in hosts if one in found[host.name]]
        if lacking:
            there = [f"{host.name} has {shown(host, one) or 'none'}" for host in lacking]
            raise MissingRequirement(
                f"{one.name} or newer must be on the PATH of these hosts ({one.why}): {', '.join(there)}.",
                next_step=f"Install it there, e.g. Debian's {' '.join(one.packages['debian'])}.",
            )


def shown(host: Host, requirement: Requirement) -> str:
    """What a host has of a requirement, in its own words; empty where it has nothing or can't tell."""
    return host.run(f"{{ {requirement.shows}; }} 2>/dev/null || true").stdout.strip() if requirement.shows else ""


def versions(hosts: Sequence[Host], requirements: Sequence[Requirement]) -> dict[str, dict[str, str]]:
    """Host -> requirement -> what it has, of those that can tell."""
    telling = [one for one in requirements if one.shows]
    if not telling:
        return {host.name: {} for host in hosts}
    return on_all("reading versions", hosts, lambda host: {one.name: shown(host, one) for one in telling})
