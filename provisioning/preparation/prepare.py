"""Prepares hosts: everything declared in this folder, applied where it differs, read back, and told row by row.

1. whose machine is it: a host with the boot id of this machine is the operator's own, and only looked at; any other may still be
   in its first boot, which is waited for
2. packages: what is missing, from the host's own distribution
3. owned disks: formatted if blank, mounted; the directories made
4. settings: read, set where they differ, read back over a new connection (limits are given at login)
5. clock: follows the testbed's time server, where it has one
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from provisioning.errors import HostError
from provisioning.hosts.facts import boot_ids
from provisioning.hosts.host import Host, on_all
from provisioning.hosts.requirement import Requirement
from provisioning.preparation.disks import provide_disks
from provisioning.preparation.packages import provide_packages
from provisioning.preparation.settings import Setting, settings_of
from provisioning.preparation.step import Status, Step, as_root
from provisioning.preparation.time_service import provide_time_server

_MARK = "==samebox "
FIRST_BOOT_TIMEOUT_S = 900.0
# sshd answers before cloud-init has formatted disks; exit 2 = done, with errors that it got over
FIRST_BOOT = "if ! command -v cloud-init >/dev/null; then exit 0; fi; cloud-init status --wait --long"


@dataclass(frozen=True)
class Preparation:
    """What was looked after on which host. `rows` in inventory order."""

    rows: tuple[Step, ...]

    @property
    def changed(self) -> tuple[Step, ...]:
        """What wasn't as wanted and now is."""
        return tuple(row for row in self.rows if row.status == "changed")

    @property
    def left(self) -> tuple[Step, ...]:
        """What isn't as wanted and was left so, on the operator's own machine."""
        return tuple(row for row in self.rows if row.status == "left")


def prepare(
    hosts: Sequence[Host],
    *,
    time_server: str | None,
    of_systems: Sequence[Requirement],
    notice: Callable[[str], None],
    erase: bool = False,
    own_boot_id: str | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> Preparation:
    """Prepares all hosts at once; a second run changes nothing. Raises HostsFailed naming host, setting, found.

    `of_systems`: what the systems that are to run there need.
    `erase`: owned disks that hold something are overwritten. `own_boot_id`: of this machine, read if not given.
    """
    own = Path("/proc/sys/kernel/random/boot_id").read_text().strip() if own_boot_id is None else own_boot_id
    ours = {name for name, boot_id in boot_ids(hosts).items() if boot_id == own}
    notice("first boot")
    on_all("first boot", [host for host in hosts if host.name not in ours], await_first_boot)
    rows: dict[str, list[Step]] = {host.name: [] for host in hosts}

    def provide(what: str, work: Callable[[Host, bool], list[Step]]) -> None:
        notice(what)
        for name, steps in on_all(what, hosts, lambda host: work(host, host.name not in ours)).items():
            rows[name] += steps

    provide("packages", lambda host, may: provide_packages(host, time_server, of_systems, may_change=may))
    provide("disks and directories", lambda host, may: provide_disks(host, may_change=may, erase=erase))
    provide("settings", lambda host, may: provide_settings(host, may_change=may))
    if server := time_server:
        provide(
            f"clocks, by {server}",
            lambda host, may: [provide_time_server(host, server, may_change=may, sleep=sleep)],
        )
    return Preparation(tuple(step for host in hosts for step in rows[host.name]))


def await_first_boot(host: Host) -> None:
    """Waits until cloud-init is through, where there is one. Raises HostError with its own words when it failed."""
    completed = host.run(FIRST_BOOT, timeout_s=FIRST_BOOT_TIMEOUT_S, check=False)
    if completed.exit_status not in (0, 2):
        said = (completed.stdout.strip() or completed.stderr.strip())[-600:]
        raise HostError(
            host.name,
            f"its first boot failed: {said}",
            next_step="See /var/log/cloud-init-output.log there.",
        )


def provide_settings(host: Host, *, may_change: bool) -> list[Step]:
    """Reads a host's settings, sets those that differ, reads all back. Raises HostError naming every one that isn't as wanted."""
    settings = settings_of(host.record)
    before = _read(host, settings)
    differing = [setting for setting in settings if before[setting.name] and not setting.met_by(before[setting.name])]
    after = before
    if differing and may_change:
        refused = _write(host, differing)
        host.close()
        after = _read(host, settings)
        wrong = [setting for setting in differing if not setting.met_by(after[setting.name])]
        if wrong:
            lines = [
                f"{setting.name}: wanted {setting.asked}, found {after[setting.name] or 'nothing'}"
                f"{' ' + refused[setting.name] if setting.name in refused else ''}"
                for setting in wrong
            ]
            raise HostError(
                host.name,
                "; ".join(lines),
                next_step="Check what overrides them there (tuned, a container, a hypervisor), then run `samebox prepare` again.",
            )
    return [
        Step(
            host.name,
            setting.name,
            setting.asked,
            before[setting.name] or "-",
            after[setting.name] or "-",
            _status(setting, before[setting.name], may_change),
            setting.why,
        )
        for setting in settings
    ]


def read_command(settings: Sequence[Setting]) -> str:
    """One command line that prints every setting's value in a section of its own."""
    sections = (f"echo '{_MARK}{number}'; ( {each.read} ) 2>/dev/null" for number, each in enumerate(settings))
    return "; ".join(sections) + "; true"


def _read(host: Host, settings: Sequence[Setting]) -> dict[str, str]:
    """Setting -> its value; empty where the host has no such thing."""
    answers = [
        section.partition("\n")[2].strip() for section in host.run(read_command(settings)).stdout.split(_MARK)[1:]
    ]
    return {setting.name: answer for setting, answer in zip(settings, answers, strict=True)}


def _write(host: Host, settings: Sequence[Setting]) -> dict[str, str]:
    """Sets them one by one; setting -> what the host said against it. What came of it is told by reading back."""
    refused = {}
    for setting in settings:
        completed = host.run(as_root(setting.write), check=False)
        if completed.exit_status != 0:
            refused[setting.name] = f"({completed.stderr.strip()[-200:]})"
    return refused


def _status(setting: Setting, before: str, may_change: bool) -> Status:
    if not before:
        return "not there"
    if setting.met_by(before):
        return "as wanted"
    return "changed" if may_change else "left"
