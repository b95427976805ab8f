"""Reading a document that may be anybody's: texts that can't disguise what stands around them, numbers that are some."""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from analysis.bounded import Bounded
from analysis.errors import AnalysisError

MOST_CHARACTERS = 600
_DIGITS = 5  # of a figure on a site; its report has all of them
_REPLACED = "\ufffd"

T = TypeVar("T")
# a value as a digest has it: a number, or [value or null, low, high or null] where bounds are all or part of what is known
Told = float | int | list[float | int | None]


def text(value: Any, most: int = MOST_CHARACTERS) -> str:
    """At most `most` characters of a text, or of a value's JSON. What has no shape of its own (control characters, marks that turn the
    direction of writing, halves of characters) is replaced."""
    said = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    said = said if len(said) <= most else f"{said[: most - 3]}..."
    return "".join(_REPLACED if unicodedata.category(each)[0] == "C" else each for each in said.replace("\n", " "))


def rounded(value: float) -> float | int:
    """A figure of five digits. Raises ValueError for what isn't finite."""
    if not math.isfinite(value):
        raise ValueError(f"{value} isn't a number")
    short = float(f"{value:.{_DIGITS}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def told(known: Bounded) -> Told:
    """A value as far as it is known."""
    if known.is_exact and known.value is not None:
        return rounded(known.value)
    return [
        None if known.value is None else rounded(known.value),
        rounded(known.low),
        None if math.isinf(known.high) else rounded(known.high),
    ]


def whole(value: Any) -> int:
    """A count. Raises ValueError for anything else, or a negative one."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        raise ValueError(f"{text(value, 40)} isn't a count")
    return value


def flat(value: Any, prefix: str = "") -> dict[str, str]:
    """Nested objects as dotted keys, everything else as text; what isn't there (null, an empty list or object) is left out."""
    if isinstance(value, Mapping) and value:
        found: dict[str, str] = {}
        for key, inner in value.items():
            found |= flat(inner, f"{prefix}.{key}" if prefix else str(key))
        return found
    return {} if value in (None, [], {}) else {text(prefix, 80): text(value, 200)}


def digested(where: str, make: Callable[[], T]) -> T:
    """What `make` makes. Raises AnalysisError, naming `where`, if what it reads isn't as samebox writes it."""
    try:
        return make()
    except KeyError as key:
        raise AnalysisError(f"{where}: {text(str(key), 80)} is missing.") from None
    except (ValueError, TypeError, AttributeError, IndexError, OverflowError, OSError, RecursionError) as error:
        raise AnalysisError(f"{where}: not as samebox writes it: {text(str(error), 200)}.") from None
