"""What a key of an operator's file may be, written beside its field. Pydantic reads it on the operator's machine; workers don't."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Range:
    """A number from `ge` to `le`, both included."""

    ge: float
    le: float | None = None

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        schema = handler(source)
        bounds = {"ge": self.ge} | ({} if self.le is None else {"le": self.le})
        if schema["type"] == "nullable":
            return {**schema, "schema": {**schema["schema"], **bounds}}
        return {**schema, **bounds}


@dataclass(frozen=True)
class Pattern:
    """A text that matches a regular expression."""

    pattern: str

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return {**handler(source), "pattern": self.pattern}


@dataclass(frozen=True)
class Checked:
    """A value that a function accepts: it gets the value and the fields before it, and raises ValueError with a sentence."""

    check: Callable[[Any, Mapping[str, Any]], None]

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        def checked(value: Any, info: Any) -> Any:
            self.check(value, info.data)
            return value

        # as pydantic's own validators that come after all others
        return {
            "type": "function-after",
            "function": {"type": "with-info", "function": checked},
            "schema": handler(source),
        }
