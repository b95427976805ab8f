"""Where AWS has no room: waiting with a bound, the next zone, and an end that says what was tried. Over a scripted pulumi."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from provisioning.testbeds.aws.capacity import PAUSE_S, CapacityWait, Placement
from provisioning.testbeds.aws.failures import StackFailed
from provisioning.testbeds.aws.pulumi_command import Answer, ScriptedPulumi
from provisioning.testbeds.aws.stack import ChangeInterrupted, Stack
from tests.aws import engine
from tests.aws.test_stack import CAPACITY, UP

DESTROY = "destroy --non-interactive --stack sn --yes --skip-preview --json"
RESERVATION = "aws:ec2/capacityReservation:CapacityReservation"
DONE = (UP, engine.lines(engine.done("create", "broker-2", host="broker-2")))
NOT_OFFERED = "api error Unsupported: Your requested instance type (i3en.large) is not supported in your requested Availability Zone"


def refused(*events: dict[str, object], by: str = CAPACITY) -> tuple[str, Answer]:
    """An `up` that did this much and then met a refusal."""
    return UP, Answer(engine.lines(*events, engine.error("broker-2", by)), exit_status=1)


def zone(name: str) -> tuple[str, str]:
    """The config is made to say where the stack stands."""
    return f"config set --non-interactive --stack sn --path --plaintext -- availabilityZone {name}", ""


@dataclass
class Lab:
    """A stack over a scripted pulumi, with a clock that only waiting moves."""

    script: Sequence[tuple[str, str | Answer]]
    capacity_wait: CapacityWait
    said: list[str] = field(default_factory=list)
    now_s: float = 0.0

    def __post_init__(self) -> None:
        self.pulumi = ScriptedPulumi(list(self.script))
        stack = Stack("sn", Path(), command=self.pulumi)
        self.placement = Placement(
            stack, self.capacity_wait, on_line=self.said.append, sleep=self.sleep, now_s=lambda: self.now_s
        )

    def sleep(self, seconds: float) -> None:
        """Time passes."""
        self.now_s += seconds

    @property
    def waited(self) -> list[str]:
        """What was said of waiting."""
        return [line for line in self.said if "trying again" in line]


def test_without_waiting_the_first_refusal_is_the_end() -> None:
    """As `pulumi up` by hand; the message says what would help."""
    lab = Lab([refused()], CapacityWait())
    with pytest.raises(StackFailed) as raised:
        lab.placement.stand_up(refresh=False)
    assert (raised.value.kind, lab.now_s) == ("capacity", 0.0)
    assert "--wait-for-capacity" in raised.value.next_step and "`any`" in raised.value.next_step


def test_it_tries_again_until_there_is_room_and_says_what_is_paid() -> None:
    """Each attempt goes on where the last one stopped; what was launched stays, and is named every time."""
    launched = engine.done("create", "broker-1", host="broker-1")
    reserved = engine.done("create", "samebox-i3en.large", RESERVATION)
    lab = Lab([refused(), refused(reserved, launched), refused(), DONE], CapacityWait(wait_s=1800.0))
    lab.placement.stand_up(refresh=False)
    lab.pulumi.require_done()
    assert lab.now_s == 3 * PAUSE_S
    first, second, third = lab.waited
    assert first.endswith("for another 30 min; nothing is paid yet")
    assert second.endswith("for another 29 min; paid already: samebox-i3en.large, broker-1")
    assert third.endswith("for another 28 min; paid already: samebox-i3en.large, broker-1")


def test_the_bound_holds() -> None:
    """No pause begins that would end behind it."""
    lab = Lab([refused()] * 3, CapacityWait(wait_s=2.5 * PAUSE_S))
    with pytest.raises(StackFailed):
        lab.placement.stand_up(refresh=False)
    lab.pulumi.require_done()
    assert lab.now_s == 2 * PAUSE_S


@pytest.mark.parametrize("by", ["api error VcpuLimitExceeded: your current vCPU limit of 32", "AccessDenied"])
def test_nothing_else_is_waited_for(by: str) -> None:
    """A quota, a permission: neither time nor another zone mends it."""
    lab = Lab([zone("us-west-2a"), refused(by=by)], CapacityWait(1800.0, ("us-west-2a", "us-west-2b")))
    with pytest.raises(StackFailed):
        lab.placement.stand_up(refresh=False)
    lab.pulumi.require_done()
    assert (lab.now_s, lab.waited) == (0.0, [])


def test_ctrl_c_ends_the_waiting() -> None:
    """As everywhere: what pulumi had begun is finished, and the caller takes it away."""
    lab = Lab([refused(), (UP, Answer(engine.lines(), exit_status=1, interrupted=True))], CapacityWait(wait_s=1800.0))
    with pytest.raises(ChangeInterrupted):
        lab.placement.stand_up(refresh=False)


def test_after_the_bound_comes_the_next_zone() -> None:
    """What was made in the full one goes first; a zone without the type isn't waited for; down, the config says `any` again."""
    lab = Lab(
        [
            zone("us-west-2a"),
            refused(engine.done("create", "broker-1", host="broker-1")),
            refused(),
            (DESTROY, engine.lines()),
            zone("us-west-2b"),
            refused(by=NOT_OFFERED),
            (DESTROY, engine.lines()),
            zone("us-west-2c"),
            refused(),
            DONE,
            zone("any"),
        ],
        CapacityWait(PAUSE_S, ("us-west-2a", "us-west-2b", "us-west-2c")),
    )
    lab.placement.stand_up(refresh=False)
    lab.placement.forget_zone()
    lab.pulumi.require_done()
    assert lab.now_s == 2 * PAUSE_S
    assert [line for line in lab.said if "next zone" in line] == [
        f"us-west-2{each} has no room: deleting what was created there, then trying the next zone" for each in "ab"
    ]
    assert [line.rpartition("; ")[2] for line in lab.waited] == ["paid already: broker-1", "nothing is paid yet"]


def test_where_no_zone_has_room_all_that_was_tried_is_said() -> None:
    """The last zone's things are left to the caller, who takes everything away."""
    lab = Lab(
        [zone("us-west-2a"), refused(), refused(), (DESTROY, engine.lines()), zone("us-west-2b"), refused(), refused()],
        CapacityWait(PAUSE_S, ("us-west-2a", "us-west-2b")),
    )
    with pytest.raises(StackFailed, match="tried us-west-2a, us-west-2b, for 1 min each") as raised:
        lab.placement.stand_up(refresh=False)
    lab.pulumi.require_done()
    assert raised.value.kind == "capacity"
