"""The local testbed: hosts that are sshd processes on loopback addresses of this machine, each with directories of its own.

It writes nothing outside its state directory (root: but for /run/sshd) and touches no process that isn't a local host's.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace as changed
from datetime import UTC, datetime
from pathlib import Path

from provisioning.errors import HostError, HostUnreachable, InvalidInput, MissingRequirement, SameboxError
from provisioning.faults.on_host import groups, marks
from provisioning.faults.on_host.effect import NoEffect
from provisioning.hosts.host import Host, on_all
from provisioning.hosts.inventory import INVENTORY_SCHEMA, HostRecord, Inventory, Role, TestbedRecord, load_inventory
from provisioning.hosts.ssh import connect
from provisioning.testbeds.local import sshd
from provisioning.testbeds.local.addresses import Slot, free_blocks
from provisioning.testbeds.local.lock import exclusive
from provisioning.testbeds.local.processes import SSHD_CONFIG, belongs_to, belongs_under, end_processes, orphaned
from provisioning.testbeds.testbed import BROKERS

__all__ = ["LocalTestbed", "exclusive"]

INVENTORY_FILE = "inventory.json"
OPERATOR_KEY = "operator_key"
LOGIN_TIMEOUT_S = 30.0


class LocalTestbed:
    """A Testbed on this machine. `broker_ports`: what must be free on the addresses of broker and metadata hosts.

    `notice` is told, in a sentence each, what an operator should know but needn't act on.
    """

    def __init__(
        self,
        state_dir: Path,
        *,
        brokers: int = BROKERS,
        clients: int = 1,
        metadata: int = 0,
        name: str = "local",
        broker_ports: Sequence[int] = (),
        notice: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._state_dir = state_dir.absolute()
        self._hosts_dir = self._state_dir / "hosts"
        self._roles = _roles(brokers=brokers, metadata=metadata, clients=clients)
        self._name = name
        self._broker_ports = tuple(broker_ports)
        self._notice = notice

    def up(self) -> Inventory:
        before = self._written()
        if before is not None and _all_answer(before):
            self._refuse_another_shape(before)
            return before
        if before is not None and self._has_this_shape(before) and self._started_again(before):
            return before
        self._clean_what_is_left()
        try:
            inventory = self._start_all()
            on_all("logging in", connect(inventory), _logs_in)
            self._write(inventory)
        except BaseException:
            self.down()
            raise
        return inventory

    def inventory(self) -> Inventory | None:
        inventory = self._written()
        return inventory if inventory is not None and _all_answer(inventory) else None

    def replace(self, names: Sequence[str]) -> Inventory:
        inventory = self.inventory()
        if inventory is None:
            raise InvalidInput(f"no local testbed is up in {self._state_dir}.", next_step="samebox up")
        known = [record.name for record in inventory.hosts]
        unknown = [name for name in names if name not in known]
        if unknown:
            raise InvalidInput(f"no host is called {', '.join(unknown)}; the hosts are {', '.join(known)}.")
        hosts = tuple(self._anew(record) if record.name in names else record for record in inventory.hosts)
        inventory = changed(inventory, hosts=hosts)
        on_all("logging in", [host for host in connect(inventory) if host.name in names], _logs_in)
        self._write(inventory)
        return inventory

    def down(self) -> None:
        self._end_processes()
        _remove(self._hosts_dir)
        for name in (INVENTORY_FILE, f"{INVENTORY_FILE}.part", OPERATOR_KEY, f"{OPERATOR_KEY}.pub"):
            (self._state_dir / name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # kept while it holds something that isn't the testbed's, as the lock
            self._state_dir.rmdir()
        sshd.release_privilege_separation()

    def _written(self) -> Inventory | None:
        try:
            return load_inventory(self._state_dir / INVENTORY_FILE)
        except InvalidInput:
            return None  # none, or cut off while being written: either way `up` starts afresh

    def _started_again(self, ended: Inventory) -> bool:
        """Whether hosts whose sshds have ended, as they do with a container, could be started again as they were: campaigns that
        began on them can go on. Whatever still runs on them is ended."""
        if not all((Path(host.root) / SSHD_CONFIG).is_file() for host in ended.hosts):
            return False
        self._end_processes()
        try:
            with sshd.privilege_separation():
                for host in ended.hosts:
                    sshd.start_again(host)
            on_all("logging in", connect(ended), _logs_in)
        except (sshd.AddressTaken, HostError):
            return False
        self._notice("The testbed's hosts had ended; they were started again with the same keys and directories.")
        return True

    def _has_this_shape(self, inventory: Inventory) -> bool:
        return [(host.name, host.role) for host in inventory.hosts] == list(self._roles)

    def _refuse_another_shape(self, running: Inventory) -> None:
        if not self._has_this_shape(running):
            raise InvalidInput(
                f"a local testbed of another shape is up in {self._state_dir}: {', '.join(h.name for h in running.hosts)}.",
                next_step="Use it as it is, or `samebox down` first.",
            )

    def _clean_what_is_left(self) -> None:
        folders = _count(self._hosts_dir)
        killed = self._end_processes()
        self.down()
        if killed or folders:
            self._notice(f"Removed what an earlier run left behind: {killed} processes, {folders} host directories.")

    def _end_processes(self) -> int:
        """Kills what belongs to this testbed, and what belongs to hosts of any testbed whose directory is gone."""
        ours = belongs_under(self._hosts_dir)
        ended = end_processes(lambda pid: ours(pid) or orphaned(pid))
        for run_dir in self._hosts_dir.glob("*/run"):
            _undo_faults(run_dir)
        return ended

    def _start_all(self) -> Inventory:
        self._state_dir.mkdir(parents=True, exist_ok=True)
        operator_key = self._state_dir / OPERATOR_KEY
        sshd.make_key(operator_key, f"samebox-{self._name}")
        for slots in free_blocks(self._roles, self._broker_ports):
            try:
                with sshd.privilege_separation():
                    records = tuple(self._start(slot, 1) for slot in slots)
            except sshd.AddressTaken:  # another testbed was faster; its block is its own
                end_processes(belongs_under(self._hosts_dir))
                _remove(self._hosts_dir)
                continue
            return Inventory(
                schema=INVENTORY_SCHEMA,
                testbed=TestbedRecord("local", self._name),
                created=datetime.now(UTC).isoformat(timespec="seconds"),
                expires=None,
                identity_file=str(operator_key),
                hosts=records,
            )
        raise MissingRequirement("no block of loopback addresses could be bound.")

    def _start(self, slot: Slot, generation: int) -> HostRecord:
        root = self._hosts_dir / f"{slot.name}.g{generation}"
        return sshd.start(slot, root, generation, self._state_dir / OPERATOR_KEY)

    def _anew(self, old: HostRecord) -> HostRecord:
        root = Path(old.root)
        end_processes(belongs_to(root))
        _remove(root)
        try:
            with sshd.privilege_separation():
                return self._start(Slot(old.name, old.role, old.address), old.generation + 1)
        except sshd.AddressTaken:
            raise MissingRequirement(
                f"another process took {old.address} while {old.name} was being replaced.",
                next_step="samebox down, then samebox up",
            ) from None

    def _write(self, inventory: Inventory) -> None:
        partial = self._state_dir / f"{INVENTORY_FILE}.part"
        partial.write_text(inventory.to_json())
        partial.replace(self._state_dir / INVENTORY_FILE)


def _roles(*, brokers: int, metadata: int, clients: int) -> tuple[tuple[str, Role], ...]:
    if brokers < 1 or clients < 0 or metadata < 0 or brokers + clients + metadata > 200:
        raise InvalidInput(
            f"a local testbed of {brokers} brokers, {metadata} metadata hosts and {clients} clients is impossible:"
            " it takes 1 to 200 hosts, one of them a broker."
        )
    counts: tuple[tuple[Role, int], ...] = (("broker", brokers), ("metadata", metadata), ("client", clients))
    return tuple((f"{role}-{number}", role) for role, count in counts for number in range(1, count + 1))


def _all_answer(inventory: Inventory) -> bool:
    return all(map(sshd.answers, inventory.hosts))


def _logs_in(host: Host) -> None:
    try:
        host.run("true", timeout_s=LOGIN_TIMEOUT_S)
    except HostError as error:
        log = Path(host.record.root, "sshd/sshd.log").read_text().strip()[-800:]
        raise HostUnreachable(host.name, f"its sshd is up, but commands fail.\n{error}\n{log}") from None
    finally:
        host.close()


def _undo_faults(run_dir: Path) -> None:
    """What did a fault on a host has been killed, and could undo nothing: packets would be dropped until this machine restarts."""
    try:
        marks.heal(run_dir)
        groups.remove_group(run_dir)
    except (NoEffect, OSError) as error:
        raise SameboxError(
            f"what a fault did can't be undone: {error}",
            next_step="As root: nft list tables, then nft delete table inet NAME.",
        ) from None


def _count(folder: Path) -> int:
    return len(list(folder.iterdir())) if folder.is_dir() else 0


def _remove(folder: Path) -> None:
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        return
    except OSError as error:
        raise SameboxError(
            f"{folder} can't be removed: {error}", next_step=f"See what uses it: fuser -v {folder}"
        ) from None
