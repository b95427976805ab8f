"""What a sweep found, as data: what shouldn't be there, what stays and why. It asks nobody."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from provisioning.testbeds.aws.leftovers import Leftover


@dataclass(frozen=True)
class LeftAlone:
    """Something that was found and is none of this sweep's business, with the reason in words. `known`: a stack's state has it."""

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
        """Whether it goes by itself: AWS is taking it away, or what it hangs on."""
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
