"""How a fault says that it didn't do what it was to do."""

from __future__ import annotations


class NoEffect(Exception):
    """It didn't take effect, or isn't undone; the text says what was seen instead."""
