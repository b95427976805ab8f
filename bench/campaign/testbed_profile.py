"""What holds on a kind of testbed: what a system's processes may take, the checks with their bounds, caveats.

Data: checks.toml declares every check, testbeds/KIND.toml what is peculiar to a kind, and in `without` the checks that it hasn't.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from provisioning.document import build, read_document, require_schema
from provisioning.errors import InvalidInput
from provisioning.hosts.inventory import HostRecord
from provisioning.testbeds.aws.instance_limits import Limits, load_limits

PROFILE_SCHEMA = 1
PROFILES = Path(__file__).with_name("testbeds")
CHECKS = Path(__file__).with_name("checks.toml")


@dataclass(frozen=True)
class HostRule:
    """How a check treats one host, and why, as part of a sentence. `judged`: false = the check leaves the host out."""

    judged: bool
    why: str


@dataclass(frozen=True)
class Check:
    """A rule declared before the run; analysis evaluates it. `bounds` are named after their units.

    `why_warn`: a sentence, where a failure could be taken for invalid and only warns. `hosts`: what is peculiar to single ones, once
    they are known (`checks_on`); never in a file.
    """

    check: str
    axis: Literal["validity", "outcome"]
    on_failure: Literal["invalid", "warn", "not met"]
    bounds: Mapping[str, float] = field(default_factory=dict)
    why_warn: str = ""
    hosts: Mapping[str, HostRule] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As the manifest lists it: without reasons and hosts where there are none."""
        document = dataclasses.asdict(self)
        return {key: value for key, value in document.items() if value or key not in ("why_warn", "hosts")}


@dataclass(frozen=True)
class Profile:
    """`full_disk_bytes`: a disk with less than so much left is full.

    `system_memory_bytes`: what each broker host has for its system's processes; None = all that the smallest of them has.
    `daemon_niceness` (0 to 19): how far a system's processes give way to the load generator where they share cores.
    `broker_memory_bytes`: of the smallest broker host, once `for_hosts` knows the hosts; never in a file.
    `time_server`: the one that all hosts' clocks follow; None = each host's own time service is left as it is.
    """

    schema: int
    checks: tuple[Check, ...]
    full_disk_bytes: int
    system_memory_bytes: int | None = None
    caveats: tuple[str, ...] = ()
    daemon_niceness: int = 0
    time_server: str | None = None
    broker_memory_bytes: int | None = None

    def for_hosts(self, broker_memory_bytes: int | None) -> Profile:
        """The profile of a testbed whose smallest broker host has so much memory; None = unknown."""
        return dataclasses.replace(self, broker_memory_bytes=broker_memory_bytes)


def testbed_kinds() -> tuple[str, ...]:
    """Every kind of testbed that has a profile."""
    return tuple(sorted(file.stem for file in PROFILES.glob("*.toml")))


def load_profile(testbed_kind: str) -> Profile:
    """The profile of a kind of testbed. Raises InvalidInput if there is none."""
    path = PROFILES / f"{testbed_kind}.toml"
    if not path.is_file():
        kinds = ", ".join(testbed_kinds())
        raise InvalidInput(f"no profile for testbeds of kind {testbed_kind!r}. Valid kinds: {kinds}.")
    declared, own = read_document(CHECKS), read_document(path)
    require_schema(own, path, PROFILE_SCHEMA)
    without, peculiar = own.pop("without", []), own.pop("checks", {})
    if unknown := ", ".join(sorted({*without, *peculiar} - declared.keys())):
        raise InvalidInput(f"{path}: unknown checks: {unknown}. Valid choices: {', '.join(declared)}.")
    checks = [
        {"check": name, **declaration, **peculiar.get(name, {})}
        for name, declaration in declared.items()
        if name not in without
    ]
    return build(Profile, {**own, "checks": checks}, where=str(path), strict=True)


def checks_for(profile: Profile, overrides: Mapping[str, Mapping[str, float]], *, where: str) -> tuple[Check, ...]:
    """The profile's checks with a campaign's bounds. Raises InvalidInput naming an unknown check or bound."""
    known = {check.check: check for check in profile.checks}
    for name, bounds in overrides.items():
        if name not in known:
            raise _unknown(name, known, where=where)
        for bound in bounds:
            if bound not in known[name].bounds:
                valid = ", ".join(sorted(known[name].bounds)) or "none, this check has no bound"
                raise InvalidInput(f"{where}: key 'checks.{name}.{bound}': unknown bound. Valid choices: {valid}.")
    return tuple(
        dataclasses.replace(check, bounds={**check.bounds, **overrides.get(check.check, {})})
        for check in profile.checks
    )


def _unknown(name: str, known: Iterable[str], *, where: str) -> InvalidInput:
    """The error for a check that this kind of testbed doesn't have; another kind may have it."""
    kinds = [kind for kind in testbed_kinds() if any(check.check == name for check in load_profile(kind).checks)]
    if not kinds:
        return InvalidInput(f"{where}: key 'checks.{name}': unknown check. Valid choices: {', '.join(sorted(known))}.")
    return InvalidInput(
        f"{where}: key 'checks.{name}': only testbeds of kind {' and '.join(kinds)} have this check.",
        next_step="Name such a testbed (--stack NAME is one of kind aws), or remove the key.",
    )


def checks_on(checks: Sequence[Check], hosts: Sequence[HostRecord]) -> tuple[Check, ...]:
    """The checks with what is peculiar to these hosts; nothing is for an instance type without known limits."""
    limits = load_limits()
    known = [(host, limits[host.instance_type]) for host in hosts if host.instance_type in limits]
    return tuple(
        dataclasses.replace(check, hosts={host.name: found for host, its in known if (found := rule(host, its))})
        if (rule := HOST_RULES.get(check.check))
        else check
        for check in checks
    )


def _steal(host: HostRecord, limits: Limits) -> HostRule | None:
    # a burstable broker or client is judged: what is taken from it delays messages
    if not limits.burstable or host.role != "metadata":
        return None
    return HostRule(False, f"{host.instance_type} is burstable, and a metadata host carries neither messages nor load")


def _network_allowance(host: HostRecord, limits: Limits) -> HostRule | None:
    return HostRule(True, f"{host.instance_type} has {limits.network}")


HOST_RULES: Mapping[str, Callable[[HostRecord, Limits], HostRule | None]] = {
    "steal": _steal,
    "network-allowance": _network_allowance,
}
