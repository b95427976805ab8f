"""What was stood up is taken away: after success, failure, Ctrl-C, and when taking away itself goes wrong."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from bench.cli.teardown import Keeper
from bench.progress import PlainReporter
from provisioning.errors import SameboxError
from provisioning.hosts.inventory import Inventory
from tests.aws import engine


@dataclass
class Hosts:
    """A testbed that keeps a diary, and a look around that finds `left`."""

    diary: list[str] = field(default_factory=list)
    up_fails: BaseException | None = None
    down_fails: BaseException | None = None
    left: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    interrupt_while_down: bool = False
    said: list[str] = field(default_factory=list)

    def up(self) -> Inventory:
        """Up, or half-way."""
        self.diary.append("up")
        if self.up_fails:
            raise self.up_fails
        return engine.inventory()

    def inventory(self) -> Inventory | None:
        """Not asked here."""
        raise AssertionError

    def replace(self, names: Sequence[str]) -> Inventory:
        """Not asked here."""
        raise AssertionError(names)

    def down(self) -> None:
        """Down, unless it fails; perhaps while the operator presses Ctrl-C again."""
        if self.interrupt_while_down:
            os.kill(os.getpid(), signal.SIGINT)
        self.diary.append("down")
        if self.down_fails:
            raise self.down_fails

    def find(self) -> Sequence[str]:
        """The look around."""
        self.diary.append("look")
        return self.left

    def orphans(self) -> Sequence[str]:
        """What no stack knows."""
        return self.unknown

    def keeper(self) -> Keeper:
        """Sees to it."""
        return Keeper(self, "sn", self, PlainReporter(self.said.append))

    def work(self, inventory: Inventory) -> int:
        """What is done in between: it counts hosts."""
        self.diary.append("work")
        return len(inventory.hosts)


def raising(error: BaseException) -> object:
    """Work that fails."""
    raise error


def test_success_ends_at_nothing() -> None:
    """Up, work, down, a look around; the work's result comes back."""
    hosts = Hosts()
    assert hosts.keeper().undertake(hosts.work, keep=False) == 4
    assert hosts.diary == ["up", "work", "down", "look"]


@pytest.mark.parametrize("error", [SameboxError("disk full"), KeyboardInterrupt(), SystemExit(3), ValueError("a bug")])
def test_failing_work_ends_at_nothing(error: BaseException) -> None:
    """Any error and Ctrl-C: taken away, and the first error is what is raised."""
    hosts = Hosts()
    with pytest.raises(type(error)) as raised:
        hosts.keeper().undertake(lambda _: raising(error), keep=False)
    assert raised.value is error
    assert hosts.diary == ["up", "down", "look"]
    assert any("nothing but the results bucket is left" in line for line in hosts.said)


def test_hosts_that_came_up_half_way_are_taken_away() -> None:
    """No capacity for the seventh host: the six before it must not stay."""
    hosts = Hosts(up_fails=SameboxError("no capacity"))
    with pytest.raises(SameboxError, match="no capacity"):
        hosts.keeper().undertake(hosts.work, keep=False)
    assert hosts.diary == ["up", "down", "look"]


@pytest.mark.usefixtures("interruptible")
def test_a_second_interrupt_does_not_cut_the_teardown_short() -> None:
    """Ctrl-C while hosts are taken away is ignored, and works again afterwards."""
    hosts = Hosts(interrupt_while_down=True)
    with pytest.raises(KeyboardInterrupt):
        hosts.keeper().undertake(lambda _: raising(KeyboardInterrupt()), keep=False)
    assert hosts.diary == ["up", "down", "look"]
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)


def test_a_teardown_that_fails_says_what_to_type() -> None:
    """The first error is raised; that hosts still cost money, and the commands, are said besides."""
    hosts = Hosts(down_fails=SameboxError("credentials have expired"))
    with pytest.raises(SameboxError, match="disk full"):
        hosts.keeper().undertake(lambda _: raising(SameboxError("disk full")), keep=False)
    said = "\n".join(hosts.said)
    assert "NOT everything was taken down: credentials have expired" in said
    assert "pulumi destroy --stack sn" in said
    assert "samebox sweep" in said


def test_credentials_that_have_ended_cost_no_more_than_the_timers_allow() -> None:
    """After a good campaign: what to do first, what to type then, and that the hosts end by themselves, and when."""
    hosts = Hosts(down_fails=SameboxError("credentials have expired", next_step="Sign in anew."))
    with pytest.raises(SameboxError, match="credentials have expired") as raised:
        hosts.keeper().undertake(hosts.work, keep=False)
    typed = raised.value.next_step
    words = [
        "Sign in anew.",
        "pulumi destroy --stack sn",
        "then: samebox sweep",
        "by themselves at 2026-11-21T20:00:00Z",
    ]
    assert sorted(words, key=typed.index) == words


def test_a_teardown_that_something_unknown_stops_names_it() -> None:
    """What a killed `pulumi up` made holds the placement group: the orphan is named, and the order in which all of it goes."""
    hosts = Hosts(down_fails=SameboxError("placement group in use"), unknown=("instance i-9",))
    with pytest.raises(SameboxError, match=r"in use\nNo stack knows of these.*:\n  instance i-9$") as raised:
        hosts.keeper().undertake(hosts.work, keep=False)
    typed = raised.value.next_step
    commands = ["samebox sweep --stack sn --orphans --delete", "pulumi destroy --stack sn", "then: samebox sweep"]
    assert sorted(commands, key=typed.index) == commands


def test_leftovers_after_success_are_an_error() -> None:
    """A campaign that leaves something isn't done, whatever its report says."""
    hosts = Hosts(left=("instance i-1", "not known: schedules"))
    with pytest.raises(
        SameboxError, match=r"something is left that may cost money:\n  instance i-1\n  not known"
    ) as raised:
        hosts.keeper().undertake(hosts.work, keep=False)
    assert "samebox sweep --stack sn" in raised.value.next_step


def test_keep_leaves_a_failed_testbed_up_and_says_so() -> None:
    """Only on failure: a finished campaign's hosts serve nobody."""
    hosts = Hosts()
    with pytest.raises(SameboxError):
        hosts.keeper().undertake(lambda _: raising(SameboxError("disk full")), keep=True)
    assert hosts.diary == ["up"]
    assert any("Kept as you asked" in line for line in hosts.said)
    finished = Hosts()
    finished.keeper().undertake(finished.work, keep=True)
    assert finished.diary == ["up", "work", "down", "look"]
