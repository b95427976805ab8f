"""What became of a fault: an entry of trial.json's `observations.faults` (docs/records.md)."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Hit:
    """What a fault was done to. `daemon` and `pid` None = to the host; `began_ns` and `ended_ns` by the host's clock."""

    host: str
    daemon: str | None = None
    pid: int | None = None
    began_ns: int | None = None
    ended_ns: int | None = None


@dataclass
class Note:
    """One fault, as far as it has come. Times are ns since the epoch, None = that didn't happen.

    `seen`: what showed on each host that it had an effect. `problem`: why it never took effect, or wasn't undone.
    """

    number: int
    planned_ns: int
    resolved_ns: int | None = None
    hits: list[Hit] = field(default_factory=list)
    back_ns: int | None = None
    seen: dict[str, str] = field(default_factory=dict)
    problem: str | None = None

    def fails(self, problem: str) -> None:
        """Notes a problem; the first one stands."""
        self.problem = self.problem or problem

    def to_json(self) -> dict[str, Any]:
        """As trial.json carries it: beside the hits, when the first of them began and the last ended."""
        began = [hit.began_ns for hit in self.hits if hit.began_ns is not None]
        ended = [hit.ended_ns for hit in self.hits if hit.ended_ns is not None]
        over = bool(ended) and len(ended) == len(self.hits)
        return {**asdict(self), "began_ns": min(began, default=None), "ended_ns": max(ended) if over else None}
