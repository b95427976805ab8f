"""What a rule says about a trial, before the manifest's declaration makes it a verdict. It holds no rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# beside its bounds a rule finds here what the declaration says of single hosts: name -> {"judged", "why"}
HOSTS = "hosts"


class Missing(Exception):
    """An observation that a rule needs was not made; the message says which."""


@dataclass(frozen=True)
class Finding:
    """Whether a rule is satisfied, one sentence with the figures, and the evidence as data."""

    passed: bool
    sentence: str
    evidence: Mapping[str, Any] = field(default_factory=dict)
