"""A figure of one contestant in several blocks: the median of the blocks' values and its exact interval, as far as each is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from analysis.bounded import Bounded, median_of
from analysis.certainty.interval import Interval, exact_interval, interval_document


@dataclass(frozen=True)
class OverBlocks:
    """Block -> value. The interval is for independent blocks; None with fewer than 6."""

    blocks: Mapping[int, Bounded]

    @property
    def median(self) -> Bounded:
        return median_of(self.blocks.values())

    @property
    def interval(self) -> Interval | None:
        found = self.blocks.values()
        return exact_interval([each.low for each in found], [each.high for each in found])

    def to_json(self) -> dict[str, Any]:
        """As report.json has it."""
        return {
            "median": self.median.to_json(),
            "interval": interval_document(self.interval),
            "blocks": [{"block": block, **known.to_json()} for block, known in sorted(self.blocks.items())],
        }


def over_blocks(known: Iterable[tuple[int, Bounded | None]]) -> OverBlocks | None:
    """Those that are known; None if none is."""
    found = {block: value for block, value in known if value is not None}
    return OverBlocks(found) if found else None
