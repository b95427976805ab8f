"""The sweep: what samebox left on AWS, and deleting it until nothing is left.

It needs no state: a run that was killed leaves things that no stack knows, and those are what it is for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from provisioning.errors import SameboxError
from provisioning.testbeds.aws.leftovers import Leftover, Scope, list_leftovers
from provisioning.testbeds.aws.removal import COMPUTE, REMOVERS
from provisioning.testbeds.aws.session import Region, session
from provisioning.testbeds.aws.stack import Stack

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 15.0
# what hung on a host is free some time after it has ended; a terminating EMR cluster takes minutes
PATIENCE_S = 300.0
LONGEST_S = 1800.0
# how long a sweep waits that deletes nothing: instances end within two minutes or so, an EMR cluster before its machines
LONGEST_ENDING_S = 900.0
# refusals that waiting doesn't change
FINAL = (
    "AccessDenied",
    "AccessDeniedException",
    "UnauthorizedOperation",
    "OperationNotPermitted",
    "ValidationException",
)
ORDER = tuple(REMOVERS)


@dataclass(frozen=True)
class LeftAlone:
    """Something that was found and isn't for this sweep to delete, and why. `known`: a stack's state has it."""

    leftover: Leftover
    reason: str
    known: bool


@dataclass(frozen=True)
class Found:
    """What a sweep found in `regions`. `refused` is what AWS wouldn't list: nothing is known of that."""

    regions: tuple[str, ...]
    leftovers: tuple[Leftover, ...]
    refused: tuple[str, ...]
    left_alone: tuple[LeftAlone, ...] = ()

    @property
    def left(self) -> tuple[Leftover, ...]:
        """What shouldn't be there; what is kept on purpose doesn't count."""
        return tuple(leftover for leftover in self.leftovers if not leftover.kept)

    @property
    def empty(self) -> tuple[Leftover, ...]:
        """Buckets that were kept and hold nothing: they cost nothing and don't count, but may go."""
        return tuple(leftover for leftover in self.leftovers if leftover.kept and leftover.empty)

    @property
    def clean(self) -> bool:
        """Whether it is known that nothing is left."""
        return not self.left and not self.refused

    def is_ending(self, leftover: Leftover) -> bool:
        """Whether it goes by itself: AWS is deleting it, or what it belongs to."""
        holder = self._by_id.get(leftover.holder)
        return leftover.ending or (holder is not None and self.is_ending(holder))

    def to_json(self, known: Collection[str] | None = None) -> dict[str, Any]:
        """For machines. With `known`, the ids in a stack's state, each thing says whether it is among them."""

        def document(leftover: Leftover) -> dict[str, Any]:
            return asdict(leftover) | ({} if known is None else {"in_state": leftover.id in known})

        return {
            "clean": self.clean,
            "regions": list(self.regions),
            "left": [document(each) for each in self.left],
            "kept": [document(each) for each in self.leftovers if each.kept],
            "left_alone": [document(each.leftover) | {"reason": each.reason} for each in self.left_alone],
            "refused": list(self.refused),
        }

    @cached_property
    def _by_id(self) -> dict[str, Leftover]:
        return {leftover.id: leftover for leftover in self.leftovers}


class NotRemoved(SameboxError):
    """Something couldn't be deleted: a reason for each; `found` is all that still exists."""

    def __init__(self, found: Found, reasons: Sequence[str]) -> None:
        lines = [f"{len(reasons)} things are still there:", *(f"  {reason}" for reason in reasons)]
        super().__init__(
            "\n".join([*lines, *(f"  not listed: {refusal}" for refusal in found.refused)]),
            next_step="Fix what the reasons name (permissions, termination protection, things of yours that use them), "
            "then run the same command again.",
        )
        self.found = found


def sweep_of(stack: Stack) -> Sweep:
    """The sweep of a stack's region for what it made of its campaign. Raises InvalidInput if its config lacks one of them."""
    region, campaign = stack.required("region", "campaign")
    return Sweep([region], campaign, stack.tag)


class Sweep:
    """The sweep of some regions, for one campaign (or one stack of it) or for all. Sessions are opened once.

    Raises MissingRequirement.
    """

    def __init__(
        self,
        regions: Sequence[str],
        campaign: str | None = None,
        stack: str | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._regions = tuple(Region(session(name), name) for name in regions)
        self._scope = Scope(campaign, stack)
        self._clock, self._sleep = clock, sleep
        self.campaign = campaign

    def find(self) -> Found:
        """Everything in scope that AWS has now."""
        leftovers, refused = list_leftovers(self._regions, self._scope)
        return Found(tuple(region.name for region in self._regions), leftovers, refused)

    def await_ending(self, on_line: Callable[[str], None]) -> Found:
        """What there is once nothing is ending any more, or after LONGEST_ENDING_S: instances take minutes to end."""
        began_s, pause_s = self._clock(), FIRST_PAUSE_S
        while True:
            found = self.find()
            ending = [leftover for leftover in found.left if found.is_ending(leftover)]
            if not ending or self._clock() - began_s > LONGEST_ENDING_S:
                return found
            named = ", ".join(f"{leftover.kind} {leftover.id}" for leftover in ending)
            on_line(f"waiting for what is ending, {self._clock() - began_s:.0f} s: {named}")
            pause_s = self._pause(pause_s)

    def remove_all(self, only: Sequence[Leftover], on_line: Callable[[str], None]) -> Found:
        """Deletes `only` these, in dependency order, and looks again until they are gone; returns what there is then.

        Raises NotRemoved when nothing changes any more, or nothing can.
        """
        wanted = {(leftover.kind, leftover.id) for leftover in only}
        began_s = moved_s = self._clock()
        pause_s = FIRST_PAUSE_S
        before: frozenset[Leftover] = frozenset()
        while True:
            found = self.find()
            left = [each for each in (*found.left, *found.empty) if (each.kind, each.id) in wanted]
            if not left:
                return found
            moved_s = moved_s if frozenset(left) == before else self._clock()
            before = frozenset(left)
            attempts = self._attempt(found, left, on_line)
            patience_s = LONGEST_S if any(found.is_ending(leftover) for leftover in left) else PATIENCE_S
            hopeless = not any(may_pass for _, may_pass in attempts)
            if hopeless or self._clock() - moved_s > patience_s or self._clock() - began_s > LONGEST_S:
                raise NotRemoved(found, [reason for reason, _ in attempts])
            pause_s = self._pause(pause_s)

    def _pause(self, pause_s: float) -> float:
        """Waits; returns how long to wait next time."""
        self._sleep(pause_s)
        return min(2 * pause_s, LONGEST_PAUSE_S)

    def _attempt(
        self, found: Found, left: Sequence[Leftover], on_line: Callable[[str], None]
    ) -> list[tuple[str, bool]]:
        """One attempt at each, in dependency order: what is to be said if it was the last, and whether another one may succeed."""
        attempts = []
        compute = [leftover for leftover in left if leftover.kind in COMPUTE]
        for leftover in sorted(left, key=_place):
            what = f"{leftover.kind} {leftover.id}"
            on_line(what)
            if found.is_ending(leftover):
                reason, may_pass = f"still {leftover.state or 'there'}", True
            elif compute and leftover.kind not in COMPUTE:
                reason, may_pass = f"waits for {compute[0].kind} {compute[0].id}", False
            else:
                reason, may_pass = self._remove(leftover)
            attempts.append((f"{what}: {reason}", may_pass))
        return attempts

    def _remove(self, leftover: Leftover) -> tuple[str, bool]:
        if leftover.kind not in REMOVERS:
            return "samebox doesn't make this kind of thing and won't delete it: look at it in the console", False
        region = next((each for each in self._regions if each.name == leftover.region), self._regions[0])
        try:
            REMOVERS[leftover.kind](region, leftover.id)
        except ClientError as error:
            return str(error), error.response["Error"]["Code"] not in FINAL
        except BotoCoreError as error:
            return str(error), True
        return "AWS accepted the deletion, and still has it", True


def _place(leftover: Leftover) -> int:
    return ORDER.index(leftover.kind) if leftover.kind in ORDER else len(ORDER)
