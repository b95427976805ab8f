"""What one look found: the line that `samebox doctor` prints. Data only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One need: whether it is met (None: that isn't known), what was found, and what to type or do if it isn't met."""

    need: str
    met: bool | None
    found: str
    next_step: str = ""

    @property
    def sentence(self) -> str:
        """All of it in one line."""
        return f"{self.need}: {self.found}" + (f" To do: {self.next_step}" if self.next_step else "")
