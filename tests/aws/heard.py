"""Progress that is kept instead of shown."""

from __future__ import annotations


class Heard:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.notices: list[str] = []
        self.details: list[str] = []

    def notice(self, text: str) -> None:
        self.notices.append(text)

    def detail(self, text: str) -> None:
        self.details.append(text)
