"""What of a report may differ by nature, and nothing else: the last digits of numbers that another kind of CPU computes.

Sums and products are ordered otherwise by its vector units, which shows in the 14th digit of a p-value. Here numbers with a decimal
point or an exponent are the same if they agree to 12 digits; whole numbers and everything between the numbers must be the same text. In
a page the names of its pictures' clip paths are made of such numbers, so that only what they refer to counts.
"""

from __future__ import annotations

import math
import re
from typing import Any

AGREE_TO = 1e-12  # of the number
_NUMBER = re.compile(r"(-?\d+\.\d+(?:[eE][-+]?\d+)?|-?\d+[eE][-+]\d+)")
_CLIP_PATH = re.compile(r"(?<=#)p[0-9a-f]{10}(?=\))|(?<=id=\")p[0-9a-f]{10}(?=\")")


def same_text(one: str, other: str) -> bool:
    """Whether two texts (JSON, CSV, HTML) are the same but for last digits."""
    mine, theirs = (_NUMBER.split(_by_appearance(text)) for text in (one, other))
    return len(mine) == len(theirs) and all(
        left == right or (at % 2 == 1 and same_number(float(left), float(right)))
        for at, (left, right) in enumerate(zip(mine, theirs, strict=True))
    )


def same_number(one: Any, other: Any) -> bool:
    """Whether two values are numbers that differ in their last digits at most."""
    return (
        isinstance(one, float) and isinstance(other, float) and math.isclose(one, other, rel_tol=AGREE_TO, abs_tol=0.0)
    )


def _by_appearance(text: str) -> str:
    """The text with each clip path called by when it appears first."""
    names: dict[str, str] = {}
    return _CLIP_PATH.sub(lambda found: names.setdefault(found.group(), f"clip {len(names)}"), text)
