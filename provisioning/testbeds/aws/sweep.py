"""The sweep: what samebox left on AWS, and taking it away until nothing is left. It asks nobody and prints nothing.

It needs no state: a run that was killed leaves things that no stack knows, and those are what it is for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from botocore.exceptions import BotoCoreError, ClientError

from provisioning.errors import SameboxError
from provisioning.testbeds.aws.found import Found
from provisioning.testbeds.aws.leftovers import GLOBAL, Leftover, Scope, list_leftovers
from provisioning.testbeds.aws.region import Region
from provisioning.testbeds.aws.removal import COMPUTE, ORDER, NotOurs, remove
from provisioning.testbeds.aws.session import session
from provisioning.testbeds.aws.stack import Stack

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 15.0
# what hung on a host is free some time after it has ended; a terminating EMR cluster takes minutes
PATIENCE_S = 300.0
LONGEST_S = 1800.0
# how long a sweep waits that takes nothing away: instances end within two minutes or so, an EMR cluster before its machines
LONGEST_ENDING_S = 900.0
# refusals that waiting doesn't change
FINAL = (
    "AccessDenied",
    "AccessDeniedException",
    "UnauthorizedOperation",
    "OperationNotPermitted",
    "ValidationException",
)

Clock = Callable[[], float]
Sleep = Callable[[float], None]


def sweep_of(stack: Stack) -> Sweep:
    """The sweep of a stack's region for what it made of its campaign. Raises InvalidInput if its config lacks one of them."""
    region, campaign = stack.required("region", "campaign")
    return Sweep([region], campaign, stack.tag)


@dataclass(frozen=True)
class _Attempt:
    """How an attempt to take one thing away went; `may_pass`: another one may go better."""

    sentence: str
    may_pass: bool


class NotRemoved(SameboxError):
    """Something could not be taken away, and why: a reason for each; `found` is all that is still there."""

    def __init__(self, found: Found, reasons: Sequence[str]) -> None:
        lines = [f"{len(reasons)} things are still there:", *(f"  {reason}" for reason in reasons)]
        super().__init__(
            "\n".join([*lines, *(f"  not listed: {refusal}" for refusal in found.refused)]),
            next_step="Mend what the reasons say (permissions, termination protection, things of yours that use them), "
            "then the same command again.",
        )
        self.found = found


class Sweep:
    """The sweep of some regions, for one campaign (or one stack of it) or for all. Sessions are opened once.

    Raises MissingRequirement.
    """

    def __init__(self, regions: Sequence[str], campaign: str | None = None, stack: str | None = None) -> None:
        self._regions = tuple(Region(session(name), name) for name in regions)
        self._scope = Scope(campaign, stack)
        self.campaign = campaign

    def find(self) -> Found:
        """Everything in scope that AWS has now."""
        leftovers, refused = list_leftovers(self._regions, self._scope)
        return Found(tuple(region.name for region in self._regions), leftovers, refused)

    def await_ending(
        self,
        on_line: Callable[[str], None],
        *,
        clock: Clock = time.monotonic,
        sleep: Sleep = time.sleep,
    ) -> Found:
        """What there is once nothing is on its way out any more, or after LONGEST_ENDING_S: instances take minutes to end."""
        began_s, pause_s = clock(), FIRST_PAUSE_S
        while True:
            found = self.find()
            ending = [leftover for leftover in found.left if found.is_ending(leftover)]
            if not ending or clock() - began_s > LONGEST_ENDING_S:
                return found
            named = ", ".join(f"{leftover.kind} {leftover.id}" for leftover in ending)
            on_line(f"waiting for what is ending, {clock() - began_s:.0f} s: {named}")
            sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    def remove_all(
        self,
        only: Sequence[Leftover],
        on_line: Callable[[str], None],
        *,
        clock: Clock = time.monotonic,
        sleep: Sleep = time.sleep,
    ) -> Found:
        """Takes `only` these away, in dependency order, and looks again until they are gone; returns what there is then.

        Raises NotRemoved when nothing moves any more, or nothing can.
        """
        wanted = {(leftover.kind, leftover.id) for leftover in only}
        began_s = moved_s = clock()
        pause_s = FIRST_PAUSE_S
        before: frozenset[Leftover] = frozenset()
        while True:
            found = self.find()
            left = [each for each in (*found.left, *found.empty) if (each.kind, each.id) in wanted]
            if not left:
                return found
            moved_s = moved_s if frozenset(left) == before else clock()
            before = frozenset(left)
            attempts = self._attempt(found, left, on_line)
            patience_s = LONGEST_S if any(found.is_ending(leftover) for leftover in left) else PATIENCE_S
            hopeless = not any(attempt.may_pass for attempt in attempts)
            if hopeless or clock() - moved_s > patience_s or clock() - began_s > LONGEST_S:
                raise NotRemoved(found, [attempt.sentence for attempt in attempts])
            sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    def _attempt(self, found: Found, left: Sequence[Leftover], on_line: Callable[[str], None]) -> list[_Attempt]:
        """One attempt at each, in dependency order; what is to be said if it was the last."""
        attempts = []
        compute = [leftover for leftover in left if leftover.kind in COMPUTE]
        for leftover in sorted(left, key=_place):
            what = f"{leftover.kind} {leftover.id}"
            on_line(what)
            if found.is_ending(leftover):
                attempts.append(_Attempt(f"{what}: still {leftover.state or 'there'}", True))
            elif compute and leftover.kind not in COMPUTE:
                attempts.append(_Attempt(f"{what}: waits for {compute[0].kind} {compute[0].id}", False))
            else:
                attempts.append(self._remove(leftover, what))
        return attempts

    def _remove(self, leftover: Leftover, what: str) -> _Attempt:
        try:
            remove(self._region_of(leftover), leftover)
        except ClientError as error:
            return _Attempt(f"{what}: {error}", error.response["Error"]["Code"] not in FINAL)
        except BotoCoreError as error:
            return _Attempt(f"{what}: {error}", True)
        except NotOurs as error:
            return _Attempt(f"{what}: {error}", False)
        return _Attempt(f"{what}: AWS agreed, and still has it", True)

    def _region_of(self, leftover: Leftover) -> Region:
        if leftover.region == GLOBAL:
            return self._regions[0]
        return next(region for region in self._regions if region.name == leftover.region)


def _place(leftover: Leftover) -> int:
    return ORDER.index(leftover.kind) if leftover.kind in ORDER else len(ORDER)
