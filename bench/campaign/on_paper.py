"""What each contestant's processes would be told, rendered for hosts that aren't there yet, so that what can't be is refused."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from bench.campaign.order import TrialSpec
from provisioning.errors import InvalidInput, SameboxError
from provisioning.hosts.host import Host
from provisioning.hosts.inventory import DataDir, HostRecord, Role, SshAddress
from provisioning.testbeds.testbed import BROKERS
from systems.deployment import Plan
from systems.registry import SYSTEMS, release_of
from systems.settings import Settings


def intended_on_paper(
    trials: Sequence[TrialSpec],
    plan_of: Callable[[TrialSpec], Plan],
    brokers: int | None,
    given: Collection[str],
    *,
    where: str,
) -> dict[str, Settings]:
    """Contestant -> the settings of its first trial. `brokers`: how many hosts the campaign is for; None = it doesn't say. `given`:
    systems of which the operator has given an archive, whose settings nobody has recorded.

    Raises InvalidInput, starting with `where`, naming a component or setting that the contestant's version doesn't have.
    """
    found: dict[str, Settings] = {}
    for spec in trials:
        contestant = spec.contestant
        if contestant.name in found:
            continue
        plan = plan_of(spec)
        release = release_of(contestant.system, contestant.version)
        recorded = contestant.version is not None or contestant.system not in given
        if recorded and (unknown := release.unknown(plan.overrides)):
            raise InvalidInput("\n".join(f"{where}: {contestant.name}: {sentence}" for sentence in unknown))
        hosts = _hosts(brokers or max(BROKERS, plan.replication_factor))
        deployment = SYSTEMS[contestant.system].deployment(hosts, _Version(release.version))
        try:
            found[contestant.name] = deployment.intended_settings(plan)
        except SameboxError as error:
            raise InvalidInput(f"{where}: {contestant.name}: {error}", next_step=error.next_step) from None
    return found


def _hosts(brokers: int) -> list[Host]:
    roles: list[tuple[str, Role]] = [(f"broker-{at}", "broker") for at in range(1, brokers + 1)]
    return [_OnPaper(_record(name, role, at)) for at, (name, role) in enumerate([*roles, ("client-1", "client")], 11)]


def _record(name: str, role: Role, at: int) -> HostRecord:
    address, root = f"127.0.0.{at}", f"/{name}"
    disks = (DataDir(f"{root}/data1", "", root, False),)
    return HostRecord(name, role, SshAddress(address, 22, "", ""), address, root, disks, "", "", 1)


@dataclass(frozen=True)
class _Version:
    """Implements SoftwareStore for what is only rendered."""

    its: str

    def deploy(self, name: str, hosts: Sequence[Host]) -> NoReturn:
        raise AssertionError(f"{name} would be put on {len(hosts)} hosts that aren't there")

    def version(self, name: str) -> str:
        del name
        return self.its


@dataclass(frozen=True)
class _OnPaper:
    """Implements Host for what is only rendered: it has an address, and nothing can be done there."""

    record: HostRecord

    @property
    def name(self) -> str:
        return self.record.name

    def run(self, command: str, **_options: object) -> NoReturn:
        raise AssertionError(f"{self.name} isn't there, and was asked: {command}")

    def spawn(self, command: str) -> NoReturn:
        self.run(command)

    def put(self, content: bytes, path: str, *, mode: int = 0o644) -> NoReturn:
        self.run(f"put {len(content)} bytes as {mode:o} {path}")

    def push(self, source: Path, path: str, *, mode: int = 0o644) -> NoReturn:
        self.run(f"push {source} as {mode:o} {path}")

    def get(self, path: str) -> NoReturn:
        self.run(f"get {path}")

    def fetch(self, path: str, target: Path) -> NoReturn:
        self.run(f"fetch {path} to {target}")

    def close(self) -> None:
        return None
