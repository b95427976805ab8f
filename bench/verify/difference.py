"""What verifying a bundle finds: a difference, or what couldn't be looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind = Literal[
    "bytes", "form", "root", "signature", "versions", "order", "rules", "trial", "times", "records", "report"
]


@dataclass(frozen=True)
class Difference:
    """Something that isn't as it must be. `where`: a file of the bundle, or a trial; `what`: one sentence without a full stop.

    bytes: a file isn't the one that was bundled; form: the archive isn't as samebox writes it; root, signature: not the one that was
    asked for; versions: lock files aren't those of what ran; order: the trials aren't those that follow from campaign and seed;
    rules: checks aren't those declared; trial: a trial.json contradicts the manifest; times: steps, phases or trials overlap or are in
    another order; records: rows contradict their counters or one another; report: figures aren't those that the records give.
    """

    kind: Kind
    where: str
    what: str


@dataclass(frozen=True)
class Unchecked:
    """Something that couldn't be looked at, and why: one sentence without a full stop. `matters`: without it nothing is proven."""

    what: str
    matters: bool = True


Found: TypeAlias = Difference | Unchecked
