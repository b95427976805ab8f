"""A client module that prints without end and then finds no broker, as the real ones have been seen to."""

from __future__ import annotations

import os
from typing import Any

from systems.client import ClientError


def connect_producer(spec: Any, acknowledgements: Any) -> None:
    """Prints 3 MB to standard output, past Python's own streams."""
    del spec, acknowledgements
    for _ in range(100_000):
        os.write(1, b"connection already disconnected\n")
    raise ClientError("NO_CONNECTION")
