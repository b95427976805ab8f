"""Stands a stack up where AWS has room for it: waits with a bound, then takes the next zone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tenacity import RetryCallState, Retrying, retry_if_exception, wait_fixed

from provisioning.testbeds.aws.failures import StackFailed
from provisioning.testbeds.aws.shape import ANY_ZONE
from provisioning.testbeds.aws.stack import ChangeFailed, Follow, Stack

PAUSE_S = 60.0
ZONE_KEY = "availabilityZone"
# another zone may have what this one refuses; waiting brings only capacity
ELSEWHERE = ("capacity", "not offered")
PAID = ("aws:ec2/instance:Instance", "aws:ec2/capacityReservation:CapacityReservation")


@dataclass(frozen=True)
class CapacityWait:
    """`wait_s`: how long a zone's refusals for want of capacity are waited out. `zones`: those that may be tried, in this order.

    Without zones the stack stays where its config says.
    """

    wait_s: float = 0.0
    zones: tuple[str, ...] = ()

    @property
    def longest_s(self) -> float:
        """The time that may pass with waiting, whatever the zones answer."""
        return self.wait_s * max(1, len(self.zones))


NO_WAIT = CapacityWait()


class Placement:
    """One stack's place on AWS. `on_line` is told what pulumi does, what is waited for, and what is paid meanwhile."""

    def __init__(
        self,
        stack: Stack,
        capacity_wait: CapacityWait,
        *,
        on_line: Follow,
        sleep: Callable[[float], None],
        now_s: Callable[[], float],
    ) -> None:
        self._stack, self._capacity_wait = stack, capacity_wait
        self._on_line, self._sleep, self._now_s = on_line, sleep, now_s
        self._paid: dict[str, None] = {}

    def stand_up(self, *, refresh: bool) -> None:
        """`pulumi up`, in the first zone that has room. Raises StackFailed where none has, and whatever else goes wrong."""
        if not self._capacity_wait.zones:
            self._take_here(refresh=refresh)
            return
        for zone in self._capacity_wait.zones:
            self._stack.set_config(ZONE_KEY, zone)
            try:
                self._take_here(refresh=refresh)
                return
            except StackFailed as refused:
                last = zone == self._capacity_wait.zones[-1]
                if refused.kind not in ELSEWHERE or last:
                    raise self._said_whole(refused) from None
            self._on_line(f"{zone} has no room: deleting what was created there, then trying the next zone")
            self._stack.destroy(self._on_line)
            self._paid.clear()

    def forget_zone(self) -> None:
        """The config says again that each zone will do; to be called once the stack is down."""
        if self._capacity_wait.zones:
            self._stack.set_config(ZONE_KEY, ANY_ZONE)

    def _take_here(self, *, refresh: bool) -> None:
        until_s = self._now_s() + self._capacity_wait.wait_s
        repeated = Retrying(
            retry=retry_if_exception(lambda error: isinstance(error, StackFailed) and error.kind == "capacity"),
            stop=lambda _: self._now_s() + PAUSE_S > until_s,
            wait=wait_fixed(PAUSE_S),
            before_sleep=lambda attempt: self._tell(attempt, until_s - self._now_s()),
            sleep=self._sleep,
            reraise=True,
        )
        repeated(self._stack.up, self._on_line, refresh=refresh)

    def _tell(self, attempt: RetryCallState, left_s: float) -> None:
        refused = attempt.outcome.exception() if attempt.outcome else None
        if isinstance(refused, ChangeFailed):
            self._paid |= {each.name: None for each in refused.finished if each.type in PAID}
        paid = f"; paid already: {', '.join(self._paid)}" if self._paid else "; nothing is paid yet"
        self._on_line(
            f"AWS has no room just now: trying again every {PAUSE_S:.0f} s, for another {left_s / 60:.0f} min{paid}"
        )

    def _said_whole(self, refused: StackFailed) -> StackFailed:
        """The last zone's refusal, and what was tried before it."""
        tried = f"No zone had room: tried {', '.join(self._capacity_wait.zones)}"
        waited = f", for {self._capacity_wait.wait_s / 60:g} min each" if self._capacity_wait.wait_s else ""
        return StackFailed(refused.kind, f"{refused}\n{tried}{waited}.", next_step=refused.next_step)
