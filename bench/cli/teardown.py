"""Hosts that were stood up for a command are taken down again, whatever happens in between."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, TypeVar

from bench.cli import sweep
from bench.progress import Reporter, Step
from provisioning.errors import SameboxError
from provisioning.hosts.inventory import Inventory
from provisioning.testbeds.aws.stack import Stack
from provisioning.testbeds.testbed import Testbed

T = TypeVar("T")

UP_STEP = Step("hosts up", 600.0)
DOWN_STEP = Step("hosts down", 300.0)
SWEEP_STEP = Step("looking for what is left", 20.0)


@contextmanager
def undisturbed() -> Iterator[None]:
    """A second Ctrl-C must not cut the teardown short."""
    before = {
        number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class LeftoverSearch(Protocol):
    """What finds everything that a campaign left on AWS."""

    def find(self) -> Sequence[str]:
        """What is left and shouldn't be, a line each; what couldn't be listed counts as left."""

    def orphans(self) -> Sequence[str]:
        """What no stack knows of, a line each; nothing where that can't be told. Raises nothing."""


@dataclass(frozen=True)
class Keeper:
    """Makes sure that hosts which were stood up are taken down, whatever happens in between."""

    testbed: Testbed
    stack_name: str
    leftovers: LeftoverSearch
    reporter: Reporter

    def undertake(self, work: Callable[[Inventory], T], *, keep: bool) -> T:
        """Stands the testbed up, does the work, takes the testbed down and looks for what is left. Raises what went wrong first.

        With `keep`, a testbed on which something failed stays. Raises SameboxError if only the teardown failed.
        """
        expires: str | None = None
        try:
            self.reporter.step(UP_STEP.title)
            inventory = self.testbed.up()
            expires = inventory.expires
            done = work(inventory)
        except BaseException:
            with undisturbed():
                if keep:
                    self._say_what_is_kept()
                else:
                    self._take_away_after_failure(expires)
            raise
        with undisturbed():
            self._take_away(expires)
        return done

    @property
    def _by_hand(self) -> str:
        """What to type where this couldn't delete everything, in an order that works whatever was left."""
        return (
            f"Type: samebox sweep --stack {self.stack_name} --orphans --delete   then: pulumi destroy --stack {self.stack_name}"
            "   then: samebox sweep"
        )

    def _take_away(self, expires: str | None) -> None:
        self.reporter.step(DOWN_STEP.title)
        try:
            self.testbed.down()
        except SameboxError as error:
            orphans = self.leftovers.orphans()
            if not orphans:
                first = error.next_step or "Fix what it names."
                raise SameboxError(
                    str(error),
                    next_step=f"{first}\nThen delete what is left. {self._by_hand}\n{_end_of_hosts(expires)}",
                ) from error
            named = "\n".join(f"  {line}" for line in orphans)
            raise SameboxError(
                f"{error}\nNo stack knows of these, and they use what was to be deleted:\n{named}",
                next_step=self._by_hand,
            ) from error
        self.reporter.step(SWEEP_STEP.title)
        left = self.leftovers.find()
        if left:
            raise SameboxError(
                "after the teardown something is left that may cost money:\n" + "\n".join(f"  {line}" for line in left),
                next_step=f"`samebox sweep --stack {self.stack_name}` shows it, and deletes it with --delete.",
            )

    def _take_away_after_failure(self, expires: str | None) -> None:
        """What goes wrong now is printed, and doesn't hide what went wrong first."""
        try:
            self._take_away(expires)
        except SameboxError as error:
            self.reporter.notice(f"NOT everything was taken down: {error}")
            self.reporter.notice(error.next_step or self._by_hand)
        else:
            self.reporter.notice("All hosts were taken down; nothing but the results bucket is left.")

    def _say_what_is_kept(self) -> None:
        self.reporter.notice(
            f"Kept as you asked: the hosts of stack {self.stack_name}. They cost money until they expire."
        )
        self.reporter.notice(f"To go on: samebox resume RESULTS --stack {self.stack_name}")
        self.reporter.notice(f"To end it: pulumi destroy --stack {self.stack_name}   then: samebox sweep")


def _end_of_hosts(expires: str | None) -> str:
    """What happens to hosts that stay up."""
    if expires is None:
        return "Hosts that are up cost money until they expire."
    return f"In any case the hosts end by themselves at {expires}; until then they cost money."


@dataclass(frozen=True)
class Leftovers:
    """The sweep of a stack's region for its campaign. What it waits for goes to the reporter."""

    stack: Stack
    reporter: Reporter

    def find(self) -> Sequence[str]:
        """What is left and shouldn't be, a line each. What is on its way out isn't left: AWS takes minutes to end an instance."""
        # boto3 takes a third of a second to import, which no other command should wait for
        from provisioning.testbeds.aws.sweep import LONGEST_ENDING_S, sweep_of

        found = sweep_of(self.stack).await_ending(self.reporter.detail)
        ending = [each for each in found.left if found.is_ending(each)]
        if ending:
            named = ", ".join(f"{each.kind} {each.id}" for each in ending)
            self.reporter.notice(
                f"Still ending after {LONGEST_ENDING_S / 60:.0f} minutes: {named}. `samebox sweep` says when they have gone."
            )
        left = [f"{each.kind} {each.id}" for each in found.left if each not in ending]
        return [*left, *(f"not known: {each}" for each in found.refused)]

    def orphans(self) -> Sequence[str]:
        """What no stack knows of, a line each; nothing where that can't be told."""
        try:
            found = sweep.Search((), None, self.stack, orphans=True).find()
        except SameboxError:
            return ()
        return () if found.refused else [f"{each.kind} {each.id}" for each in found.left]
