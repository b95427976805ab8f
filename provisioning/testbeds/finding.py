"""What one look found: the line that `samebox doctor` prints."""

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
        """All of it as a sentence or two; what to do may take several lines."""
        return f"{self.need}: {self.found.rstrip('.')}." + (f" {self.next_step}" if self.next_step else "")
