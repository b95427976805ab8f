"""Which faults an acknowledged message must survive, by what was promised: derived from the promise alone, the same for every system.

What systems' makers say themselves is in systems/<system>/survival.py: it may promise more, and never excuses less.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from contract.durability import quorum_of

Extent = Literal["fewer than a quorum", "a quorum or more"]
FEWER, QUORUM = "fewer than a quorum", "a quorum or more"
ONE_AT_A_TIME = frozenset({"restart", "replace"})
DOES = ("kill", "freeze", "cut", "restart", "replace", "slow-disk")


@dataclass(frozen=True)
class Harm:
    """A fault, as far as a promise cares. `hosts`: how many storing hosts it was done to; `copies`: in how many each message is kept;
    `peers`: of a cut, from whom; `undone`: before the load ended.
    """

    do: str
    hosts: int
    copies: int
    peers: str = "brokers"
    undone: bool = True

    @property
    def extent(self) -> Extent:
        """How many of those that hold a message were hit at the same time."""
        at_once = 1 if self.do in ONE_AT_A_TIME else self.hosts
        return "fewer than a quorum" if at_once < quorum_of(self.copies) else "a quorum or more"


@dataclass(frozen=True)
class Survival:
    """`must`: whether what was acknowledged must survive; `why`: a clause without a full stop."""

    must: bool
    why: str


def survival(durability: Mapping[str, Any], harm: Harm) -> Survival:
    """What a trial.json's `durability` promises under a fault."""
    if durability["replication"] == "none":
        return Survival(False, "no broker acknowledged anything")
    if harm.do == "slow-disk" or (harm.do == "cut" and harm.peers == "clients"):
        return Survival(True, "nothing was taken from the brokers that have it")
    if durability["replication"] == "async":
        return Survival(False, "one broker has it, which may be one that the fault was done to")
    if harm.extent == FEWER:
        return Survival(True, f"{quorum_of(harm.copies)} of {harm.copies} brokers have it, and fewer were hit at once")
    if not harm.undone:
        return Survival(False, "a quorum of those that may have it was still gone when the load ended")
    if harm.do != "kill":
        return Survival(True, "those that have it were left whole, and were back")
    if durability["local"] == "sync":
        return Survival(True, "it is on the disks of a quorum, and was started from them again")
    return Survival(False, "a quorum may have had it only in the memory that was lost at once")
