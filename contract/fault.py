"""A fault: what a workload does to the brokers while it is measured, as the campaign file says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from contract.constraints import Checked, Pattern, Range

Action = Literal["kill", "freeze", "cut", "slow-disk", "restart", "replace"]
Direction = Literal["both", "to", "from"]
Peers = Literal["brokers", "clients", "all"]
# how long a fault lasts: given, one that may be for good, or as long as what it does takes
_NEEDS_AN_END: tuple[Action, ...] = ("freeze", "cut", "slow-disk")
_ENDS_BY_ITSELF: tuple[Action, ...] = ("restart", "replace")
ANY, ALL, COORDINATOR = "any", "all", "coordinator"


def _fits_the_action(target: str, before: Mapping[str, Any]) -> None:
    action = before.get("do")
    if action == "restart" and target != ALL:
        raise ValueError("a rolling restart is one of all brokers: target = 'all'")
    if action in ("cut", "replace") and target == ALL:
        raise ValueError(f"{action} is done to one broker: name it by leader, follower, coordinator or any")


def _ends(for_s: float | None, before: Mapping[str, Any]) -> None:
    action = before.get("do")
    if for_s is None and action in _NEEDS_AN_END:
        raise ValueError(f"{action} needs it: how long the fault lasts, in seconds")
    if for_s is not None and action in _ENDS_BY_ITSELF:
        raise ValueError(f"{action} takes as long as the system needs: leave it out")


def _of_a_slow_disk(writes_per_s: int | None, before: Mapping[str, Any]) -> None:
    if (writes_per_s is None) == (before.get("do", "") == "slow-disk"):
        raise ValueError("slow-disk needs it, and only that has it: how many writes a second the disk still does")


def _of_a_cut(value: str, before: Mapping[str, Any]) -> None:
    if value not in ("both", "brokers") and before.get("do", "cut") != "cut":
        raise ValueError("only do = 'cut' has it")


@dataclass(frozen=True)
class Fault:
    """What is done, to whom, when: `at_s` into the measurement, for `for_s` (a kill without it: the process isn't started again).

    `target`: a role, resolved shortly before the fault: `leader` or `follower` of a partition (`leader:TOPIC/PARTITION`, both numbered
    from 0, which is also what is meant where they aren't given), the `coordinator` of the cluster, `any` broker host (drawn from the
    seed), or `all` broker hosts. Of `any` and `all` it is the process that stores messages. `peers` and `direction`: from whom the
    target's host is cut off, and which of its packets are dropped: those `to` it, those `from` it, or both.
    `writes_per_s`: what a slow disk still does.
    """

    at_s: Annotated[float, Range(0, 7 * 86_400)]
    do: Action
    target: Annotated[
        str, Pattern(r"^(any|all|coordinator|(leader|follower)(:\d{1,4}/\d{1,5})?)$"), Checked(_fits_the_action)
    ] = ANY
    for_s: Annotated[float | None, Range(0.1, 86_400), Checked(_ends)] = None
    direction: Annotated[Direction, Checked(_of_a_cut)] = "both"
    peers: Annotated[Peers, Checked(_of_a_cut)] = "brokers"
    writes_per_s: Annotated[int | None, Range(1, 1_000_000), Checked(_of_a_slow_disk)] = None

    @property
    def role(self) -> str:
        """The target without the partition: "leader"."""
        return self.target.partition(":")[0]

    @property
    def partition(self) -> tuple[int, int]:
        """Topic and partition of a leader or follower, both numbered from 0."""
        topic, _, partition = self.target.partition(":")[2].partition("/")
        return (int(topic), int(partition)) if partition else (0, 0)

    @property
    def words(self) -> str:
        """As a person says it: "freeze all for 2 s at 20 s"."""
        lasting = f" for {self.for_s:g} s" if self.for_s is not None else ""
        off = f" off from {self.peers}" if self.do == "cut" else ""
        one_way = f", only packets {self.direction} it" if self.direction != "both" else ""
        return f"{self.do} {self.target}{off}{lasting} at {self.at_s:g} s{one_way}"
