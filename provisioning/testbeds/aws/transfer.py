"""How far a transfer of files is, in words. It moves nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping

MEGABYTE = 10**6


def so_far(sizes: Mapping[str, int], done: str, on_detail: Callable[[str], None]) -> Callable[[str], None]:
    """To be told each key of `sizes` (key -> bytes) once it has arrived; tells how much of all is `done` ("sent")."""
    total, arrived = sum(sizes.values()), 0

    def tell(key: str) -> None:
        nonlocal arrived
        arrived += sizes[key]
        on_detail(f"{arrived / MEGABYTE:.1f} of {total / MEGABYTE:.1f} MB {done}")

    return tell
