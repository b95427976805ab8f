"""The testbed on AWS: the hosts of one Pulumi stack, brought up, replaced one by one, and destroyed."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from provisioning.errors import CommandFailed, CommandTimedOut, HostError, HostUnreachable, InvalidInput, SameboxError
from provisioning.hosts.host import Host, on_all
from provisioning.hosts.inventory import HostRecord, Inventory
from provisioning.hosts.ssh import connect
from provisioning.testbeds.aws.capacity import NO_WAIT, CapacityWait, Placement
from provisioning.testbeds.aws.events import Change
from provisioning.testbeds.aws.stack import ChangeFailed, ChangeInterrupted, Follow, Stack

FIRST_BOOT_FAILED, NOT_YET = 9, 75
BOOT_TIMEOUT_S = 900.0
RETRY_S = 5.0
LOGIN_TIMEOUT_S = 20.0

Connect = Callable[[Inventory], Sequence[Host]]
EndClusters = Callable[[Stack, Follow], None]


class AwsTestbed:
    """A Testbed that is a stack. `on_line` is told what pulumi does, line by line, and which hosts are waited for.

    `end_clusters` ends the EMR clusters that run for the stack. `capacity_wait`: what is done when AWS has no room for it.
    """

    def __init__(
        self,
        stack: Stack,
        *,
        on_line: Follow,
        end_clusters: EndClusters | None = None,
        capacity_wait: CapacityWait = NO_WAIT,
        connect: Connect = connect,
        sleep: Callable[[float], None] = time.sleep,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self.stack = stack
        self._end_clusters = end_clusters
        self._on_line = on_line
        self._connect = connect
        self._sleep = sleep
        self._now_s = now_s
        self._placement = Placement(stack, capacity_wait, on_line=on_line, sleep=sleep, now_s=now_s)

    def up(self) -> Inventory:
        # only what has been up can have lost hosts, and looking at each costs time
        self._placement.stand_up(refresh=bool(self.stack.resource_count()))
        inventory = self._exported()
        self._await_hosts(inventory, [host.name for host in inventory.hosts])
        return inventory

    def inventory(self) -> Inventory | None:
        inventory = self.stack.inventory()
        if inventory is None or not inventory.hosts:
            return None
        hosts = self._connect(inventory)
        try:
            on_all("logging in", hosts, lambda host: host.run("true", timeout_s=LOGIN_TIMEOUT_S))
        except SameboxError:
            return None
        finally:
            _close(hosts)
        return inventory

    def replace(self, names: Sequence[str]) -> Inventory:
        before = self._exported()
        generations = _generations(before)
        unknown = [name for name in names if name not in generations]
        if unknown:
            raise InvalidInput(f"no host is called {', '.join(unknown)}; the hosts are {', '.join(generations)}.")
        try:
            for name in names:
                self.stack.set_config(f"generations.{name}", generations[name] + 1)
            self._on_line(f"previewing the replacement of {', '.join(names)}")
            self._require_only(names, self.stack.preview(lambda _: None), generations)
        except BaseException:
            self._set_back(names, generations)
            raise
        self._change_hosts(names, generations)
        after = self._exported()
        _require_replaced(names, before, after)
        self._await_hosts(after, names)
        return after

    def down(self) -> None:
        if self.stack.resource_count():
            # boto3 takes a third of a second to import, which no other command should wait for
            from provisioning.testbeds.aws.clusters import end_clusters

            (self._end_clusters or end_clusters)(self.stack, self._on_line)
            self.stack.destroy(self._on_line)
        self._placement.forget_zone()

    def _exported(self) -> Inventory:
        inventory = self.stack.inventory()
        if inventory is None:
            raise InvalidInput(
                f"nothing is up in stack {self.stack.name}.", next_step=f"pulumi up --stack {self.stack.name}"
            )
        return inventory

    def _require_only(self, names: Sequence[str], plan: Sequence[Change], known: Iterable[str]) -> None:
        """Raises InvalidInput unless the plan replaces exactly these hosts and takes away nothing that hosts share."""
        whose = {change: _host_of(change, known) for change in plan}
        others = sorted({host for host in whose.values() if host is not None and host not in names})
        shared = sorted(
            f"{change.operation} {change.name}"
            for change, host in whose.items()
            if host is None and change.operation in ("replace", "delete")
        )
        if others or shared:
            touched = ", ".join([*others, *shared])
            raise InvalidInput(
                f"replacing {', '.join(names)} would also touch {touched}: the stack differs from its program and config.",
                next_step=f"`pulumi preview --diff --stack {self.stack.name}` shows why; "
                f"apply that with `pulumi up --stack {self.stack.name}`, then vet again.",
            )
        missed = [name for name in names if not any(c.operation == "replace" and whose[c] == name for c in plan)]
        if missed:
            raise InvalidInput(f"the plan of stack {self.stack.name} doesn't replace {', '.join(missed)}.")

    def _change_hosts(self, names: Sequence[str], generations: Mapping[str, int]) -> None:
        """`pulumi up`. Where it ends half-way, the hosts that weren't replaced stay, and so does their generation."""
        try:
            self.stack.up(self._on_line)
        except (ChangeFailed, ChangeInterrupted) as ended:
            done = {_host_of(change, generations) for change in ended.finished if change.operation == "replace"}
            kept = [name for name in names if name not in done]
            self._set_back(kept, generations)
            if isinstance(ended, ChangeInterrupted):
                raise
            raise SameboxError(
                f"{ended}\n{self._what_is_left(kept, [name for name in names if name in done])}",
                next_step=ended.next_step,
            ) from None

    def _what_is_left(self, kept: Sequence[str], replaced: Sequence[str]) -> str:
        """What a failed replacement left, after making the stack's outputs true again where one was replaced."""
        said = f"Not replaced, and still up: {', '.join(kept)}." if kept else "The new hosts are up."
        if not replaced:
            return said
        try:
            self.stack.up(self._on_line)
        except SameboxError:
            return f"{said} Replaced: {', '.join(replaced)}; type `pulumi up --stack {self.stack.name}` before anything else."
        return f"{said} Replaced: {', '.join(replaced)}."

    def _set_back(self, names: Sequence[str], generations: Mapping[str, int]) -> None:
        for name in names:
            self.stack.set_config(f"generations.{name}", generations[name])

    def _await_hosts(self, inventory: Inventory, names: Sequence[str]) -> None:
        """Returns once each lets commands through, under the host key known beforehand, with its first boot done."""
        hosts = self._connect(inventory)
        deadline_s = self._now_s() + BOOT_TIMEOUT_S
        try:
            self._on_line(f"waiting for SSH on {', '.join(names)}")
            waiting = [host for host in hosts if host.name in names]
            while waiting:
                left_s = deadline_s - self._now_s()
                # each attempt ends by itself, so that Ctrl-C needn't wait for the deadline
                ready = on_all("waiting for a new host", waiting, partial(_is_ready, left_s=left_s))
                waiting = [host for host in waiting if not ready[host.name]]
                if waiting:
                    self._sleep(RETRY_S)
        finally:
            _close(hosts)


def _is_ready(host: Host, left_s: float) -> bool:
    """One attempt. Raises HostError if it will never be ready, or no time is left for another attempt."""
    try:
        host.run(ready_command(host.record), timeout_s=max(RETRY_S, left_s))
    except (HostUnreachable, CommandTimedOut, CommandFailed) as error:
        if isinstance(error, CommandFailed) and error.completed.exit_status == FIRST_BOOT_FAILED:
            raise HostError(
                host.name,
                "cloud-init reports that its first boot failed.",
                next_step="Log in by ssh and read /var/log/cloud-init-output.log",
            ) from None
        if left_s <= RETRY_S:
            raise HostUnreachable(
                host.name,
                f"not ready {BOOT_TIMEOUT_S / 60:.0f} minutes after its launch.\n{error}",
                next_step=f"Look at its console: aws ec2 get-console-output --instance-id {host.record.instance_id}",
            ) from None
        return False
    return True


def ready_command(record: HostRecord) -> str:
    """Succeeds once the first boot is over: SSH answers before the instance has formatted and mounted its own disks."""
    own = [record.root, *(each.path for each in record.data_dirs if each.owned)]
    writable = " && ".join(f"test -w {shlex.quote(path)}" for path in own)
    # exit 2 of newer ones: done, with a remark
    waited = f"cloud-init status --wait >/dev/null || [ $? -eq 2 ] || exit {FIRST_BOOT_FAILED}"
    return f"if command -v cloud-init >/dev/null; then {waited}; fi; {writable} || exit {NOT_YET}"


def _generations(inventory: Inventory) -> dict[str, int]:
    return {host.name: host.generation for host in inventory.hosts}


def _host_of(change: Change, known: Iterable[str]) -> str | None:
    """The host a resource is of: by its tag, else by a name that is the host's, or begins or ends with it (end-broker-1)."""
    if change.host is not None:
        return change.host
    parts = f"-{change.name}-"
    return next((name for name in known if parts.startswith(f"-{name}-") or parts.endswith(f"-{name}-")), None)


def _require_replaced(names: Sequence[str], before: Inventory, after: Inventory) -> None:
    """Raises SameboxError unless these hosts are other machines now, one generation on, and all others the same."""
    old = {host.name: host for host in before.hosts}
    wrong = [
        host.name
        for host in after.hosts
        if host.name not in old or not _as_asked(host, old[host.name], host.name in names)
    ]
    wrong += sorted(set(old) - {host.name for host in after.hosts})
    if wrong:
        raise SameboxError(
            f"after replacing {', '.join(names)} the inventory isn't as expected: {', '.join(wrong)}.",
            next_step="Compare `pulumi stack output inventory` with what runs; `samebox sweep` lists it.",
        )


def _as_asked(host: HostRecord, old: HostRecord, replaced: bool) -> bool:
    if replaced:
        return host.generation == old.generation + 1 and host.instance_id != old.instance_id
    return (host.generation, host.instance_id) == (old.generation, old.instance_id)


def _close(hosts: Sequence[Host]) -> None:
    for host in hosts:
        host.close()
